"""Which settings of a language run a static check still allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import steadyrl
from steadyrl.core.presets import load_config, parse_config
from steadyrl.core.records import Finding, Step
from steadyrl.stability.check import check_config
from steadyrl.stability.checks import CHECKS
from steadyrl.stability.diagnose import explain_findings
from steadyrl.stability.rules import Case
from steadyrl.stability.usual import usual_rates
from steadyrl.stability.window import Window
from tests.rules.replay import CHECKED

BY_ID = {check.id: check for check in CHECKS}
PRESETS = sorted((Path(steadyrl.__file__).parent / "presets" / "language").glob("*.yaml"))

ROWS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("S005", {"learning_rate": 1e-5}, {"learning_rate": 9e-6}),
    ("S005", {"learning_rate": 5e-4}, {"learning_rate": 5.1e-4}),
    ("S005", {"learning_rate": 1e-4, "model": {"path": "x"}},
     {"learning_rate": 1.1e-4, "model": {"path": "x"}}),
    ("S005", {"learning_rate": 5e-4, "model": {"path": "x", "lora_rank": 4}},
     {"learning_rate": 9e-7, "model": {"path": "x", "lora_rank": 4}}),
    ("S013", {"clip_low": 0.05, "clip_high": 0.5}, {"clip_low": 0.049}),
    ("S013", {"clip_high": 0.28}, {"clip_high": 0.51}),
    ("S014", {"entropy_weight": 0.05}, {"entropy_weight": 0.051}),
    ("S015", {"epochs": 8}, {"epochs": 9}),
    ("S020", {"prompts_per_update": 32}, {"prompts_per_update": 31}),
    ("S021", {"temperature": 1.0}, {"temperature": 0.99}),
    ("S021", {"top_p": 1.0}, {"top_p": 0.99}),
    ("S022", {"kl": "loss", "kl_weight": 1.0}, {"kl": "loss", "kl_weight": 1.1}),
    ("S023", {"gradient_clip": 10.0}, {"gradient_clip": 10.1}),
    ("S023", {"gradient_clip": 1.0}, {"gradient_clip": None}),
    ("S024", {"problems": {"digits": 3, "max_new_tokens": 5}},
     {"problems": {"digits": 3, "max_new_tokens": 4}}),
    ("S024", {"problems": {"name": "sorting", "digits": 3, "max_new_tokens": 4}},
     {"problems": {"name": "sorting", "digits": 3, "max_new_tokens": 3}}),
    ("S024", {"problems": {"max_new_tokens": 1}, "model": {"path": "x"}},
     {"problems": {"max_new_tokens": 1}}),
]  # fmt: skip


@pytest.mark.parametrize(("check", "good", "bad"), [*ROWS, *CHECKED])
def test_a_check_objects_beyond_its_bounds_only(
    check: str, good: dict[str, Any], bad: dict[str, Any]
) -> None:
    assert BY_ID[check].objection(parse_config({"algorithm": "language", **good})) is None
    assert BY_ID[check].objection(parse_config({"algorithm": "language", **bad})) is not None


@pytest.mark.parametrize(
    ("check", "settings", "severity"),
    [
        ("S020", {"prompts_per_update": 8}, "warning"),
        ("S020", {"prompts_per_update": 9}, "note"),
        ("S024", {"problems": {"digits": 3, "max_new_tokens": 3}}, "severe"),
        ("S024", {"problems": {"digits": 3, "max_new_tokens": 4}}, "warning"),
    ],
)
def test_a_concern_is_as_severe_as_what_was_seen(
    check: str, settings: dict[str, Any], severity: str
) -> None:
    found = BY_ID[check].objection(parse_config({"algorithm": "language", **settings}))
    assert found is not None
    assert found.severity == severity


@pytest.mark.parametrize(
    "preset", [p for p in PRESETS if p.stem != "unstable"], ids=lambda path: path.stem
)
def test_our_own_recipes_are_not_objected_to(preset: Path) -> None:
    config = load_config(f"language/{preset.stem}")
    concerns = {concern.rule: concern.severity for concern in check_config(config)}
    if preset.stem.startswith("replay-"):
        # As small as the document's own; it is what makes old samples worth having.
        assert concerns.pop("S020") == "warning"
    assert [rule for rule, severity in concerns.items() if severity != "note"] == []


def test_what_is_usual_depends_on_what_is_trained() -> None:
    tiny = parse_config({"algorithm": "language"})
    assert usual_rates(tiny)[1] > usual_rates(tiny.replaced({"model.path": "x"}))[1]
    assert usual_rates(parse_config({"algorithm": "foreign", "family": "grpo"})) == usual_rates(
        tiny.replaced({"model.path": "x"})
    )


@pytest.mark.parametrize(
    ("said", "tiny"),
    [
        ('{"hidden_size": 256, "num_hidden_layers": 8}', True),
        ('{"hidden_size": 257, "num_hidden_layers": 8}', False),
        ('{"hidden_size": "wide"}', False),
        ("[]", False),
        ("no JSON", False),
    ],
)
def test_a_tiny_model_from_a_folder_is_held_to_what_is_usual_for_tiny_ones(
    said: str, tiny: bool, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(said)
    made = parse_config({"algorithm": "language"})
    assert (usual_rates(made.replaced({"model.path": str(tmp_path)})) == usual_rates(made)) is tiny


@pytest.mark.parametrize(("signal", "named"), [("language.length_mean", True), ("q.mean", False)])
def test_of_an_unknown_run_a_language_models_cause_needs_a_language_models_signal(
    signal: str, named: bool
) -> None:
    window = Window()
    window.append(Step(1, 1, 0.0, {signal: 1.0}))
    found = Finding(
        rule="D009", name="x", severity="severe", step=1, taken=1, message="m", evidence={}
    )
    config = parse_config({"algorithm": "foreign"})
    causes = explain_findings(Case(findings=[found], window=window, config=config))
    assert ("C272" in {cause.cause for cause in causes}) is named
