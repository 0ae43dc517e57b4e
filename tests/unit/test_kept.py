"""What was read is kept, used as long as it is true, bounded, and never needed."""

from __future__ import annotations

import gc
import json
import os
import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl.core.coarsen import Columns, chunks_of, reduced
from steadyrl.core.places import cache_folder
from steadyrl.core.records import Step
from steadyrl.dashboard.folder import Folder
from steadyrl.dashboard.looking import Looks
from steadyrl.judging import diagnose, judge
from steadyrl.stability.rings import Ring
from steadyrl.store import kept as kept_module
from steadyrl.store import kept_steps, step_columns, tail
from steadyrl.store.kept import Kept, key_of
from steadyrl.store.kept_steps import KeptSteps
from steadyrl.store.reader import RunReader
from steadyrl.store.step_columns import StepColumns
from steadyrl.views.curves import curves_of
from steadyrl.views.run import run_view
from tests.rules.traces import CUT_SHORT, trace, trace_of
from tests.unit.test_judging import config_of_run, recorded


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "cache" / "runs.sqlite")


def lines(first: int, last: int) -> str:
    """Steps of which every third lacks a signal."""
    steps = []
    for n in range(first, last + 1):
        signals = {"critic.loss": n / 7, **({"q.mean": float("nan")} if n % 3 else {})}
        steps.append(json.dumps(Step(n, 100 * n, 0.5 * n, signals).to_json()))
    return "".join(f"{line}\n" for line in steps)


def same(one: Columns | None, other: Columns | None) -> bool:
    assert one is not None
    assert other is not None
    assert list(one.signals) == list(other.signals)
    pairs: list[tuple[Any, Any]] = [
        (one.indices, other.indices),
        (one.takens, other.takens),
        (one.seconds, other.seconds),
    ]
    for name in one.signals:
        pairs += zip(one.signals[name], other.signals[name], strict=True)
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)


def read(steps: StepColumns) -> Columns | None:
    steps.renew()
    return steps.columns()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep runs of ten Steps already."""
    monkeypatch.setattr(kept_steps, "WORTH", 10)


def test_a_part_is_given_back_as_long_as_its_stamp_is_the_same(kept: Kept) -> None:
    kept.put("run", {"brief": ("then", b"said")})
    assert kept.get("run", "brief", "then") == b"said"
    assert kept.get("run", "brief", "now") is None
    assert kept.get("other", "brief", "then") is None


def test_what_is_kept_is_there_at_the_next_start(kept: Kept) -> None:
    kept.put("run", {"brief": ("then", b"said")})
    kept.close()
    assert Kept(kept.file).get("run", "brief", "then") == b"said"


def test_what_was_not_used_for_longest_makes_room(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "runs.sqlite", most=300_000)
    for run in "abcd":
        kept.put(run, {"page": ("", bytes(80_000))})
        assert kept.file.stat().st_size < 400_000
    assert kept.find("a", "page") is None
    assert kept.find("d", "page") is not None


@pytest.mark.parametrize("content", [b"", b"this is no database" * 1000])
def test_a_damaged_file_is_begun_anew(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite").write_bytes(content)
    kept = Kept(tmp_path / "runs.sqlite")
    assert kept.put("run", {"brief": ("then", b"said")})
    assert kept.get("run", "brief", "then") == b"said"


def test_without_a_place_to_keep_it_nothing_is_kept_and_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept = Kept(tmp_path / "file" / "runs.sqlite")
    assert not kept.put("run", {"brief": ("then", b"said")})
    assert kept.get("run", "brief", "then") is None
    (tmp_path / "steps.jsonl").write_text(lines(1, 20))
    found = read(KeptSteps(tmp_path / "steps.jsonl", kept))
    assert same(found, read(StepColumns(tmp_path / "steps.jsonl")))


@pytest.mark.usefixtures("few")
def test_kept_steps_are_those_of_the_file_whatever_was_added_since(
    kept: Kept, tmp_path: Path
) -> None:
    file = tmp_path / "steps.jsonl"
    for first, last in ((1, 12), (13, 15), (16, 40)):
        with file.open("a") as stream:
            stream.write(lines(first, last))
        steps = KeptSteps(file, kept)  # as another process would
        assert same(read(steps), read(StepColumns(file)))
        assert steps.count == last
    assert same(read(KeptSteps(file, kept)), read(StepColumns(file)))


@pytest.mark.usefixtures("few")
def test_what_is_kept_is_not_read_again(kept: Kept, tmp_path: Path) -> None:
    file = tmp_path / "steps.jsonl"
    file.write_text(lines(1, 20))
    KeptSteps(file, kept).renew()
    content = bytearray(file.read_bytes())
    content[10:20] = b"damaged!!!"  # far before the last bytes: nobody looks there again
    file.write_bytes(content)
    steps = KeptSteps(file, kept)
    steps.renew()
    assert steps.damaged == 0
    assert steps.count == 20


@pytest.mark.usefixtures("few")
def test_a_record_that_went_back_is_read_anew(kept: Kept, tmp_path: Path) -> None:
    file = tmp_path / "steps.jsonl"
    file.write_text(lines(1, 20))
    followed = KeptSteps(file, kept)
    followed.renew()
    file.write_text(lines(1, 11))
    assert followed.renew()
    assert same(followed.columns(), read(StepColumns(file)))
    assert same(read(KeptSteps(file, kept)), read(StepColumns(file)))


@pytest.mark.usefixtures("few")
def test_a_cache_that_is_emptied_meanwhile_is_no_harm(kept: Kept, tmp_path: Path) -> None:
    file = tmp_path / "steps.jsonl"
    file.write_text(lines(1, 20))
    followed = KeptSteps(file, kept)
    followed.renew()
    kept.forget(key_of(file), "")
    assert same(followed.columns(), read(StepColumns(file)))


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long runs, of which a few Steps are held and a few lines read at a time."""
    monkeypatch.setattr(kept_steps, "WORTH", 10)
    monkeypatch.setattr(kept_steps, "HELD", 20)
    monkeypatch.setattr(tail, "BLOCK", 512)


