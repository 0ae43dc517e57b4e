"""What strangers wrote into run files is text on every page, never markup; nothing is left out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl.cli.main import main
from steadyrl.core.errors import StoreError
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.dashboard.folder import Folder
from steadyrl.dashboard.results import page_of
from steadyrl.experience.demonstrations import made
from steadyrl.judging import open_run
from steadyrl.report.compare import print_comparison
from steadyrl.report.html import write_report
from steadyrl.report.ladder import print_ladder
from steadyrl.report.rescue import print_rescue
from steadyrl.report.results import write_result
from steadyrl.store.results import Kind
from steadyrl.store.writer import RunWriter
from steadyrl.viewer.frame import write_page
from steadyrl.views.demos import inspection_page, replay_page
from steadyrl.views.fault_bench import fault_bench_page
from steadyrl.views.milestones import measure_all, milestones_page
from steadyrl.views.names import distinct_names
from tests.unit.pages import page_data, texts

EVIL = "<script>alert(1)</script>\"'\u2028"
FOLDER = EVIL.replace("/", "")
Page = Callable[[Path], Path]


def _run(path: Path, text: str = "plain", values: tuple[float, ...] = (0.0, 1.0)) -> Path:
    """A run in whose files every text is this one."""
    config = parse_config(
        {
            "algorithm": "trpo",
            "environment": {"id": f"{text}-v0", "settings": {text: text}},
        }
    )
    store = RunWriter.create(path, config)
    for number, value in enumerate(values):
        signals = {"eval.return_mean": value, "rollout.return_mean": value, "critic.loss": value}
        store.append_step(Step(number + 1, 100 * (number + 1), 1.0, signals))
    step: Any = text
    finding = {"rule": text, "name": text, "severity": text, "message": text, "taken": text}
    store.append_event("finding", step, evidence={text: 1.0}, **finding)
    store.append_event(text, step, **{text: text, "nested": {text: [text]}})
    store.close()
    summary = dict.fromkeys(("status", "message", "taken", "seconds", "final_return"), text)
    (path / "summary.json").write_text(json.dumps(summary))
    return path


def _outcome(run: str, text: str) -> dict[str, Any]:
    return {"run": run, "status": text, "severe": [text], "final_return": 1.0, "final_length": 2.0}


def _rescue(folder: Path, text: str) -> None:
    diagnosis = {"cause": text, "name": text, "confidence": 0.5, "evidence_for": [text]}
    tried = {"name": text, "origin": "asked for", "changes": {text: text}, "helped": False}
    row = _outcome("original", text)
    story = {
        "status": text,
        "message": text,
        "diagnoses": [{**diagnosis, "evidence_against": [text]}],
        "tried": [{**tried, **row}],
        "verified": [{"seed": text, "before": row, "after": row, "better": True}],
        "measure": text,
        "p_value": 0.05,
        "chosen": {"changes": {text: text}},
        "control": row,
    }
    (folder / "rescue.json").write_text(json.dumps(story))
    (folder / "rescued.yaml").write_text(text, encoding="utf-8")


def _ladder(folder: Path, text: str) -> None:
    estimate = {"value": 1.0, "low": 0.5, "high": None}
    rung = {
        "batch_size": 16,
        "decision": "step back",
        "gates": [{"measure": text, "value": 1.0, "answer": "retreat"}],
        "final_return": estimate,
        "final_length": estimate,
        "utilisation": 0.5,
        "device": text,
        "samples_per_second": 3.0,
        "minutes": 1.0,
        "cause": text,
        "evidence": [text],
        "runs": ["original"],
    }
    story = {"config": text, "gates": text, "about": text, "message": text, "recommended": 16}
    (folder / "ladder.json").write_text(json.dumps({**story, "rungs": [rung]}))


def _comparison(folder: Path, text: str) -> None:
    estimate = {"value": 1.0, "low": 0.5, "high": 1.5}
    figures = ("collapse_rate", "sick_rate", "worst_drawdown", "seed_spread", "seconds")
    arm = {
        "name": text,
        "seeds": 3,
        "final": estimate,
        "area": estimate,
        "time_to_threshold": None,
        "taken": 100,
        "curve": {"taken": [1.0], "value": [1.0], "low": [1.0], "high": [1.0]},
        **dict.fromkeys(figures, 0.5),
    }
    numbers = {"improvement": 0.5, "p_value": 0.2, "allowed": 0.05}
    contrast = {"name": text, "reference": text, "difference": estimate, **numbers}
    contrasts = [{**contrast, "clear": True}]
    story = {"message": text, "arms": [arm], "contrasts": contrasts, "threshold": 7.5}
    (folder / "compare.json").write_text(json.dumps(story))


def of_rescue(folder: Path) -> Path:
    _run(folder / "original", EVIL)
    _rescue(folder, EVIL)
    return write_result(folder, "rescue")


def of_ladder(folder: Path) -> Path:
    _run(folder / "original", EVIL)
    _ladder(folder, EVIL)
    return write_result(folder, "ladder")


def of_comparison(folder: Path) -> Path:
    _comparison(folder, EVIL)
    return write_result(folder, "compare")


def of_milestones(folder: Path) -> Path:
    runs = [_run(folder / FOLDER, EVIL), _run(folder / "b" / FOLDER, EVIL)]
    return write_page(folder / "page.html", milestones_page(runs, measure_all(runs, [0.5])))


def of_runs(folder: Path) -> Path:
    runs = [_run(folder / FOLDER, EVIL), _run(folder / "b" / FOLDER, EVIL)]
    return write_report([open_run(run) for run in runs], folder / "page.html")


def of_inspection(folder: Path) -> Path:
    data = made(np.zeros((5, 1)), np.ones((5, 1)), [0], EVIL)
    return write_page(folder / "page.html", inspection_page([(EVIL, EVIL)], [EVIL], data))


def of_replay(folder: Path) -> Path:
    page = replay_page(EVIL, EVIL, {"clone": [0.0, 1.0]})
    return write_page(folder / "page.html", page)


def of_study(folder: Path) -> Path:
    declared = dict.fromkeys(("claim", "question", "setup", "rule"), EVIL)
    words = dict.fromkeys(("verdict", "because", "date", "machine", "commit", "study"), EVIL)
    found = {**words, "seeds": 3, "head": [EVIL], "rows": [[EVIL]], "notes": [EVIL]}
    (folder / "study.json").write_text(json.dumps({**found, "declared": declared}))
    return write_result(folder, "study")


def of_fault_bench(folder: Path) -> Path:
    rate: dict[str, Any] = {"count": 3, "of": 4, "share": 0.75, "low": 0.2, "high": 0.9}
    side = dict.fromkeys(("recall", "top_1_cause", "severe_false_alarms"), rate)
    fault = {"runs": 4, "effective": 4, "caught": 3, "top_1": 3, "answers": {EVIL: 3}}
    found = {
        "benchmark": EVIL,
        **dict.fromkeys(("development", "test", "all"), side),
        "by_fault": {EVIL: fault},
        "false_alarms": [dict.fromkeys(("run", "rule", "severity", "message"), EVIL)],
        "repair": {EVIL: rate, "prescribed": rate},
        "harm": rate | {"harmed": [EVIL]},
        "machine": {"cpu": EVIL},
    }
    (folder / "faults.json").write_text(json.dumps(found))
    return write_page(folder / "page.html", fault_bench_page(folder))


class _Elements(HTMLParser):
    """What a browser would make of a page: its scripts, and the text outside of them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.scripts, self.text, self._inside = 0, "", False
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self._inside = tag == "script"
        self.scripts += self._inside

    def handle_endtag(self, tag: str) -> None:
        self._inside = False

    def handle_data(self, data: str) -> None:
        self.text += "" if self._inside else data


