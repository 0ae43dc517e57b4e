"""A study's page: the claim, the rule declared beforehand, the verdict and its table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steadyrl.core.errors import StoreError
from steadyrl.store.files import holds_keys
from steadyrl.viewer.frame import write_page
from steadyrl.views.pages import Page, chart, charts, items, table, text

TONES = {"confirmed": "good", "refuted": "bad", "depends on": "doubtful"}
DECLARED = {
    "question": "The question",
    "setup": "What is run",
    "rule": "The rule, declared beforehand",
}
NAME = "study.json"


def write_study(folder: Path) -> Path:
    """The page of a study that was run."""
    return write_page(folder / "report.html", study_page(folder))


def study_page(folder: Path) -> Page:
    """From what was declared beforehand (claim, question, setup, rule) and what was found."""
    file = folder / NAME if folder.is_dir() else folder
    try:
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return _page(found.get("declared", {}), found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{file}: not the result of a study ({type(error).__name__}: {error}). "
            "`steadyrl study` writes it."
        ) from None


def _page(about: Mapping[str, str], found: Mapping[str, Any]) -> Page:
    measured = (
        f"Measured {found['date']} with {found['seeds']} seeds, {found['machine']}, "
        f"commit {found['commit']}."
    )
    curves = found.get("curves", ())
    about = {name: said.replace("`", "") for name, said in about.items()}  # of Markdown
    return Page(
        kind="study",
        title=f"Study {found['study']}",
        tone=TONES.get(found["verdict"], "unknown"),
        headline=found["verdict"],
        told=[*([f"Claim: {about['claim']}"] if "claim" in about else []), found["because"]],
        blocks=[
            *([charts("Curves", [chart(**c) for c in curves])] if curves else []),
            table("What was found", found["head"], found["rows"]),
            *([items("Notes", found["notes"])] if found["notes"] else []),
            *(text(about[part], title=title) for part, title in DECLARED.items() if part in about),
            text(measured, title="Measured"),
        ],
    )


def is_study(file: Path) -> bool:
    """Whether a file holds such a result."""
    return holds_keys(file, "study", "verdict", "because", "head")
