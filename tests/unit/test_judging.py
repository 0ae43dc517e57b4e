"""What is said of recorded runs: constructed records, each verdict from both of its sides."""

from __future__ import annotations

import io
import json
import os
import socket
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from steadyrl import judging
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.cli.main import main
from steadyrl.core.records import Finding, Intervention, Step
from steadyrl.core.run_config import EnvironmentConfig, RunConfig
from steadyrl.experiments.candidates import candidates_for
from steadyrl.experiments.trials import read_outcome
from steadyrl.integrations.about import About, config_of
from steadyrl.judging import QUIET_SECONDS, judge, judged
from steadyrl.report.findings import print_verdict
from steadyrl.stability.enough import ENOUGH, missing_steps
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.remedies import REMEDIES
from steadyrl.store.foreign.mapping import OWN
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.store.reader import RunReader
from steadyrl.verdict import Verdict
from tests.rules.traces import TOTAL_ENV_STEPS, TRACES, trace

SICK, SUSPICIOUS = TRACES["D005"][0], TRACES["D004"][0]
FULL_DISK = trace(machine__disk_free_gb=0.01)


def config_of_run(**settings: Any) -> DDPGConfig:
    environment = EnvironmentConfig(id="X-v0")
    return DDPGConfig(total_env_steps=TOTAL_ENV_STEPS, environment=environment, **settings)


def recorded(
    path: Path,
    steps: Sequence[Step],
    *events: dict[str, Any],
    status: str | None = "finished",
    message: str = "",
    config: RunConfig | None = None,
    ended_at: int | None = None,
) -> Path:
    """A run directory as a finished training leaves it, or without a summary."""
    path.mkdir()
    (path / "config.yaml").write_text((config or config_of_run()).to_yaml())
    _write_lines(path / "steps.jsonl", [step.to_json() for step in steps])
    _write_lines(path / "events.jsonl", [{"event": "started", "step": 0}, *events])
    if status is not None:
        count = len(steps) if ended_at is None else ended_at
        summary = {"status": status, "message": message, "steps": count}
        (path / "summary.json").write_text(json.dumps(summary))
    return path


def _write_lines(file: Path, records: Sequence[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(record) + "\n" for record in records))


def quiet(path: Path) -> Path:
    """A record that nobody has written to for a while."""
    long_ago = (path / "config.yaml").stat().st_mtime - 2 * QUIET_SECONDS
    for file in path.iterdir():
        os.utime(file, (long_ago, long_ago))
    return path


def found(rule: str, severity: str = "severe", **more: Any) -> dict[str, Any]:
    """A finding as the run's own monitor recorded it."""
    told = {"rule": rule, "name": "x", "severity": severity, "message": "it was seen"}
    return {"event": "finding", "step": 9, "taken": 900, "evidence": {}, **told, **more}


def action(step: int, **changes: tuple[Any, Any]) -> dict[str, Any]:
    """The guard's going back to a Step with settings changed."""
    intervention = Intervention(
        found="D001 non-finite-signal: q.mean is nan",
        found_at=9216,
        step=step,
        taken=100 * step,
        remedy="R301",
        changes=changes,
        because="R301 against C201 learning-rate-too-high (0.90)",
    )
    return {"event": "action", **intervention.to_json()}


def acted(step: int, **changes: tuple[Any, Any]) -> list[dict[str, Any]]:
    """The guard's going back and the changes that it made, as a run records them."""
    made = [change(step, name, *pair) for name, pair in changes.items()]
    return [action(step, **changes), *made]


def change(step: int, name: str, before: Any, after: Any) -> dict[str, Any]:
    told = {"name": name, "before": before, "after": after, "because": "somebody asked"}
    return {"event": "change", "step": step, **told}


def test_in_a_pipe_every_sentence_of_a_verdict_is_one_line(tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), record=True, width=40)
    print_verdict(judge(recorded(tmp_path / "run", trace(), config=config_of_run())), console)
    lines = console.export_text().splitlines()
    assert any(line.startswith("  ") and "nothing found by" in line for line in lines)
    assert all(line == line.rstrip() for line in lines)


def printed(verdict: Verdict) -> str:
    console = Console(file=io.StringIO(), record=True, width=300)
    print_verdict(verdict, console)
    return console.export_text()


# Words