@pytest.mark.usefixtures("in_pieces")
def test_a_long_run_is_whole_when_its_cache_is_emptied_meanwhile(
    kept: Kept, tmp_path: Path
) -> None:
    file = tmp_path / "steps.jsonl"
    file.write_text(lines(1, 70))
    followed = KeptSteps(file, kept)
    followed.renew()
    before = followed.columns()
    kept.forget(key_of(file), "")
    assert same(followed.columns(), read(StepColumns(file)))
    assert same(before, read(StepColumns(file)))  # what is loaded later is read from the file
    with file.open("a") as stream:
        stream.write(lines(71, 95))
    followed.renew()
    assert same(followed.columns(), read(StepColumns(file)))
    assert followed.count == 95


@pytest.mark.usefixtures("in_pieces")
def test_two_who_read_a_growing_run_do_not_disturb_each_other(tmp_path: Path) -> None:
    file, cache = tmp_path / "steps.jsonl", tmp_path / "runs.sqlite"
    file.write_text(lines(1, 50))
    one, other = (KeptSteps(file, Kept(cache)) for _ in range(2))
    for first, last, reader in ((51, 63, one), (64, 66, other), (67, 90, one), (91, 91, other)):
        with file.open("a") as stream:
            stream.write(lines(first, last))
        assert same(read(reader), read(StepColumns(file)))
    for reader in (one, other, KeptSteps(file, Kept(cache))):
        assert same(read(reader), read(StepColumns(file)))


@pytest.mark.usefixtures("in_pieces")
def test_a_run_that_the_cache_has_no_room_for_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "steps.jsonl"
    file.write_text(lines(1, 300))
    tiny = Kept(tmp_path / "runs.sqlite", most=20_000)
    for _ in range(2):
        assert same(read(KeptSteps(file, tiny)), read(StepColumns(file)))


@pytest.mark.usefixtures("in_pieces")
def test_a_cache_that_is_busy_takes_no_signal_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_module, "PATIENCE", 0.01)
    file, cache = tmp_path / "steps.jsonl", tmp_path / "runs.sqlite"
    file.write_text(lines(1, 70))
    found = read(KeptSteps(file, Kept(cache)))
    with closing(sqlite3.connect(cache, isolation_level=None)) as another:
        another.execute("BEGIN EXCLUSIVE")
        assert same(found, read(StepColumns(file)))


