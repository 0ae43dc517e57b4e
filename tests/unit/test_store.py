from __future__ import annotations

import errno
import json
import math
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl.core.errors import CheckpointError, DiskError
from steadyrl.core.traits import RETURN, Score
from steadyrl.store import files
from steadyrl.store.checkpoints import Checkpoints, has_checkpoint
from steadyrl.store.files import JsonLines, write_atomically
from steadyrl.store.paths import relative_to, resolve

STATE = {
    "weights": np.arange(6, dtype=np.float32).reshape(2, 3),
    "flags": np.array([True, False]),
    "empty": np.zeros((0, 3)),
    "nested": {"list": [np.array(3.5), None, "text"], "big": 2**100, "small": 0.1},
}


def _checkpoints(folder: Path, keep: int = 2) -> Checkpoints:
    return Checkpoints(folder / "checkpoints", keep=keep)


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    checkpoints = _checkpoints(tmp_path)
    checkpoints.save(STATE, step=7, good=True)
    step, state, problems = checkpoints.load_latest()
    assert (step, problems) == (7, [])
    np.testing.assert_array_equal(state["weights"], STATE["weights"])
    assert state["weights"].dtype == np.float32
    assert state["flags"].tolist() == [True, False]
    assert state["empty"].shape == (0, 3)
    assert state["nested"]["list"][0] == 3.5
    assert state["nested"]["list"][1:] == [None, "text"]
    assert state["nested"]["big"] == 2**100
    assert state["nested"]["small"] == 0.1


def test_the_last_ones_stay_and_the_last_good_one_does_too(tmp_path: Path) -> None:
    checkpoints = _checkpoints(tmp_path)
    for step, good in ((1, True), (2, True), (3, False), (4, False), (5, False)):
        checkpoints.save({"x": step}, step=step, good=good)
    assert checkpoints.steps() == [2, 4, 5]
    assert checkpoints.last_good() == 2


def _scored(
    checkpoints: Checkpoints, *returns: float | None, name: str = "eval.return_mean"
) -> None:
    for step, value in enumerate(returns, start=1):
        measured = {} if value is None else {name: value}
        checkpoints.save({"x": step}, step=step, good=True, measured=measured)


def test_the_best_evaluated_checkpoint_stays_however_long_ago_it_was(tmp_path: Path) -> None:
    checkpoints = _checkpoints(tmp_path)
    _scored(checkpoints, 1.0, 344.0, None, math.nan, 114.0, 90.0, None)
    assert checkpoints.steps() == [2, 6, 7]
    assert checkpoints.best() == (2, 344.0)


def test_of_equally_good_checkpoints_the_newest_stays(tmp_path: Path) -> None:
    checkpoints = _checkpoints(tmp_path)
    _scored(checkpoints, 500.0, 500.0, None, None, None)
    assert checkpoints.steps() == [2, 4, 5]


def test_the_best_is_not_kept_if_nobody_wants_it(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=2, keep_best=False)
    _scored(checkpoints, 5.0, 3.0, 3.0, 3.0)
    assert checkpoints.steps() == [3, 4]
    assert not checkpoints.would_be_best({"eval.return_mean": 9.0})


def test_where_lower_is_better_the_lowest_is_best(tmp_path: Path) -> None:
    error = Score("error", "bc.full_mse", higher_is_better=False)
    checkpoints = Checkpoints(tmp_path, keep=1, scores=(RETURN, error))
    _scored(checkpoints, 3.0, 0.5, 2.0, 1.0, name="bc.full_mse")
    assert checkpoints.best() == (2, 0.5)
    checkpoints.save({}, step=5, good=True, measured={"eval.return_mean": -9.0})
    assert checkpoints.best() == (5, -9.0), "what was played counts before what was fitted"


def test_only_an_evaluation_above_all_kept_ones_would_be_best(tmp_path: Path) -> None:
    checkpoints = _checkpoints(tmp_path)
    assert checkpoints.would_be_best({"eval.return_mean": -5.0})
    _scored(checkpoints, 2.0, 1.0)
    for value, better in ((2.0, False), (1.5, False), (2.1, True), (math.nan, False)):
        assert checkpoints.would_be_best({"eval.return_mean": value}) is better
    assert not checkpoints.would_be_best({"rollout.return_mean": 9.0})


