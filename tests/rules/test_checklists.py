"""Checklists: what passes, what fails, and what cannot be told."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from steadyrl.cli.main import main
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Finding
from steadyrl.core.run_config import RunConfig
from steadyrl.run import train
from steadyrl.stability.checklists import go_through
from tests.rules.traces import TOTAL_ENV_STEPS, columns, trace


def _config(**changes: Any) -> RunConfig:
    values = {"environment": {"id": "X-v0"}, "total_env_steps": TOTAL_ENV_STEPS, **changes}
    return parse_config({"algorithm": "ppo", **values})


def _asked(config: RunConfig, steps: Any, *findings: Finding) -> dict[tuple[str, str], bool | None]:
    lines = go_through(config, columns(steps), findings)
    return {(line.phase, line.statement): line.passed for line in lines}


def test_a_healthy_run_passes_everything_that_was_measured() -> None:
    found = _asked(_config(), trace())
    assert False not in found.values()
    assert {phase for phase, _ in found} == {"before", "early", "middle", "late"}
    assert found["late", "What was gained is kept"] is True


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"policy__kl": 0.5}, ("early", "KL per update stays below 0.1")),
        ({"policy__first_ratio_error": 0.1},
         ("early", "Before the first gradient step every ratio is one")),
        ({"policy__entropy_share": 0.01}, ("early", "The policy has not committed yet")),
        ({"policy__clip_fraction": 0.7}, ("middle", "Fewer than 45 % are clipped")),
        ({"trpo__line_search_success": 0.0}, ("middle", "Line searches succeed")),
        (
            {"trpo__line_search_success": lambda i: float(i % 5 < 3)},
            ("middle", "Line searches succeed"),
        ),
        ({"value__explained_variance": -0.5}, ("middle", "The values explain the returns")),
        ({"eval__return_mean": lambda i: -100.0 - i}, ("middle", "The return has risen")),
        ({"eval__return_mean": lambda i: 2.0 * i if i < 45 else 3.0},
         ("late", "What was gained is kept")),
    ],
)  # fmt: skip
def test_an_item_fails_on_what_it_is_about(changes: Any, line: tuple[str, str]) -> None:
    assert _asked(_config(), trace(**changes))[line] is False


def test_a_severe_finding_fails_its_phase_only() -> None:
    finding = Finding(
        rule="D009",
        name="x",
        severity="severe",
        step=50,
        taken=TOTAL_ENV_STEPS - 100,
        message="m",
        evidence={},
    )
    found = _asked(_config(), trace(), finding)
    assert found["late", "Nothing severe"] is False
    assert found["early", "Nothing severe"] is True


def test_what_was_not_reached_or_not_measured_is_neither() -> None:
    found = _asked(_config(), trace()[:5])
    assert found["late", "Nothing severe"] is None
    assert found["middle", "The return has risen"] is None


def test_failed_searches_without_a_kl_are_not_counted() -> None:
    steps = trace(policy__kl=lambda i: math.nan if i % 2 else 0.01)
    assert _asked(_config(), steps)["early", "KL per update stays below 0.1"] is True


def test_settings_are_asked_before_anything_runs() -> None:
    lines = go_through(_config(gradient_clip=None, learning_rate=0.5), None, [])
    found = {line.statement: line for line in lines}
    assert found["Gradients are clipped"].passed is False
    assert found["No static check objects"].passed is False
    assert "S005" in found["No static check objects"].seen


def test_the_command_prints_the_phases_and_fails_if_asked_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = parse_config(
        {
            "algorithm": "ppo",
            "total_env_steps": 1024,
            "rollout_length": 128,
            "gradient_clip": None,
            "environment": {"id": "CartPole-v1", "count": 2},
            "evaluation": {"every": 256, "episodes": 2},
        }
    )
    train(config, tmp_path / "run")
    assert main(["checklist", str(tmp_path / "run")]) == 0
    text = capsys.readouterr().out
    assert "Gradients are clipped" in text
    assert "gradient_clip is None" in text
    assert main(["checklist", str(tmp_path / "run"), "--strict", "--json"]) == 1
    lines = json.loads(capsys.readouterr().out)
    assert {"phase", "statement", "passed", "seen"} == lines[0].keys()
