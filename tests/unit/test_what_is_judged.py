"""Which record is judged and by what: own or other programs', whole or damaged, long or short."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import steadyrl
from steadyrl import judging
from steadyrl.core.errors import RunNotFound
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Evidence
from steadyrl.judging import judge, judged, open_run
from steadyrl.stability.detectors import DEFAULT, no_progress
from steadyrl.stability.monitor import Monitor
from steadyrl.store.foreign.mapping import built_in, names_of_settings
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.store.reader import RunReader
from steadyrl.store.writer import RunWriter
from tests.rules.traces import TRACES, trace
from tests.unit.test_foreign_runs import sb3_log
from tests.unit.test_judging import FULL_DISK, SICK, config_of_run, found, recorded

HOUR = 3600.0


def test_a_path_is_opened_as_what_it_is(tmp_path: Path) -> None:
    own, theirs = recorded(tmp_path / "own", trace()), sb3_log(tmp_path / "theirs")
    assert isinstance(open_run(own), RunReader)
    assert isinstance(open_run(theirs), ForeignRun)
    assert judge(theirs).source.startswith("Stable-Baselines3")
    for path in (own, theirs):
        assert steadyrl.diagnose(path).to_json() == judge(path).to_json()
        assert steadyrl.diagnose(path).run == str(path)


@pytest.mark.parametrize("read", [judge, steadyrl.diagnose])
def test_what_is_not_there_is_not_a_run_of_another_program(read: Any, tmp_path: Path) -> None:
    with pytest.raises(RunNotFound, match=r"config\.yaml|no run"):
        read(tmp_path / "nowhere")


def test_what_is_told_about_another_programs_run_is_believed(tmp_path: Path) -> None:
    log = sb3_log(tmp_path, rate=0.3)
    assert judged(ForeignRun(log)).config.budget == 40 * 2048  # of a finished log: its last step
    assert judged(ForeignRun(log, growing=True)).config.budget == 0
    told = ForeignRun(log, total_env_steps=90_000, settings={"gamma": 0.5})
    assert (told.config.budget, told.config.value_of("gamma")) == (90_000, 0.5)
    given: list[Any] = []

    def remember(run: ForeignRun, limits: Any) -> Any:
        given.append(run.config)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "judge", remember)
        steadyrl.diagnose(log, total_env_steps=90_000, settings={"gamma": 0.5}, family="ppo")
        steadyrl.diagnose(log)
    assert given == [
        ForeignRun(log, total_env_steps=90_000, settings={"gamma": 0.5}, family="ppo").config,
        ForeignRun(log).config,
    ]


def test_all_steps_of_another_programs_run_are_looked_at(tmp_path: Path) -> None:
    verdict = judge(sb3_log(tmp_path, rows=30))
    assert (verdict.steps, verdict.status, verdict.headline) == (30, "recorded", "healthy")


def test_for_a_signal_that_another_program_lacks_there_is_advice(tmp_path: Path) -> None:
    verdict = judge(sb3_log(tmp_path))
    lacking = {name for names in verdict.unmeasured.values() for name in names}
    assert lacking
    table = built_in()["sb3"]
    assert verdict.advice == {
        name: text
        for name in lacking
        if (text := table.advice.get(name, table.advice.get("default")))
    }


def test_settings_are_called_as_the_program_that_trained_calls_them() -> None:
    for table in built_in().values():
        theirs = parse_config({"algorithm": "foreign", "source": f"{table.name} 2.1"})
        assert names_of_settings(theirs) == table.settings
    assert names_of_settings(parse_config({"algorithm": "foreign", "source": ""})) == {}
    assert names_of_settings(parse_config({"algorithm": "foreign", "source": "nobody's"})) == {}
    assert names_of_settings(config_of_run()) == {}


def summarised(path: Path, **summary: Any) -> Path:
    (path / "summary.json").write_text(json.dumps(summary))
    return path


def test_a_summary_that_lacks_parts_still_says_how_the_run_ended(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run", trace())
    assert judge(summarised(path, status="failed")).sentence == "failed"
    assert judge(summarised(path, status="failed", steps="?")).sentence == "failed"
    assert judge(summarised(path, status="failed", message=None)).message == ""
    assert judge(summarised(path, status="failed", steps=60)).status == "failed"
    assert judge(summarised(path, status="failed", steps=59)).status == "going"


def test_a_run_that_failed_before_its_first_step_has_failed(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run", [], status="failed", message="why")
    assert judge(path).sentence == "failed: why"


@pytest.mark.parametrize(
    ("age", "status"), [(0.0, "going"), (0.9 * HOUR, "going"), (1.1 * HOUR, "broken off")]
)
def test_a_record_is_going_until_none_of_its_files_has_grown_for_an_hour(
    age: float, status: str, tmp_path: Path
) -> None:
    path = recorded(tmp_path / "run", trace(), status=None)
    long_ago, then = time.time() - 9 * HOUR, time.time() - age
    for touched, other in (("steps.jsonl", "events.jsonl"), ("events.jsonl", "steps.jsonl")):
        os.utime(path / touched, (then, then))
        os.utime(path / other, (long_ago, long_ago))
        assert judge(path).status == status
    os.utime(path / "steps.jsonl", (then, then))
    (path / "events.jsonl").unlink()
    assert judge(path).status == status


def test_a_checkpoint_beyond_the_last_step_tells_of_steps_that_are_missing(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run", trace()[:20], status=None)
    store = RunWriter.open(path)
    store.save_checkpoint({"x": 1}, step=40, good=True)
    store.close()
    assert judge(path).doubts == ["20 of 40 Steps cannot be read"]


def test_of_a_record_that_cannot_be_read_nothing_is_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = recorded(tmp_path / "run", [], ended_at=60)
    (path / "steps.jsonl").write_text(60 * "damage\n")
    for blocks in (judging.BLOCKS, 10):
        monkeypatch.setattr(judging, "BLOCKS", blocks)
        verdict = judge(path)
        assert (verdict.steps, verdict.findings) == (0, [])
        assert verdict.doubts == ["60 of 60 Steps cannot be read"]


@pytest.mark.parametrize(("blocks", "block"), [(60, 1), (59, 2), (30, 2), (29, 3), (20, 3)])
def test_a_long_run_is_looked_at_in_the_smallest_blocks_that_are_few_enough(
    blocks: int, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = recorded(tmp_path / "run", SICK)
    assert (judge(path).block, judging.BLOCKS) == (1, 1000)
    monkeypatch.setattr(judging, "BLOCKS", blocks)
    run = judged(path)
    assert (run.verdict.block, run.verdict.steps) == (block, 60)
    assert "D005" in [finding.rule for finding in run.verdict.findings]
    live = Monitor(config_of_run())
    for step in SICK:
        live.observe(step)
    assert run.window.budget == live.window.budget
    for name in SICK[0].signals:
        assert run.window.last(name).tolist() == live.window.last(name).tolist()


def test_probes_are_told_by_their_newest_answers(tmp_path: Path) -> None:
    def asked(name: str, statement: str, **values: float) -> dict[str, Any]:
        return {"event": "probe", "step": 5, "probe": name, "statement": statement, **values}

    path = recorded(
        tmp_path / "run", trace(),
        asked("Q501", "old", now=1.0), asked("Q502", "other"), asked("Q501", "new", now=2.0),
    )  # fmt: skip
    assert judged(path).probes == {
        "Q501": Evidence("Q501", "new", {"now": 2.0}),
        "Q502": Evidence("Q502", "other", {}),
    }


def test_training_and_machine_are_told_apart_where_both_are_sick(tmp_path: Path) -> None:
    both = [*FULL_DISK[:30], *SICK[30:]]
    verdict = judge(
        recorded(tmp_path / "run", both, found("D005"), found("D033", concerns="machine"))
    )
    assert "D005" in [finding.rule for finding in verdict.findings]
    assert [finding.rule for finding in verdict.machine] == ["D033"]
    assert "D033" not in [finding.rule for finding in verdict.findings]
    assert [diagnosis.cause for diagnosis in verdict.machine_diagnoses] == ["C230"]
    assert verdict.diagnoses
    assert all(diagnosis.concerns == "training" for diagnosis in verdict.diagnoses)


def test_what_would_decide_is_asked_only_where_no_cause_is_known(tmp_path: Path) -> None:
    known = judge(recorded(tmp_path / "known", SICK))
    assert known.diagnoses
    assert known.undecided == []
    unknown = judge(recorded(tmp_path / "unknown", TRACES["D006"][0]))
    assert unknown.findings
    assert unknown.diagnoses == []
    assert unknown.undecided


def test_a_recorded_finding_that_the_steps_do_not_show_comes_after_those_that_they_show(
    tmp_path: Path,
) -> None:
    verdict = judge(recorded(tmp_path / "run", SICK, found("D001"), found("D005")))
    assert [finding.rule for finding in verdict.findings] == ["D005", "D001"]


def test_a_run_of_ours_that_learned_nothing_is_not_called_healthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the rule about it, which has limits of its own, says on the way."""
    rule = replace(no_progress.RULE, detect=lambda _window, _limits: None)
    quiet = tuple(rule if r.id == "D011" else r for r in DEFAULT)
    monkeypatch.setattr("steadyrl.stability.monitor.detectors_of", lambda _config: quiet)
    returns = [5.0 + i % 3 for i in range(60)]
    still = trace(eval__return_mean=returns, rollout__return_mean=returns)
    verdict = judge(recorded(tmp_path / "run", still))
    assert (verdict.standing.learned, verdict.findings) == ("no", [])
    assert verdict.headline == "cannot tell"
    assert "not clearly better" in verdict.sentence