@pytest.mark.parametrize(
    "page",
    [
        of_runs,
        of_rescue,
        of_ladder,
        of_comparison,
        of_milestones,
        of_inspection,
        of_replay,
        of_study,
        of_fault_bench,
    ],
)
def test_text_from_files_is_shown_and_never_markup(page: Page, tmp_path: Path) -> None:
    path = page(tmp_path)
    text = path.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "<script>alert" not in text
    assert text.count("</script>") == 2  # the data, and the viewer
    assert text.rpartition("<script>")[2].count("\u2028") == 0
    assert _Elements(text).scripts == 2
    assert any(EVIL in found or FOLDER in found for found in texts(page_data(path)))


@pytest.mark.parametrize(
    ("tell", "show"),
    [(_rescue, print_rescue), (_ladder, print_ladder), (_comparison, print_comparison)],
)
def test_text_from_files_is_shown_on_the_terminal_as_it_is(
    tell: Callable[[Path, str], None],
    show: Callable[[Path, Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "500")
    tell(tmp_path, "a[/b][red]c")
    show(tmp_path, tmp_path / "[/b].html")
    out = capsys.readouterr().out
    assert out.count("a[/b][red]c") > 2
    assert "[/b].html" in out


def test_runs_that_share_a_folder_name_are_all_drawn_and_told_apart(tmp_path: Path) -> None:
    runs = [_run(tmp_path / name / "seed0") for name in ("a", "b")]
    page = page_data(write_report([open_run(run) for run in runs], tmp_path / "page.html"))
    assert [run["name"] for run in page["runs"]] == ["a/seed0", "b/seed0"]
    for run in page["runs"]:
        assert run["curves"]["critic.loss"]["y"] == [0.0, 1.0]
        assert run["settings"]


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["runs/a"], ["a"]),
        (["runs/a", "runs/b"], ["a", "b"]),
        (["x/seed0", "y/seed0", "y/seed1"], ["x/seed0", "y/seed0", "seed1"]),
        (["x/1/a", "y/1/a"], ["x/1/a", "y/1/a"]),
        (["a", "a/a"], None),
        (["a", "a", "./a"], ["a", "a (2)", "a (3)"]),
    ],
)
def test_names_are_the_shortest_ends_of_paths_that_differ(
    paths: list[str], names: list[str] | None, tmp_path: Path
) -> None:
    found = distinct_names([tmp_path / path for path in paths])
    assert len(set(found)) == len(paths)
    assert names is None or found == names


