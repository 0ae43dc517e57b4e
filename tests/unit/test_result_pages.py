"""Pages of results say in words what was found and what to run next."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from steadyrl.cli.main import main
from steadyrl.experience.demonstrations import made
from steadyrl.views.comparison import comparison_page
from steadyrl.views.demos import inspection_page
from steadyrl.views.fault_bench import fault_bench_page
from steadyrl.views.ladder import ladder_page
from steadyrl.views.milestones import measure_all, milestones_page
from steadyrl.views.pages import sentence
from steadyrl.views.study import study_page
from tests.unit.pages import page_data
from tests.unit.test_pages import _comparison, _ladder, _run, of_fault_bench, of_study


def test_a_ladder_says_what_its_words_mean_what_stays_open_and_what_to_run_next(
    tmp_path: Path,
) -> None:
    _run(tmp_path / "original")
    _ladder(tmp_path, "ddpg/mine")
    story = json.loads((tmp_path / "ladder.json").read_text())
    story |= {"recommended": None, "message": "no rung passed clearly: more seeds would decide"}
    gate = {"measure": "severe findings", "value": 0.0, "low": 0.0, "high": 1.0, "answer": "open"}
    held = {**story["rungs"][0], "decision": "hold", "evidence": [], "gates": [gate], "seeds": 6}
    (tmp_path / "ladder.json").write_text(json.dumps({**story, "rungs": [held]}))
    page = ladder_page(tmp_path)
    assert (page.headline, page.tone) == ("undecided", "unknown")
    assert page.told[0] == "No rung passed clearly: more seeds would decide."
    assert page.command == f"steadyrl ladder ddpg/mine --seeds 12 --output {tmp_path}-again"
    blocks = {block["title"]: block for block in page.blocks}
    assert "hold: a gate stayed open" in blocks["Rungs"]["about"]
    assert blocks["batch 16: hold"]["lines"] == ["open: severe findings 0 (0 to 1)"]
    misfit = gate | {"measure": "misfit", "value": 6.0, "answer": "retreat"}
    failed = held | {"decision": "step back", "evidence": ["it grew"], "gates": [misfit]}
    (tmp_path / "ladder.json").write_text(json.dumps({**story, "rungs": [failed]}))
    said = {block["title"]: block for block in ladder_page(tmp_path).blocks}
    first = said["batch 16: step back"]["lines"][0]
    assert first.startswith("failed: the critic's squared error over")
    assert first.endswith("(misfit) is 6")
    (tmp_path / "recommended.yaml").write_text("")
    recommended = {**story, "recommended": 16, "message": "batch 16: passed every gate"}
    (tmp_path / "ladder.json").write_text(json.dumps(recommended))
    page = ladder_page(tmp_path)
    assert (page.headline, page.tone) == ("recommended", "good")
    assert page.command == f"steadyrl train {tmp_path}/recommended.yaml"


def test_a_comparison_says_first_who_is_better(tmp_path: Path) -> None:
    _comparison(tmp_path, "b")
    page = comparison_page(tmp_path)
    assert (page.headline, page.told[0]) == ("clear", "B.")
    assert page.told[1] == "Final return: b 1 (0.5 to 1.5)."
    about = {block["title"]: block.get("about", "") for block in page.blocks}
    assert "first reaching of 7.5 is timed" in about["Learning"]
    assert "below where it began" in about["Steadiness"]


def test_a_comparison_of_few_seeds_says_why_it_is_open(tmp_path: Path) -> None:
    _comparison(tmp_path, "b")
    assert len(comparison_page(tmp_path).told) == 2
    story = json.loads((tmp_path / "compare.json").read_text())
    story["contrasts"][0] |= {
        "clear": False,
        "difference": {"value": 1.0, "low": None, "high": None},
    }
    (tmp_path / "compare.json").write_text(json.dumps(story))
    told = "3 seeds are too few for any answer to be clear: run it again with more --seeds."
    assert comparison_page(tmp_path).told[-1] == told


def test_a_comparison_of_one_seed_has_no_spread_and_a_page_all_the_same(tmp_path: Path) -> None:
    _comparison(tmp_path, "b")
    story = json.loads((tmp_path / "compare.json").read_text())
    story["arms"][0]["seed_spread"] = None
    (tmp_path / "compare.json").write_text(json.dumps(story))
    blocks = {block["title"]: block for block in comparison_page(tmp_path).blocks}
    assert blocks["Steadiness"]["rows"][0][4] == "-"


def test_a_name_keeps_its_letters_at_the_beginning_of_a_sentence() -> None:
    assert sentence("ppo/cartpole is better") == "ppo/cartpole is better."
    assert sentence("no rung passed.") == "No rung passed."


def test_a_study_that_was_kept_is_reported_from_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_study(tmp_path)
    kept = json.loads((tmp_path / "study.json").read_text())
    del kept["declared"]
    (tmp_path / "kept.json").write_text(json.dumps(kept))
    assert main(["report", str(tmp_path / "kept.json")]) == 0
    page = page_data(Path(capsys.readouterr().out.strip()))
    assert page["told"] == ["Asked with 3 seeds.", kept["because"].strip()]


def test_a_long_verdict_of_a_study_is_told_sentence_by_sentence(tmp_path: Path) -> None:
    of_study(tmp_path)
    kept = json.loads((tmp_path / "study.json").read_text())
    kept["because"] = "Clearly better: a (+0.1 [0.0, 0.2]); b. Open: c. Why? Few seeds."
    (tmp_path / "study.json").write_text(json.dumps(kept))
    first, *others = study_page(tmp_path).told
    assert first.startswith("Claim: ")
    assert others == [
        "Clearly better: a (+0.1 [0.0, 0.2]); b.",
        "Open: c.",
        "Why?",
        "Few seeds.",
    ]


def test_a_fault_bench_names_causes_and_rules_in_words(tmp_path: Path) -> None:
    row = {"runs": 3, "effective": 3, "caught": 3, "top_1": 3, "answers": {"C201": 3}}
    alarm = {"rule": "D025", "severity": "warning", "message": "it promises more"}
    busy = {"rule": "D031", "severity": "warning", "message": "cores are busy", "run": "a-seed1"}
    of_fault_bench(tmp_path)
    kept = json.loads((tmp_path / "faults.json").read_text())
    alarms = [{**alarm, "run": "a-seed1"}, {**alarm, "run": "b-seed1"}, busy]
    kept |= {"by_fault": {"learning-rate-high": row}, "false_alarms": alarms}
    (tmp_path / "faults.json").write_text(json.dumps(kept))
    blocks = {block["title"]: block for block in fault_bench_page(tmp_path).blocks}
    (fault,) = blocks["By fault"]["rows"]
    assert fault[-1] == "learning rate too high (C201) 3×"
    told = blocks["What healthy runs were told"]
    assert [list(row) for row in told["rows"]] == [
        ["overestimation (D025)", "warning", "2", "it promises more"]
    ]
    assert "1 was told of a busy machine" in told["about"]


def test_demonstrations_and_milestones_begin_with_a_sentence(tmp_path: Path) -> None:
    data = made(np.zeros((3, 2)), np.ones((3, 1)), [0], "here")
    page = inspection_page([("a", "b")], ["actions never change"], data)
    assert page.told == [
        "1 recording with 3 transitions: there is one concern.",
        "Actions never change.",
    ]
    runs = [_run(tmp_path / "one", values=(0.0, 60.0)), _run(tmp_path / "two", values=(0.0, 11.0))]
    page = milestones_page(runs, measure_all(runs, [10.0, 50.0, 100.0]))
    assert page.told == [
        "Best average of 2 runs: 60.0 (one).",
        "Average 10: passed by 2 of 2, first after 200 steps.",
        "Average 50: passed by 1 of 2, first after 200 steps.",
        "Passed by none: 100.",
    ]
    assert "line searches ok" not in page.blocks[0]["head"]