def test_what_a_run_has_left_behind_is_told_and_no_cause_is_named_for_it(tmp_path: Path) -> None:
    lines = ["time/total_timesteps,rollout/ep_rew_mean,train/approx_kl,train/clip_fraction,"
             "train/learning_rate"]  # fmt: skip
    for row in range(100):
        kl = 0.8 if 10 <= row < 20 else 0.01
        lines.append(f"{2048 * (row + 1)},{3.0 * row + row % 3},{kl},0.1,0.05")
    (tmp_path / "progress.csv").write_text("\n".join(lines) + "\n")
    verdict = judge(tmp_path)
    assert verdict.headline == "recovered"
    assert "D102" in verdict.passed
    assert [diagnosis.cause for diagnosis in verdict.diagnoses] == []


def test_a_run_of_ours_that_recovered_is_given_no_cause_either(tmp_path: Path) -> None:
    rising = [-1500.0 + 20.0 * i for i in range(60)]
    ratios = [400.0 if 20 <= i < 40 else 8.0 for i in range(60)]
    steps = trace(eval__return_mean=rising, observation__scale_ratio=ratios)
    verdict = judge(recorded(tmp_path / "run", steps))
    assert "D016" in verdict.passed
    assert verdict.headline == "recovered"
    assert verdict.diagnoses == []