def test_a_cache_that_another_process_writes_is_left_alone(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_module, "PATIENCE", 0.01)
    kept.put("run", {"brief": ("then", b"said")})
    with closing(sqlite3.connect(kept.file, isolation_level=None)) as another:
        for how in ("IMMEDIATE", "EXCLUSIVE"):
            another.execute(f"BEGIN {how}")
            another.execute("INSERT INTO used VALUES (?, 1.0)", (how,))
            Kept(kept.file).close()
            another.execute("COMMIT")
    assert Kept(kept.file).get("run", "brief", "then") == b"said"


def test_a_cache_of_another_form_is_begun_anew_in_its_place(kept: Kept) -> None:
    kept.put("run", {"brief": ("then", b"said")})
    kept.close()
    with closing(sqlite3.connect(kept.file)) as another:
        another.execute("PRAGMA user_version = 1")
    with kept.file.open("rb") as opened:
        anew = Kept(kept.file)
        assert anew.get("run", "brief", "then") is None
        assert anew.put("run", {"brief": ("then", b"said")})
        assert os.fstat(opened.fileno()).st_nlink == 1  # nobody's open file is taken away


@pytest.mark.usefixtures("in_pieces")
def test_where_nothing_can_be_kept_it_is_not_tried_for_every_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    kept = Kept(tmp_path / "file" / "runs.sqlite")
    tried: list[int] = []

    def put(*_: Any) -> bool:
        tried.append(1)
        return False

    monkeypatch.setattr(Kept, "put", put)
    (tmp_path / "steps.jsonl").write_text(lines(1, 100))
    read(KeptSteps(tmp_path / "steps.jsonl", kept))
    assert len(tried) <= 5


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("count", [0, 5, 12, 15, 18])
def test_the_steps_since_some_step_are_those_after_it(
    count: int, kept: Kept, tmp_path: Path
) -> None:
    file = tmp_path / "steps.jsonl"
    file.write_text(lines(1, 15))
    steps = KeptSteps(file, kept)
    steps.renew()
    with file.open("a") as stream:
        stream.write(lines(16, 18))
    steps.renew()
    added = steps.since(count)
    assert added.indices.tolist() == list(range(count + 1, 19))
    assert added.signals["critic.loss"][1].tolist() == [n / 7 for n in range(count + 1, 19)]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_what_is_kept_in_pieces_is_seen_as_one(size: int, kept: Kept, tmp_path: Path) -> None:
    file, pieces = tmp_path / "steps.jsonl", KeptSteps(tmp_path / "steps.jsonl", kept)
    for first, last in ((1, 13), (14, 37), (38, 60), (61, 64)):
        with file.open("a") as stream:
            stream.write(lines(first, last))
        pieces.renew()
    kept_so, whole = pieces.columns(), read(StepColumns(file))
    assert kept_so is not None
    assert whole is not None
    assert len(list(chunks_of(kept_so.signals, "q.mean"))) == 4
    assert same(reduced(kept_so, size), reduced(whole, size))
    for name in whole.signals:
        ring, other = (Ring.filled(c.indices, chunks_of(c.signals, name)) for c in (kept_so, whole))
        assert (ring.count, ring.lowest, ring.highest) == (other.count, other.lowest, other.highest)
        assert repr(ring.early) == repr(other.early)  # a NaN is not equal to itself
        np.testing.assert_array_equal(ring.last(), other.last())
    run = RunReader(tmp_path, config_of_run())
    points = 4 * size
    assert repr(curves_of(run, kept_so, points)) == repr(curves_of(run, whole, points))


