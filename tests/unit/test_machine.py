"""What a run knows of the machine it runs on."""

from __future__ import annotations

import math

import pytest

from steadyrl.core.machine import WritingShare

NAME = "machine.writing_share"


def test_the_share_of_writing_is_told_after_a_minute() -> None:
    wrote = [0.0]
    share = WritingShare(lambda: wrote[0])
    wrote[0] = 30.0
    assert share.after(59.0) == {}
    told = share.after(10.0)[NAME]
    assert told == pytest.approx(30.0 / 69.0, rel=0.05)


def test_writing_before_the_first_look_does_not_count() -> None:
    assert WritingShare(lambda: 500.0).after(100.0) == {NAME: 0.0}


def test_what_is_long_past_counts_less() -> None:
    wrote = [0.0]
    share = WritingShare(lambda: wrote[0])
    wrote[0] = 50.0
    before = share.after(100.0)[NAME]
    assert before == 0.5
    after = share.after(300.0)[NAME]
    assert after == pytest.approx(50.0 / math.e / (100.0 / math.e + 300.0))
