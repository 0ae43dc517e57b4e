"""What is shown of a run while it is trained: on a terminal, and where there is none."""

from __future__ import annotations

import io
import math
import os
import re
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.cli import progress
from steadyrl.cli.progress import Frames, TrainingProgress, can_redraw, is_due
from steadyrl.core.records import Finding, Intervention, Step
from steadyrl.report.blocks import BROKEN, sparkline
from steadyrl.report.live import ECHO, clock, draw
from steadyrl.run import Observers, resume, train
from steadyrl.store.reader import RunReader
from steadyrl.views.under_way import COLUMNS, Course, UnderWay

Make = Callable[..., DDPGConfig]


class Terminal(io.StringIO):
    """Takes what a terminal would show."""

    gone = False

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.gone:
            raise OSError(5, "Input/output error")
        return super().write(text)


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal on which nothing is drawn unless it is asked for."""
    for name in ("CI", "TERM", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(progress, "FRAME_SECONDS", 1e6)
    return Terminal()


def _console(terminal: Terminal, width: int = 80) -> Console:
    return Console(file=terminal, force_terminal=True, width=width, height=24)


def _step(index: int, **signals: float) -> Step:
    named = {name.replace("__", "."): value for name, value in signals.items()}
    return Step(index, 20 * index, 0.1 * index, named)


def _finding(severity: Any = "severe", concerns: Any = "training") -> Finding:
    return Finding(
        rule="D005", name="critic-diverged", severity=severity, step=3, taken=60,
        message="the critic's values have left every bound that rewards allow", evidence={},
        concerns=concerns,
    )  # fmt: skip


def _view(small_config: Make, **about: Any) -> UnderWay:
    return UnderWay("mine", small_config(total_env_steps=2000), **about)


# What is known


def test_a_signal_is_kept_from_the_beginning_on_in_few_columns_and_no_spike_is_lost() -> None:
    course = Course("policy.kl")
    for taken in range(1, 100_001):
        course.append(taken, 7.0 if taken == 31_415 else 0.001 * (taken % 3))
    assert COLUMNS <= len(course.columns) < 2 * COLUMNS
    assert course.columns[0].begin == 1
    assert max(column.high for column in course.columns) == 7.0
    assert sum(column.high == 7.0 for column in course.columns) == 1
    assert min(column.low for column in course.columns) == 0.0


def test_what_is_no_number_is_marked_and_hides_nothing_beside_it() -> None:
    course = Course("critic.loss")
    for taken in range(2 * COLUMNS):  # the last one joins neighbours
        course.append(taken, math.nan if taken == 8 else float(taken))
    assert [column.broken for column in course.columns[3:6]] == [False, True, False]
    assert (course.columns[4].low, course.columns[4].high) == (9.0, 9.0)


def test_a_run_that_goes_back_forgets_what_came_after(small_config: Make) -> None:
    view = _view(small_config)
    for index in range(1, 11):
        view.observe(_step(index, critic__loss=float(index)))
    view.note_finding(_finding())
    view.note_return(
        Intervention(
            found="x", found_at=200, step=4, taken=80, remedy="R301", changes={}, because="y"
        )
    )
    assert (view.taken, sum(view.found.values())) == (80, 0)
    view.observe(_step(5, critic__loss=50.0))
    ((_, course),) = view.shown
    assert [column.high for column in course.columns] == [1.0, 2.0, 3.0, 4.0, 50.0]


def test_a_step_that_lies_behind_is_a_return_too(small_config: Make) -> None:
    view = _view(small_config, past=[_step(index, q__mean=1.0) for index in range(1, 9)])
    view.observe(_step(6, q__mean=2.0))
    assert view.taken == 120
    assert [column.high for column in view.shown[0][1].columns] == [1.0] * 5 + [2.0]


def test_the_pace_of_slow_steps_counts_evaluations_as_often_as_they_come(
    small_config: Make,
) -> None:
    time = Time()
    every_fifth = partial(small_config, evaluation__every=100)
    view = _view(every_fifth, clock=time)
    rates = []
    for index in range(1, 31):
        time.now += 100.0 if index % 5 == 0 else 25.0
        view.observe(_step(index))
        rates.append(view.rate)
    assert rates[9:] == pytest.approx([100 / 200.0] * 21)  # else it would jump to a quarter of it


def test_the_pace_is_that_of_this_process_and_of_late(small_config: Make) -> None:
    time = Time()
    without = partial(small_config, evaluation__episodes=0)
    view = _view(without, past=[_step(index) for index in range(1, 51)], clock=time)
    assert math.isnan(view.rate)
    assert math.isnan(view.left)
    for index, now in ((51, 10.0), (52, 20.0)):
        time.now = now
        view.observe(_step(index))
    assert view.rate == pytest.approx(2.0)
    assert view.left == pytest.approx((2000 - 1040) / 2.0)
    time.now = 25.0  # while the next Step is being made, time goes on
    assert view.left == pytest.approx(480.0 - 5.0)
    for index, now in ((53, 120.0), (54, 125.0), (55, 130.0)):
        time.now = now
        view.observe(_step(index))
    assert view.rate == pytest.approx(4.0)  # what is longer ago than a minute does not count


def test_the_machine_s_troubles_are_no_part_of_how_a_run_stands(small_config: Make) -> None:
    view = _view(small_config)
    view.note_finding(_finding("warning", concerns="machine"))
    assert sum(view.found.values()) == 0


# How it is drawn


def test_a_sparkline_covers_the_whole_run_and_shows_its_extremes() -> None:
    places = [place / 1000 for place in range(1000)]
    values = [9.0 if place == 500 else 1.0 for place in range(1000)]
    row = sparkline(places, values, values, [False] * 1000, 10)
    assert row == "▁▁▁▁▁█▁▁▁▁"


def test_a_sparkline_marks_what_is_no_number_and_holds_what_was_known_last() -> None:
    nan = math.nan
    row = sparkline([0.2, 0.5, 0.9], [1.0, nan, 3.0], [1.0, nan, 3.0], [False, True, False], 10)
    assert row == f"  ▁▁▁{BROKEN * 4}█"
    assert sparkline([0.0], [nan], [nan], [True], 3) == BROKEN * 3
    assert sparkline([0.0, 0.5], [2.0, 2.0], [2.0, 2.0], [False, False], 4) == "▅▅▅▅"


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_no_line_is_longer_than_the_terminal_is_wide(small_config: Make, width: int) -> None:
    view = _view(small_config)
    view.note_beginning(Path("runs/a-rather-long-name-of-a-run-that-somebody-gave-it-seed-12"))
    for index in range(1, 90):
        view.observe(_step(index, eval__return_mean=-1.5e7, critic__loss=1e9, q__mean=-3.2e5))
    view.note_finding(_finding())
    view.news = "PL:-0.01 VL:1.2e+09 R:-1.4e+07 BUF:128 EFF:3.1x " * 3
    lines = draw(view, width)
    assert max(line.cell_len for line in lines) < width
    assert lines[-1].cell_len <= width - ECHO  # so that ^C does not begin another row
    assert any("▅" in line.plain for line in lines)


def test_it_says_where_the_run_stands_and_how_to_stop_and_go_on(small_config: Make) -> None:
    time = Time()
    view = _view(small_config, clock=time)
    assert "nothing found" in draw(view, 80)[0].plain
    view.note_beginning(Path("runs/mine"))
    time.now = 10.0
    view.observe(_step(25, rollout__return_mean=-7.25))
    view.note_checkpoint()
    view.note_finding(_finding("warning"))
    time.now = 3610.0
    text = "\n".join(line.plain for line in draw(view, 80))
    for part in (
        "mine  ddpg on Pendulum-v1  1 warning",
        "500/2,000 env steps 25%",
        "50 per second   for 1:00:10   left 0:00:00",
        "return, training",
        "-7.25",
        "saved at env step 500, 1:00:00 ago",
        "Ctrl-C stops and saves; then: steadyrl train --resume runs/mine",
    ):
        assert part in text
    view.stopping = "stopping at the next Step (stopped by SIGINT)"
    assert "stopping at the next Step" in draw(view, 80)[-1].plain
    assert draw(view, 60)[-1].plain == "stopping; Ctrl-C once more: at once"
    view.stopping = ""
    assert draw(view, 60)[-1].plain == "Ctrl-C stops and saves; train --resume goes on"
    assert clock(math.nan) == "?"


# On a terminal, and elsewhere


def test_only_a_terminal_that_can_go_back_up_is_drawn_on(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert can_redraw(_console(terminal), {})
    assert not can_redraw(_console(terminal), {"CI": "true"})
    assert not can_redraw(Console(file=io.StringIO()), {})
    assert not can_redraw(Console(file=io.StringIO(), force_terminal=True), {})  # FORCE_COLOR
    monkeypatch.setenv("TERM", "dumb")
    assert not can_redraw(_console(terminal), {})


def test_elsewhere_there_are_plain_lines(small_config: Make) -> None:
    file = io.StringIO()
    config = small_config(total_env_steps=2000)
    with TrainingProgress("mine", config, console=Console(file=file)) as shown:
        watch = shown.observers()
        watch.step(_step(1, critic__loss=1.0))
        watch.step(_step(2, eval__return_mean=-3.5, eval__length_mean=200.0))
        watch.finding(_finding())
    lines = file.getvalue().splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"mine  40/2,000  left \d+:\d\d:\d\d  eval -3.5  length 200", lines[0])
    assert "steadyrl explain D005" in lines[1]  # in one piece, however long
    assert "\x1b" not in file.getvalue()


def test_the_terminal_is_left_as_it_was_found_also_after_an_error(
    small_config: Make, terminal: Terminal
) -> None:
    shown = TrainingProgress("mine", small_config(), console=_console(terminal))

    def train_until_it_is_interrupted() -> None:
        with shown:
            shown.observers().begun(Path("runs/mine"))
            shown.observers().step(_step(1, critic__loss=1.0))
            assert shown._frames is not None
            shown._frames.refresh()
            assert "critic loss" in terminal.getvalue()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_until_it_is_interrupted()
    assert shown._frames is not None
    written = terminal.getvalue()
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")  # the cursor is shown again
    assert not shown._frames.is_alive()
    height = len(draw(shown._view, 80))
    assert written[written.rindex("\x1b[?25h") :].count("\x1b[2K") == height  # nothing stays


def test_a_terminal_that_is_gone_does_not_disturb_training(
    small_config: Make, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TrainingProgress("mine", small_config(), console=_console(terminal)) as shown:
        shown.observers().begun(Path("runs/mine"))
        assert shown._frames is not None
        terminal.gone = True
        monkeypatch.setattr(progress, "FRAME_SECONDS", 0.0)
        shown._frames.run()  # one frame, and it is over
        shown.observers().step(_step(1, critic__loss=1.0))


@pytest.mark.parametrize(("variable", "colored"), [("NO_COLOR", False), ("OTHER", True)])
def test_colours_are_left_out_where_they_are_not_wanted(
    small_config: Make,
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    colored: bool,
) -> None:
    monkeypatch.setenv(variable, "1")
    console = Console(file=terminal, force_terminal=True, color_system="standard", width=80)
    frames = Frames(_view(small_config), console)
    frames.refresh()
    frames.end()
    assert bool(re.search(r"\x1b\[(?:\d+;)*3\d", terminal.getvalue())) == colored


def test_a_terminal_that_becomes_narrower_keeps_no_rows_of_the_old_frame(
    small_config: Make, terminal: Terminal
) -> None:
    console = _console(terminal, 120)
    view = _view(small_config)
    for index in range(1, 300):
        view.observe(_step(index, critic__loss=float(index)))
    frames = Frames(view, console)
    frames.refresh()
    rows = sum(-(-line.cell_len // 60) or 1 for line in draw(view, 120))
    before = len(terminal.getvalue())
    console.width = 60
    frames.refresh()
    assert terminal.getvalue()[before:].count("\x1b[2K") == rows > len(draw(view, 120))
    frames.end()


def test_a_resumed_run_is_shown_as_a_whole(
    small_config: Make, terminal: Terminal, tmp_path: Path
) -> None:
    _, path = train(small_config(), tmp_path / "run")
    past = RunReader.open(path)
    config = past.config.replaced({"total_env_steps": 400})
    with TrainingProgress("run", config, console=_console(terminal), past=past.steps) as shown:
        resume(path, overrides={"total_env_steps": 400}, observers=shown.observers())
        courses = dict(shown._view.shown)
    assert shown._view.taken == 400
    loss = courses["critic loss"].columns
    assert (loss[0].begin, loss[-1].begin) == (60, 400)
    assert len(courses["return, evaluated"].columns) == 4


def test_plain_lines_of_a_resumed_run_count_only_what_was_done_since(small_config: Make) -> None:
    plain = Console(file=io.StringIO(), force_terminal=False)
    past = [_step(index) for index in range(1, 9)]
    shown = TrainingProgress("run", small_config(), console=plain, past=lambda: past)
    assert shown._view._pace[0][1] == past[-1].taken


def test_a_frame_is_due_when_it_costs_little_beside_the_work_or_after_a_long_while() -> None:
    assert is_due(0.003, worked=1.0, waited=0.5)
    long = progress.LONGEST_SECONDS  # a process that hardly gets a core
    assert not is_due(0.003, worked=0.8, waited=long - 1)
    assert is_due(0.003, worked=0.8, waited=long)


# What a run tells its observers


def test_a_run_tells_where_it_lies_when_it_is_saved_and_that_it_will_stop(
    small_config: Make, tmp_path: Path
) -> None:
    told: list[tuple[str, Any]] = []

    def interrupt(step: Step) -> None:
        if step.index == 8:
            os.kill(os.getpid(), signal.SIGINT)

    config = small_config(checkpoints__keep_best=False)
    train(
        config,
        tmp_path / "run",
        observers=Observers(
            step=interrupt,
            begun=lambda path: told.append(("begun", path)),
            saved=lambda step: told.append(("saved", step.taken)),
            stopping=lambda because: told.append(("stopping", because)),
        ),
    )
    assert told == [
        ("begun", tmp_path / "run"),
        ("saved", 60),
        ("saved", 120),
        ("stopping", "stopped by SIGINT"),
    ]
