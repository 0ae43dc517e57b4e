"""The Python API's page; mkdocstrings fills it from the docstrings."""

from __future__ import annotations

PARTS = (
    ("Training, and what came of it", ("train", "resume", "Run", "rescue", "load_config")),
    ("Judging", ("diagnose",)),
    ("Watching a loop of your own", ("Watch",)),
    ("What was trained", ("load_policy",)),
    ("Environments", ("CheckedEnv",)),
    ("Errors", ("SteadyError",)),
)
BESIDE = (
    ("Judgements", ("steadyrl.verdict.Verdict",)),
    ("A trained policy", ("steadyrl.trained.TrainedPolicy",)),
    ("Stable-Baselines3", ("steadyrl.integrations.sb3.SteadyCallback",)),
    ("TRL", ("steadyrl.integrations.trl.SteadyCallback",)),
    ("Records", ("steadyrl.core.records",)),
)


def reference_pages() -> dict[str, str]:
    """The API in one page."""
    parts = ["# Python API\n\nThe commands as functions, with objects of your own.\n"]
    for title, names in PARTS:
        parts.append(f"## {title}\n")
        parts += [f"::: steadyrl.{name}\n" for name in names]
    for title, names in BESIDE:
        parts.append(f"## {title}\n")
        parts += [f"::: {name}\n" for name in names]
    return {"api.md": "\n".join(parts)}
