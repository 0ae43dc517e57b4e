"""How a return went: learned or not, kept or lost, and the dips that were left behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from steadyrl.core.records import Finding, Step
from steadyrl.core.traits import ENV_STEPS
from steadyrl.stability.blocks import MOST, Blocks
from steadyrl.stability.course import FEWEST, Course
from steadyrl.stability.detectors import DEFAULT
from steadyrl.stability.score import few_episodes, score_of
from steadyrl.stability.standing import learned, passed, standing
from steadyrl.stability.window import EPISODES, TRAINING_RETURN, Window
from tests.rules.traces import trace_of

NOISE = np.random.default_rng(7).standard_normal(20_000)


def course_of(values: Sequence[float]) -> Course:
    blocks = Blocks()
    for at, value in enumerate(values):
        blocks.append(10 * (at + 1), value)
    return blocks.course()


def window_of(**signals: Sequence[float]) -> Window:
    window = Window()
    columns = {name.replace("__", "."): values for name, values in signals.items()}
    for at in range(max(map(len, columns.values()))):
        here = {name: float(v[at]) for name, v in columns.items() if at < len(v)}
        window.append(Step(at + 1, 10 * (at + 1), 0.0, here))
    return window


def level(height: float, count: int, spread: float = 1.0, at: int = 0) -> list[float]:
    return [height + spread * float(value) for value in NOISE[at : at + count]]


def test_a_short_course_is_kept_as_it_is() -> None:
    values = level(0.0, MOST - 1)
    assert course_of(values).means.tolist() == pytest.approx(values)


@pytest.mark.parametrize("count", [MOST, 100, 1000, 20_000])
def test_a_long_course_keeps_its_mean_and_its_end_in_few_blocks(count: int) -> None:
    course = course_of(NOISE[:count].tolist())
    assert MOST / 2 <= len(course.means) <= MOST
    assert course.values == count
    whole = int(course.sizes.sum())
    assert float((course.means * course.sizes).sum()) == pytest.approx(NOISE[:whole].sum())


def test_what_is_not_finite_says_nothing_of_how_high_a_return_is() -> None:
    values = [1.0, float("nan"), 2.0, float("inf"), 3.0]
    assert course_of(values).means.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("count", [30, 300])
def test_chance_alone_is_not_called_learning(seed: int, count: int) -> None:
    values = np.random.default_rng(seed).standard_normal(count)
    assert course_of(values.tolist()).learned != "yes"


@pytest.mark.parametrize("count", [FEWEST, 15, 40])
@pytest.mark.parametrize("rare", [0.0, 0.1])
def test_chance_is_called_learning_once_in_a_hundred_at_most(count: int, rare: float) -> None:
    """Also where most episodes bring nothing and a few something."""
    random = np.random.default_rng(count)
    found = []
    for _ in range(500):
        values = random.random(count) < rare if rare else random.standard_normal(count)
        found.append(course_of(values.astype(float).tolist()).learned)
    assert found.count("yes") <= 5


def test_a_running_mean_that_wanders_is_not_called_learning() -> None:
    found = []
    for seed in range(20):
        values = np.random.default_rng(seed).standard_normal(400)
        means = np.convolve(values, np.ones(100) / 100, mode="valid")[::5]
        found.append(course_of(means.tolist()).learned)
    assert found.count("yes") <= 2


@pytest.mark.parametrize("count", [30, 300, 3000])
def test_a_rise_beyond_the_noise_is_learning(count: int) -> None:
    rise = np.linspace(0.0, 8.0, count) + NOISE[:count]
    assert course_of(rise.tolist()).learned == "yes"


def test_a_constant_return_is_not_learning_and_a_few_values_tell_nothing() -> None:
    assert course_of([-50.0] * 300).learned == "no"
    assert course_of([1.0, 2.0, 3.0]).learned == "cannot tell"
    assert course_of(list(map(float, range(FEWEST)))).learned == "yes"


@pytest.mark.parametrize("value", [-1067.534324, 0.1, 1e8 / 3])
def test_means_of_equal_values_have_neither_gained_nor_lost(value: float) -> None:
    course = course_of([value] * 17)
    assert np.isnan(course.kept)
    assert not course.fell
    assert not course.dips


def test_rows_that_repeat_the_mean_of_an_episode_or_two_tell_nothing() -> None:
    rows = {"rollout__return_mean": [-1000.0] * 20 + [-900.0] * 20}
    few = window_of(**rows, rollout__length_mean=[200.0] * 40)  # 400 steps
    assert few_episodes(few)
    assert learned(few) == "cannot tell"
    many = window_of(**rows, rollout__length_mean=[20.0] * 40)
    assert not few_episodes(many)
    updates = window_of(rollout__return_mean=level(0.0, 40), rollout__length_mean=[200.0] * 40)
    assert not few_episodes(updates)


def test_a_return_below_its_beginning_is_not_learning() -> None:
    assert course_of([*level(0.0, 100), *level(-50.0, 300, at=100)]).learned == "no"


def test_what_is_kept_is_measured_by_the_best_and_by_the_end() -> None:
    lost = course_of([*level(0.0, 50), *level(100.0, 100, at=50), *level(20.0, 100, at=150)])
    assert lost.kept == pytest.approx(0.2, abs=0.05)
    assert course_of(level(5.0, 200)).kept != course_of(level(5.0, 200)).kept  # nothing gained


def test_a_dip_is_told_with_its_dates_once_it_is_over() -> None:
    parts = [
        *level(0.0, 40), *level(100.0, 60, at=40), *level(10.0, 30, at=100), *level(100.0, 70)
    ]  # fmt: skip
    (dip,) = course_of(parts).dips
    assert dip.begun == pytest.approx(1040, abs=60)
    assert dip.over == pytest.approx(1340, abs=60)
    assert dip.lost == pytest.approx(0.9, abs=0.05)
    assert course_of(parts[:130]).dips == []


def test_the_first_wiggles_of_a_policy_that_knows_nothing_are_no_dips() -> None:
    wiggles = [*level(0.0, 10), *level(8.0, 10, at=10), *level(0.0, 10, at=20)]
    assert course_of([*wiggles, *level(100.0, 100, at=30)]).dips == []


def test_evaluations_are_what_a_run_is_judged_by_if_there_are_enough_of_them() -> None:
    rollouts = {"rollout__return_mean": level(0.0, 40), "rollout__episode_return": level(0.0, 40)}
    assert score_of(window_of(**rollouts)) == EPISODES
    assert score_of(window_of(**rollouts, eval__return_mean=level(0.0, 5))) == EPISODES
    assert score_of(window_of(**rollouts, eval__return_mean=level(0.0, 12))) == "eval.return_mean"
    assert score_of(window_of(rollout__return_mean=[1.0])) == TRAINING_RETURN
    assert score_of(window_of(policy__kl=[1.0])) is None


def test_a_fast_learner_with_flat_evaluations_has_learned() -> None:
    rising = np.linspace(0.0, 100.0, 100).tolist()
    assert learned(window_of(eval__return_mean=level(90.0, 20), rollout__return_mean=rising)) == (
        "yes"
    )
    assert learned(window_of(eval__return_mean=level(90.0, 20))) == "no"


def test_a_standing_is_told_in_a_sentence() -> None:
    rising = window_of(eval__return_mean=np.linspace(0.0, 100.0, 60).tolist())
    how = standing(rising)
    assert how.well
    assert "it learned" in how.sentence
    assert "60 values" in how.sentence
    assert standing(window_of(policy__kl=[1.0])).sentence.startswith("no return")
    assert how.told_dips(ENV_STEPS) == []


def test_a_finding_has_passed_only_if_the_run_stands_well_and_the_rule_is_silent() -> None:
    rules = [rule for rule in DEFAULT if rule.id in ("D005", "D007")]
    jump = [1100.0] * 20 + [5.0]
    for best, gone in ((15, {"D007"}), (0, set())):
        window, found = Window(6000), list[Finding]()
        returns = [-100.0 + 5.0 * min(i, best) for i in range(60)]
        steps = trace_of({"td__target_std": jump, "q__mean": 5.0, "eval__return_mean": returns})
        for step in steps:
            window.append(step)
            sightings = [(r, r.detect(window, r.limits)) for r in rules]
            found += [rule.finding(step, seen) for rule, seen in sightings if seen]
        window.ended = True
        assert {finding.rule for finding in found} == {"D007"}
        assert passed(rules, found, window) == gone


@pytest.mark.parametrize("count", [0, 1, 5, MOST - 1, MOST, MOST + 1, 127, 128, 129, 1000, 20_000])
def test_blocks_that_are_filled_at_once_are_those_of_values_one_by_one(count: int) -> None:
    values = NOISE[:count].copy()
    values[3::17] = np.nan
    takens = 10.0 * np.arange(1, count + 1, dtype=np.float64)
    one_by_one = Blocks()
    for taken, value in zip(takens.tolist(), values.tolist(), strict=True):
        one_by_one.append(taken, value)
    parts = zip(np.array_split(takens, 3), np.array_split(values, 3), strict=True)
    at_once, expected = Blocks.filled(parts, int(np.isfinite(values).sum())), one_by_one
    assert (at_once.count, at_once.size) == (expected.count, expected.size)
    for values_of in ("ends", "means", "sizes", "squares"):
        found, known = getattr(at_once.course(), values_of), getattr(expected.course(), values_of)
        np.testing.assert_allclose(found, known, rtol=1e-9, atol=1e-12)
    at_once.append(1e6, 1.5)  # and both go on alike
    expected.append(1e6, 1.5)
    np.testing.assert_allclose(at_once.course().means, expected.course().means, atol=1e-12)


def test_mean_rewards_of_a_language_model_are_no_running_means() -> None:
    times = np.arange(72)
    smoothly = (0.3 + 0.45 * (1.0 - np.exp(-times / 8)) + 0.06 * np.sin(times / 1.5)).tolist()
    assert learned(window_of(rollout__return_mean=smoothly)) != "yes"  # may be a mean of the same
    assert learned(window_of(rollout__return_mean=smoothly, language__tokens=[1.0] * 72)) == "yes"


# Mean returns of the few episodes that ended in each Step of a healthy PPO run on CartPole.
CARTPOLE = (
    24, 28, 34, 51, 47, 65, 79, 146, 178, 161, 246, 113, 265, 260, 159, 235, 405, 479, 289, 126,
    342, 307, 180, 232, 197, 208, 137, 161,
)  # fmt: skip


def filled(returns: Any) -> Course:
    """The course of single episodes' returns."""
    takens = np.arange(1.0, len(returns) + 1.0)
    return Blocks.filled([(takens, returns)], len(returns), apart=True).course()


def test_what_chance_makes_of_the_highest_of_many_is_no_fall() -> None:
    noisy = filled(np.array(CARTPOLE, dtype=np.float64))
    assert noisy.kept < 0.4  # by its share alone it would be lost
    assert not noisy.fell
    lost = np.array([*CARTPOLE[:20], *[20.0] * 8])
    assert filled(lost).fell


def test_a_score_that_was_gained_and_lost_is_told_as_lost() -> None:
    rise = np.linspace(0.0, 100.0, 40).tolist()
    how = standing(window_of(eval__return_mean=[*rise, *level(0.0, 40)]))
    assert how.learned == "no"
    assert how.sentence.endswith("what it had learned is lost")


def test_a_gain_far_below_the_spread_of_episodes_is_hardly_one() -> None:
    returns = np.concatenate([NOISE[:10_000], NOISE[:10_000] + 0.2])
    course = filled(returns)
    assert course.final - course.start > 3.0 * course.noise  # certain, and next to nothing
    assert course.learned == "cannot tell"
    assert filled(returns + np.repeat([0.0, 0.6], 10_000)).learned == "yes"