@pytest.mark.parametrize("file", ["arrays.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["flip", "cut", "gone"])
def test_damage_is_noticed_and_the_older_checkpoint_serves(
    tmp_path: Path, file: str, damage: str
) -> None:
    checkpoints = _checkpoints(tmp_path)
    checkpoints.save(STATE, step=1, good=True)
    checkpoints.save(STATE, step=2, good=True)
    path = checkpoints.path(2) / file
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        path.unlink()
    step, _, problems = checkpoints.load_latest()
    assert step == 1
    assert "step-00000002" in problems[0]
    checkpoints.drop_after(0)
    with pytest.raises(CheckpointError, match="nothing to resume"):
        checkpoints.load_latest()


def test_a_half_written_checkpoint_is_never_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = _checkpoints(tmp_path)
    checkpoints.save(STATE, step=1, good=True)

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.save(STATE, step=2, good=True)
    assert checkpoints.steps() == [1]


def test_a_checkpoint_that_waits_for_its_successor_is_still_there_and_left_alone(
    tmp_path: Path,
) -> None:
    checkpoints = _checkpoints(tmp_path)
    checkpoints.save({"x": 1}, step=1, good=True)
    waiting = checkpoints.path(1).rename(checkpoints.folder / ".replaced-step-00000001")
    assert has_checkpoint(tmp_path)
    assert checkpoints.last_good() == 1
    assert checkpoints.load_latest() == (1, {"x": 1}, [])
    assert waiting.exists()  # whoever reads must not come between the renames of a writer
    checkpoints.save({"x": 2}, step=2, good=True)
    assert checkpoints.steps() == [1, 2]
    assert not waiting.exists()


def test_dropping_a_checkpoint_does_not_bring_back_the_one_it_replaced(tmp_path: Path) -> None:
    checkpoints = _checkpoints(tmp_path)
    for step in (0, 1):
        checkpoints.save({"x": step}, step=step, good=True)
    # A kill before the one that was replaced is removed:
    shutil.copytree(checkpoints.path(1), checkpoints.folder / ".replaced-step-00000001")
    assert checkpoints.steps() == [0, 1]
    checkpoints.drop_after(0)
    assert checkpoints.steps() == [0]


def test_a_checkpoint_is_dropped_at_once_and_the_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = _checkpoints(tmp_path, keep=9)
    for step in range(4):
        checkpoints.save(STATE, step=step, good=True)
    left: list[list[int]] = []
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: left.append(checkpoints.steps()))
    checkpoints.drop_after(1)
    assert left == [[0, 1, 2], [0, 1]]
    assert checkpoints.load_latest()[2] == []  # none is there in part


def test_state_that_is_not_plain_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="/thing"):
        _checkpoints(tmp_path).save({"thing": object()}, step=1, good=True)


def _lines(path: Path, *numbers: int) -> JsonLines:
    lines = JsonLines(path)
    for number in numbers:
        lines.append({"a": number})
    lines.close()
    return lines


def _numbers(lines: JsonLines) -> list[int]:
    return [record["a"] for record in lines]


def _damage(path: Path, line: int, by: bytes = b"\x00garbage") -> None:
    content = path.read_bytes().splitlines(keepends=True)
    content[line] = by + b"\n"
    path.write_bytes(b"".join(content))


@pytest.mark.parametrize("torn", [b'{"a": 3', b"\x00\x00", b'{"a": "\xff'])
def test_a_torn_last_line_is_passed_over_and_overwritten(tmp_path: Path, torn: bytes) -> None:
    lines = _lines(tmp_path / "x.jsonl", 1, 2)
    with lines.path.open("ab") as file:
        file.write(torn)
    assert _numbers(lines) == [1, 2]
    assert lines.damaged == 0  # it may still be being written
    lines.append({"a": 4})
    lines.close()
    assert [json.loads(line)["a"] for line in lines.path.read_text().splitlines()] == [1, 2, 4]


def test_a_whole_last_line_that_lacks_only_its_end_is_kept(tmp_path: Path) -> None:
    lines = _lines(tmp_path / "x.jsonl", 1, 2, 3)
    lines.path.write_bytes(lines.path.read_bytes().removesuffix(b"\n"))
    assert _numbers(lines) == [1, 2, 3]
    lines.append({"a": 4})
    lines.close()
    assert [json.loads(line)["a"] for line in lines.path.read_text().splitlines()] == [1, 2, 3, 4]


@pytest.mark.parametrize("damage", [b"\x00\x00", b'{"a": ', b"[1, 2]", b"7", b""])
def test_a_damaged_line_is_counted_and_hides_nothing(tmp_path: Path, damage: bytes) -> None:
    lines = _lines(tmp_path / "x.jsonl", *range(10))
    _damage(lines.path, 3, damage)
    assert _numbers(lines) == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert lines.damaged == 1


def test_appending_cuts_nothing_away_that_can_be_read(tmp_path: Path) -> None:
    lines = _lines(tmp_path / "x.jsonl", *range(10))
    for line in (3, 9):
        _damage(lines.path, line)
    lines.append({"a": 10})
    lines.close()
    assert _numbers(lines) == [0, 1, 2, 4, 5, 6, 7, 8, 10]
    assert lines.damaged == 2


def test_cutting_keeps_what_came_before(tmp_path: Path) -> None:
    lines = _lines(tmp_path / "x.jsonl", *range(5))
    assert lines.rest(lambda record: record["a"] <= 2) == b'{"a":3}\n{"a":4}\n'
    lines.keep(lambda record: record["a"] <= 2)
    assert _numbers(lines) == [0, 1, 2]
    lines.append({"a": 9})
    lines.close()
    assert _numbers(lines) == [0, 1, 2, 9]


def test_cutting_sees_past_damage_to_the_last_line_that_is_wanted(tmp_path: Path) -> None:
    lines = _lines(tmp_path / "x.jsonl", *range(10))
    for line in (2, 7):
        _damage(lines.path, line)
    lines.keep(lambda record: record["a"] <= 6)
    assert _numbers(lines) == [0, 1, 3, 4, 5, 6]
    assert lines.damaged == 1  # the one after the cut went with what comes again


def test_damage_does_not_shift_where_the_first_lines_end(tmp_path: Path) -> None:
    lines = _lines(tmp_path / "x.jsonl", *range(10))
    _damage(lines.path, 2)
    assert lines.count() == 10
    lines.keep_first(5)
    assert _numbers(lines) == [0, 1, 3, 4]


def test_a_path_in_a_kept_result_holds_wherever_the_folder_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = relative_to(Path("made"), tmp_path / "made" / "b" / "seed0")
    assert kept == "b/seed0"
    assert resolve(Path("moved"), kept) == Path("moved/b/seed0")
    assert relative_to(Path("made"), Path("beside")) == "../beside"


def test_a_full_disk_leaves_the_old_file_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "summary.json"
    write_atomically(path, b"old")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write_and_sync", full)
    with pytest.raises(DiskError, match=r"No space left on device.*intact"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