@pytest.mark.usefixtures("few")
def test_for_what_is_new_only_the_newest_piece_is_loaded(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, asked = tmp_path / "steps.jsonl", list[str]()
    file.write_text(lines(1, 15))
    steps = KeptSteps(file, kept)
    steps.renew()
    with file.open("a") as stream:
        stream.write(lines(16, 30))
    steps.renew()  # so many that they are kept as well
    known = kept.get

    def watched(run: Any, part: str, at: Any) -> Any:
        asked.append(part)
        return known(run, part, at)

    monkeypatch.setattr(kept, "get", watched)
    assert steps.since(20).indices.tolist() == list(range(21, 31))
    assert len({part.split("/")[1] for part in asked}) == 1  # of the two that are kept


def test_a_verdict_on_a_longer_run_takes_hardly_more_memory(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_steps, "HELD", 1000)  # as if it had been followed
    run, most = recorded(tmp_path / "run", []), []
    for first, last in ((1, 10_000), (10_001, 40_000)):
        with (run / "steps.jsonl").open("a") as stream:
            stream.write(lines(first, last))
        steps = KeptSteps(run / "steps.jsonl", kept)
        steps.renew()
        tracemalloc.start()
        run_view(RunReader.open(run).taking_up(steps), "run")
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] - most[0] < 40 * 30_000  # bytes: a number, its place and time, and little more


def test_a_run_is_judged_once_and_again_when_it_has_changed(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    run = recorded(tmp_path / "runs" / "one", trace_of(CUT_SHORT))
    (one,) = Folder(tmp_path / "runs").look().values()
    first = Looks(kept).page(one), Looks(kept).brief(one)
    with monkeypatch.context() as patched:
        patched.setattr(StepColumns, "renew", lambda _: pytest.fail("it was read again"))
        assert (Looks(kept).page(one), Looks(kept).brief(one)) == first
    last = trace()[-1]
    with (run / "steps.jsonl").open("a") as stream:
        record = Step(last.index + 99, last.taken + 99, 99.0, {"critic.loss": 1.0}).to_json()
        stream.write(json.dumps(record) + "\n")
    assert Looks(kept).page(one)[0] == first[0][0] + 1


def test_another_programs_run_is_judged_again_when_its_settings_have_changed(
    kept: Kept, tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "PPO_1"
    run.mkdir(parents=True)
    rows = "".join(f"{1000 * n},{20 + n}\n" for n in range(1, 30))
    (run / "progress.csv").write_text(f"time/total_timesteps,rollout/ep_rew_mean\n{rows}")
    (one,) = Folder(tmp_path / "runs").look().values()
    assert "Hopper-v4" not in Looks(kept).page(one)[1]
    for place in (run.parent / "params.json", run / "wandb/latest-run/files/config.yaml"):
        place.parent.mkdir(parents=True, exist_ok=True)
        name = f"{place.stem}-v4"
        place.write_text(json.dumps({"env_id": {"value": name} if "wandb" in str(place) else name}))
        assert name in Looks(kept).page(one)[1]


@pytest.mark.usefixtures("few")
def test_who_judges_a_long_run_again_does_not_read_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_steps, "LONG", 1)
    steps = trace_of(CUT_SHORT)
    run = recorded(tmp_path / "one", steps)
    first = judge(run).to_json()
    assert first == judge(RunReader.open(run)).to_json()  # as without a cache
    read: list[bytes] = []
    monkeypatch.setattr(step_columns, "read_block", spied(step_columns.read_block, read))
    assert judge(run).to_json() == first
    assert diagnose(run).to_json() == first
    assert not any(read)
    with (run / "steps.jsonl").open("a") as file:
        last = Step(len(steps) + 1, steps[-1].taken + 100, steps[-1].seconds, steps[-1].signals)
        file.write(json.dumps(last.to_json()) + "\n")
    again = judge(run)
    assert again.steps == len(steps) + 1
    assert sum(block.count(b"\n") for block in read) == 1


def test_a_short_run_is_judged_without_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    judge(recorded(tmp_path / "one", trace()))
    assert not (tmp_path / "cache").exists()


def spied(read: Callable[[bytes], Any], seen: list[bytes]) -> Callable[[bytes], Any]:
    def reading(block: bytes) -> Any:
        seen.append(block)
        return read(block)

    return reading


def test_a_cache_that_nobody_holds_any_more_has_let_go_of_its_file(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "runs.sqlite")
    connection = kept._connection
    assert connection is not None
    del kept
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_nothing_is_kept_in_the_run_itself(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    run = recorded(tmp_path / "runs" / "one", trace())
    before = sorted(run.rglob("*"))
    (one,) = Folder(tmp_path / "runs").look().values()
    Looks(kept).page(one)
    assert sorted(run.rglob("*")) == before


def test_the_cache_is_where_the_user_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "steadyrl"