def test_a_run_in_the_folder_where_one_stands_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert distinct_names([Path()]) == [tmp_path.name]


@pytest.mark.parametrize(("tell", "kind"), [(_rescue, "rescue"), (_ladder, "ladder")])
def test_a_folder_that_was_moved_keeps_its_report(
    tell: Callable[[Path, str], None], kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(tmp_path / "made" / "original")
    tell(tmp_path / "made", "plain")
    shutil.move(tmp_path / "made", tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    assert "plain-v0" in "".join(texts(page_data(write_result(Path("moved"), kind))))


def test_the_folder_of_a_result_is_reported_as_that_result(tmp_path: Path) -> None:
    _run(tmp_path / "original", "fine")
    _rescue(tmp_path, "a remedy")
    assert main(["report", str(tmp_path)]) == 0
    by_command = (tmp_path / "report.html").read_bytes()
    assert write_result(tmp_path, "rescue").read_bytes() == by_command
    assert main(["report", str(tmp_path / "original")]) == 0
    assert (tmp_path / "original" / "report.html").exists()


def test_results_of_a_fault_bench_are_reported_from_their_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_fault_bench(tmp_path)
    file = (tmp_path / "faults.json").rename(tmp_path / "kept.json")
    assert main(["report", str(file)]) == 0
    page = Path(capsys.readouterr().out.strip())
    assert page == tmp_path / "kept.html"
    assert page_data(page)["told"][0].startswith("3 of 4 faults that did harm were caught")


def test_a_bench_that_repaired_nothing_has_no_empty_box_about_it(tmp_path: Path) -> None:
    of_fault_bench(tmp_path)
    file = tmp_path / "faults.json"
    found = json.loads(file.read_text())
    found["repair"] = {"prescribed": {"count": 0, "of": 0, "share": None}}
    file.write_text(json.dumps(found))
    titles = [block["title"] for block in fault_bench_page(file).blocks]
    assert not any(title.startswith("Repaired") for title in titles)


@pytest.mark.parametrize("kind", ["rescue", "ladder", "compare", "study", "faults"])
@pytest.mark.parametrize("content", ["", "[]", "{}", '{"message": 1}', "not JSON"])
def test_a_result_that_is_not_whole_is_named_and_nothing_breaks(
    kind: str, content: str, tmp_path: Path
) -> None:
    (tmp_path / f"{kind}.json").write_text(content)
    (one,) = Folder(tmp_path).look().values()
    assert one.kind == kind
    with pytest.raises(StoreError, match=f"{kind}.json"):
        page_of(one)