@pytest.mark.parametrize(
    ("steps", "status", "said"),
    [
        (trace(), "finished", "healthy"),
        (SUSPICIOUS, "finished", "suspicious"),
        (SICK, "finished", "sick"),
        (SICK, "failed", "sick; failed: why"),
        (trace(), "failed", "failed: why"),
        (SUSPICIOUS, "failed", "failed: why"),
        (trace(), "diverged", "failed: why"),
        (trace(), "interrupted", "broken off: why"),
        (trace(), "stopped", "broken off: why"),
    ],
)
def test_a_verdict_says_how_the_run_ended(
    steps: Sequence[Step], status: str, said: str, tmp_path: Path
) -> None:
    message = "" if status == "finished" else "why"
    verdict = judge(recorded(tmp_path / "run", steps, status=status, message=message))
    assert verdict.sentence == said
    assert verdict.headline == said.partition(":")[0].partition(";")[0]
    assert verdict.to_json()["verdict"] == verdict.headline


def test_a_record_without_an_end_is_broken_off_once_it_is_quiet(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run", trace(), status=None)
    assert judge(path).sentence == "healthy so far"
    assert judge(quiet(path)).sentence == "broken off: its record has no end"


def _word(pid: int, host: str, since: str) -> str:
    return json.dumps({"pid": pid, "host": host, "since": since})


NOW = datetime.now().astimezone().isoformat()


@pytest.mark.parametrize(
    ("pid", "host", "since", "said"),
    [
        (os.getpid(), socket.gethostname(), NOW, "healthy so far"),
        (os.getpid(), socket.gethostname(), "2020-01-01 00:00:00+00:00", "broken off"),
        (2**22 + 1, socket.gethostname(), NOW, "broken off"),  # above any number of Linux
        (2**22 + 1, "elsewhere", NOW, "healthy so far"),
        (os.getpid(), socket.gethostname(), "whenever", "healthy so far"),
    ],
    ids=["alive", "number taken over", "ended", "another machine", "damaged word"],
)
def test_a_record_without_an_end_is_broken_off_once_its_writer_is_gone(
    pid: int, host: str, since: str, said: str, tmp_path: Path
) -> None:
    path = recorded(tmp_path / "run", trace(), status=None)
    (path / ".writer.json").write_text(_word(pid, host, since))
    assert judge(path).sentence.partition(":")[0] == said


def test_a_summary_with_steps_after_it_is_that_of_an_earlier_part(tmp_path: Path) -> None:
    path = recorded(tmp_path / "run", trace(), ended_at=30)
    assert judge(path).sentence == "healthy so far"
    assert judge(quiet(path)).headline == "broken off"


@pytest.mark.parametrize(("count", "said"), [(ENOUGH - 1, "cannot tell"), (ENOUGH, "healthy")])
def test_a_run_too_short_for_any_rule_is_not_called_healthy(
    count: int, said: str, tmp_path: Path
) -> None:
    verdict = judge(recorded(tmp_path / "run", trace()[:count]))
    assert verdict.headline == said
    assert (f"rules need {ENOUGH} Steps, {count} could" in verdict.sentence) is (
        said == "cannot tell"
    )


def test_a_run_that_recorded_nothing_is_not_called_healthy(tmp_path: Path) -> None:
    assert judge(recorded(tmp_path / "run", [])).headline == "cannot tell"


def test_a_run_that_never_learned_is_not_called_healthy(tmp_path: Path) -> None:
    idle = [
        Step(n, 100 * n, 1.0 * n, {"rollout.return_mean": float(n), "train.updates": 0.0})
        for n in range(1, ENOUGH + 1)
    ]
    assert judge(recorded(tmp_path / "run", idle)).sentence == "cannot tell: no update was made"


@pytest.mark.parametrize(
    ("lost", "said"), [(6, "healthy"), (7, "cannot tell"), (55, "cannot tell")]
)
def test_a_run_with_more_than_a_tenth_of_its_steps_lost_is_not_called_healthy(
    lost: int, said: str, tmp_path: Path
) -> None:
    kept = [*trace()[: 30 - lost // 2], *trace()[30 + lost - lost // 2 :]]
    assert len(kept) == 60 - lost
    verdict = judge(recorded(tmp_path / "run", kept, ended_at=60))
    assert verdict.headline == said
    assert (f"{lost} of 60 Steps cannot be read" in verdict.sentence) is (said == "cannot tell")
    assert "missing from steps.jsonl" in printed(verdict)


def test_lines_that_cannot_be_read_are_missing_though_nothing_else_tells_of_them(
    tmp_path: Path,
) -> None:
    path = recorded(tmp_path / "run", trace()[:20], ended_at=20)
    with (path / "steps.jsonl").open("a") as file:
        file.write(40 * "damage\n")
    verdict = judge(path)
    assert verdict.sentence == "cannot tell: 40 of 60 Steps cannot be read"
    assert "40 lines are damaged" in printed(verdict)


@pytest.mark.parametrize(
    ("indices", "last", "missing"),
    [([1, 2, 3], 0, 0), ([1, 2, 5], 0, 2), ([3], 0, 2), ([1, 2], 7, 5), ([], 4, 4), ([1, 1], 2, 1)],
)
def test_steps_run_from_one_without_gaps(indices: list[int], last: int, missing: int) -> None:
    assert missing_steps(np.array(indices, dtype=np.int64), last) == missing


@pytest.mark.parametrize("column", ["time/fps", "nobody/knows"])
def test_a_log_without_a_signal_that_rules_look_at_is_not_called_healthy(
    column: str, tmp_path: Path
) -> None:
    rows = "".join(f"{2048 * n},{100 + n}\n" for n in range(1, 40))
    (tmp_path / "progress.csv").write_text(f"time/total_timesteps,{column}\n{rows}")
    verdict = judge(ForeignRun(tmp_path))
    assert verdict.headline == "cannot tell"
    assert "a rule about training looks at" in verdict.sentence


# The machine


def test_a_full_disk_is_told_apart_from_the_training(tmp_path: Path) -> None:
    verdict = judge(recorded(tmp_path / "run", FULL_DISK))
    assert verdict.sentence == "healthy"
    assert (verdict.findings, verdict.diagnoses) == ([], [])
    assert [finding.rule for finding in verdict.machine] == ["D033"]
    assert [diagnosis.cause for diagnosis in verdict.machine_diagnoses] == ["C230"]
    text = printed(verdict)
    assert text.index("the machine, not the training") < text.index("D033 disk-low")
    assert "cause unknown" not in text


def test_a_full_disk_does_not_spoil_an_outcome_but_a_diverged_critic_does(tmp_path: Path) -> None:
    disk = found("D033", concerns="machine")
    recorded(tmp_path / "full", trace(), disk)
    recorded(tmp_path / "sick", trace(), disk, found("D005"))
    assert read_outcome("x", tmp_path / "full").healthy
    assert read_outcome("x", tmp_path / "sick").severe == ("D005",)


# What the guard did


def test_a_run_that_the_guard_healed_says_so_and_by_what(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    healed = acted(0, learning_rate=(0.5, 0.001))
    path = recorded(tmp_path / "run", trace(), *healed, config=config_of_run(learning_rate=0.5))
    verdict = judge(path)
    assert verdict.headline == "healed"
    assert verdict.sentence == "healed by the guard: learning_rate 0.5 -> 0.001 at 9,216"
    assert verdict.settings_changed == {"learning_rate": (0.5, 0.001)}
    assert "the guard went back to env step 0" in printed(verdict)
    assert main(["diagnose", str(path), "--json", "--strict"]) == 1
    (told,) = json.loads(capsys.readouterr().out)
    assert told["sentence"] == verdict.sentence
    assert told["interventions"][0]["changes"] == {"learning_rate": [0.5, 0.001]}


def test_an_action_that_cannot_be_read_is_damage_and_not_a_crash(tmp_path: Path) -> None:
    verdict = judge(recorded(tmp_path / "run", trace(), {"event": "action", "step": 0}))
    assert (verdict.headline, verdict.interventions) == ("healthy", [])
    assert verdict.problems == ["events.jsonl: 1 line is damaged and was passed over"]


def test_a_run_that_got_sick_again_after_the_guard_acted_is_sick(tmp_path: Path) -> None:
    verdict = judge(recorded(tmp_path / "run", SICK, action(0, learning_rate=(0.5, 0.001))))
    assert verdict.sentence == "sick; the guard changed learning_rate 0.5 -> 0.001 at 9,216"


def test_what_was_found_before_the_guard_acted_is_history(tmp_path: Path) -> None:
    act = action(0, learning_rate=(0.5, 0.001))
    before = judge(recorded(tmp_path / "before", trace(), found("D001"), act))
    after = judge(recorded(tmp_path / "after", trace(), act, found("D001")))
    without = judge(recorded(tmp_path / "without", trace(), found("D001")))
    assert (before.headline, before.findings) == ("healed", [])
    assert [finding.rule for finding in after.findings] == ["D001"]
    assert [finding.rule for finding in without.findings] == ["D001"]


def test_what_probes_said_before_the_guard_acted_is_history(tmp_path: Path) -> None:
    act = action(0, learning_rate=(0.5, 0.001))
    asked = {"event": "probe", "step": 5, "probe": "Q501", "statement": "so it is", "now": "nan"}
    before = judged(recorded(tmp_path / "before", trace(), asked, act))
    after = judged(recorded(tmp_path / "after", trace(), act, asked))
    assert before.probes == {}
    assert after.probes["Q501"].statement == "so it is"


def test_a_finding_of_the_steps_is_not_told_twice(tmp_path: Path) -> None:
    verdict = judge(recorded(tmp_path / "run", SICK, found("D005")))
    assert [finding.rule for finding in verdict.findings].count("D005") == 1


# Settings in force


def test_a_run_that_was_made_longer_is_judged_by_its_new_end(tmp_path: Path) -> None:
    longer = change(40, "total_env_steps", 4000, 6000)
    start = config_of_run().replaced({"total_env_steps": 4000})
    run = judged(recorded(tmp_path / "run", trace(), longer, config=start))
    assert run.config.budget == 6000
    assert run.window.progress == 1.0
    assert run.verdict.settings_changed == {"total_env_steps": (4000, 6000)}
    assert "changed since the start: total_env_steps 4000 -> 6000" in printed(run.verdict)


def test_going_back_abandons_later_changes_but_not_remedies(tmp_path: Path) -> None:
    path = recorded(
        tmp_path / "run",
        trace(),
        change(10, "tau", 0.005, 0.01),
        change(11, "gamma", 0.99, 0.9),
        *acted(10, learning_rate=(0.5, 0.001)),
        change(30, "tau", 0.01, 0.02),
        *acted(10, noise_std=(0.1, 0.2)),
        config=config_of_run(learning_rate=0.5, noise_std=0.1),
    )
    start = RunReader.open(path).config
    in_force = RunReader.open(path).config_in_force()
    assert start.differences(in_force) == {
        "tau": (0.005, 0.01),
        "learning_rate": (0.5, 0.001),
        "noise_std": (0.1, 0.2),
    }


def test_a_setting_of_another_program_changes_too(tmp_path: Path) -> None:
    config = config_of(About(family="ppo", settings={"learning_rate": 0.3}), OWN)
    lowered = change(5, "learning_rate", 0.3, 0.1)
    path = recorded(tmp_path / "run", trace(), lowered, config=config)
    assert RunReader.open(path).config_in_force().value_of("learning_rate") == 0.1


# One route from finding to cause


def _large_rewards(count: int) -> list[Step]:
    """Large rewards, with values that no block of two Steps shows as they are."""
    steps, usual = [], trace()[0].signals
    for n in range(1, count + 1):
        spike = 1e6 if n == count else 3000.0
        signals = {
            **usual,
            "td.target_std": 8000.0 if n % 2 == 0 else 2000.0,
            "critic.gradient_norm": 10.0 + 2000.0 * (n % 4 == 0) + n / 10,
            "critic.gradient_norm_max": spike,
            "rollout.reward_abs_max": 1.0,
        }
        steps.append(Step(n, 4 * n, 0.1 * n, signals))
    return steps


@pytest.mark.parametrize(("blocks", "block"), [(judging.BLOCKS, 1), (30, 2)])
def test_live_diagnosed_and_rescued_a_run_gets_the_same_proposals(
    blocks: int, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "BLOCKS", blocks)  # longer runs are looked at in so many blocks
    steps, config = _large_rewards(60), config_of_run()
    live = Monitor(config)
    for step in steps:
        live.observe(step)
    run = judged(recorded(tmp_path / "run", steps))
    assert run.verdict.block == block
    for remedy in REMEDIES.values():
        assert remedy.proposal(run.config, run.window) == remedy.proposal(config, live.window)
    assert run.verdict.changes["R303"] == "reward_scale 1 -> 0.001"
    assert {"reward_scale": 0.001} in [c.changes for c in candidates_for(run)]
    assert [d.cause for d in run.verdict.diagnoses] == [d.cause for d in live.diagnose()]
    assert ("blocks of 2 Steps" in printed(run.verdict)) is (block == 2)


def test_what_the_machine_lacks_is_no_candidate_for_a_rescue(tmp_path: Path) -> None:
    run = judged(recorded(tmp_path / "run", FULL_DISK))
    assert {candidate.origin for candidate in candidates_for(run)} == {"random fix", "placebo"}


def test_a_finding_comes_back_from_its_event_as_it_was() -> None:
    finding = Finding.from_json(found("D033", "warning", concerns="machine"))
    assert (finding.rule, finding.concerns, finding.alarming) == ("D033", "machine", False)
    assert Finding.from_json(found("D005")).alarming
    assert not Finding.from_json(found("D033", concerns="machine")).alarming
    assert Finding.from_json(finding.to_json()) == finding
