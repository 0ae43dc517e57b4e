"""Named sets of limits: the documents' numbers beside the run's own past."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import steadyrl
from steadyrl.cli.main import main
from steadyrl.core.presets import load_config
from steadyrl.core.records import Finding, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.judging import judge
from steadyrl.live_judge import LiveJudge
from steadyrl.stability.detectors import DEFAULT, OPTIONAL
from steadyrl.stability.explain import explain, find_rule
from steadyrl.stability.limits import SETS, detectors_of
from steadyrl.stability.monitor import Monitor
from steadyrl.store.reader import RunReader
from steadyrl.store.writer import RunWriter

GOOD = {
    "policy.entropy": 0.5,
    "language.reference_kl": [0.0] + [0.5] * 11,
    "language.reward_error": 0.02,
    "rollout.return_mean": [0.1 + 0.02 * n for n in range(12)],
}


def _config(limits: str) -> RunConfig:
    return load_config("language/tiny", {"limits": limits})


def _steps(**signals: Any) -> list[Step]:
    """A dozen updates; a list gives each its own value."""
    changed = {name.replace("__", "."): value for name, value in signals.items()}
    values = {**GOOD, **changed}
    return [
        Step(n + 1, 512 * (n + 1), 0.0, {k: v[n] if isinstance(v, list) else v
                                         for k, v in values.items()})
        for n in range(12)
    ]  # fmt: skip


def _found(limits: str, steps: list[Step]) -> set[str]:
    monitor = Monitor(_config(limits))
    return {finding.rule for step in steps for finding in monitor.observe(step)}


BEYOND: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("D143", {"policy__entropy": 0.49}, {"policy__entropy": 0.5}),
    ("D142", {"language__reference_kl": [0.0] + [0.51] * 11}, {}),
    ("D145", {"rollout__return_mean": [0.1] * 11 + [0.41]},
     {"rollout__return_mean": [0.1] * 11 + [0.399]}),
    ("D146", {"rollout__return_mean": [*[0.3] * 11, 0.29]},
     {"rollout__return_mean": [*[0.3] * 11, 0.3]}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "beyond", "within"), BEYOND)
def test_the_documents_numbers_hold_only_if_they_are_asked_for(
    rule: str, beyond: dict[str, Any], within: dict[str, Any]
) -> None:
    assert rule in _found("document", _steps(**beyond))
    assert rule not in _found("document", _steps(**within))
    assert rule not in _found("relative", _steps(**beyond))


def test_the_stage_gates_of_value_learners_are_part_of_the_documents_limits() -> None:
    for limits, on in (("relative", False), ("document", True)):
        config = load_config("ddpg/stage1", {"limits": limits})
        monitor = Monitor(config)
        monitor.observe(Step(1, 100, 0.0, {"critic.loss": 20_000.0, "actor.loss": 1.0}))
        assert ("D040" in {finding.rule for finding in monitor.findings}) is on


def test_a_set_names_rules_and_limits_that_exist_and_leaves_all_others_alone() -> None:
    rules = {rule.id: rule for rule in (*DEFAULT, *OPTIONAL)}
    for changes in SETS.values():
        for rule, limits in changes.items():
            assert limits.keys() <= rules[rule].limits.keys()
    assert detectors_of(None) == DEFAULT
    same = {r.id for r in detectors_of(_config("document")) if r.limits == rules[r.id].limits}
    assert {r.id for r in DEFAULT} - same == {"D142", "D143", "D145", "D146"}


def test_a_rules_page_says_what_the_document_asks() -> None:
    assert "**With --limits document.** entropy 0.5" in explain(find_rule("D143"))
    assert "**With --limits document.** it is on" in explain(find_rule("D040"))
    assert "--limits" not in explain(find_rule("D144"))


def _recorded(path: Path, limits: str) -> Path:
    """A run as it is left by a training that was watched."""
    config = _config(limits)
    writer, monitor = RunWriter.create(path, config), Monitor(config)
    for step in _steps(policy__entropy=0.4):
        writer.append_step(step)
        for finding in monitor.observe(step):
            record = {name: v for name, v in finding.to_json().items() if name != "step"}
            writer.append_event("finding", step.index, **record)
    writer.close()
    return path


def _rules(findings: Sequence[Finding]) -> set[str]:
    return {finding.rule for finding in findings}


def test_a_run_is_judged_by_the_limits_it_was_trained_with_or_by_others(tmp_path: Path) -> None:
    asked = _recorded(tmp_path / "asked", "document")
    usual = _recorded(tmp_path / "usual", "relative")
    assert _rules(judge(asked).findings) == {"D143"}
    assert _rules(judge(asked, "relative").findings) == set()
    assert _rules(judge(usual).findings) == set()
    assert _rules(judge(usual, "document").findings) == {"D143"}
    assert _rules(steadyrl.diagnose(usual, limits="document").findings) == {"D143"}
    assert judge(usual, "document").settings_changed == {}
    live = LiveJudge(RunReader.open(usual), "document").judged()
    assert live is not None
    assert _rules(live.verdict.findings) == {"D143"}


def test_the_commands_take_the_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(_recorded(tmp_path / "run", "relative"))
    for flags, rules in (([], []), (["--limits", "document"], ["D143"])):
        main(["diagnose", run, "--json", *flags])
        (verdict,) = json.loads(capsys.readouterr().out)
        assert [finding["rule"] for finding in verdict["findings"]] == rules
    with pytest.raises(SystemExit):
        main(["diagnose", run, "--limits", "strict"])


def test_a_watched_loop_takes_the_limits(tmp_path: Path) -> None:
    for limits, rules in (("relative", set()), ("document", {"D143"})):
        with steadyrl.Watch(
            tmp_path / limits, family="grpo", limits=limits, say=lambda _line: None  # type: ignore[arg-type]
        ) as watch:  # fmt: skip
            for step in _steps(policy__entropy=0.4):
                watch.record(step.taken, step.signals)
        assert _rules(judge(tmp_path / limits).findings) == rules
