"""The buffer of old experience: what it promises whatever comes, in whatever order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyrl.experience.aged import SMALLEST_WORTH, AgedExperience, Drawn, Limits
from steadyrl.experience.rollout import Rollout
from steadyrl.experience.segments import Segments, segment_advantages, segments_of
from steadyrl.maths.advantages import advantages
from steadyrl.maths.off_policy import effective_share, sampling_weights

WIDE = Limits(capacity=1_000, staleness=1_000, reuse=1_000)


def filled(count: int, *, capacity: int = 100, alpha: float = 0.6) -> AgedExperience:
    """Items that say their own number, worth that number plus one, made in update 0."""
    experience = AgedExperience(capacity, alpha=alpha, beta=0.4)
    numbers = np.arange(count)
    experience.add({"number": numbers}, born=0, worths=numbers + 1.0)
    return experience


@settings(deadline=None, max_examples=60)
@given(
    capacity=st.integers(1, 30),
    staleness=st.integers(1, 6),
    reuse=st.integers(1, 4),
    alpha=st.sampled_from((0.0, 0.6, 1.0)),
    batches=st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=25),
)
def test_nothing_stale_worn_or_twice_is_ever_drawn_and_every_use_is_counted(
    capacity: int, staleness: int, reuse: int, alpha: float, batches: list[tuple[int, int]]
) -> None:
    experience = AgedExperience(capacity, alpha=alpha, beta=0.4)
    generator, limits = np.random.default_rng(0), Limits(capacity, staleness, reuse)
    births: dict[int, int] = {}
    uses: dict[int, int] = {}
    for now, (added, wanted) in enumerate(batches):
        drawn = experience.draw(wanted, now=now, limits=limits, generator=generator)
        numbers = drawn.items["number"].tolist() if drawn.items else []
        allowed = {
            number
            for number, born in births.items()
            if now - born <= staleness
            and number >= len(births) - capacity
            and uses.get(number, 0) < reuse
        }
        assert len(set(numbers)) == len(numbers)
        assert set(numbers) <= allowed
        assert len(numbers) == min(wanted, len(allowed))
        for place, number in enumerate(numbers):
            uses[number] = uses.get(number, 0) + 1
            assert drawn.uses[place] == uses[number]
            assert drawn.ages[place] == now - births[number]
        fresh = np.arange(len(births), len(births) + added)
        births |= {int(number): now for number in fresh}
        experience.add({"number": fresh}, born=now, worths=1.0 + fresh % 5)
    assert experience.drawn == sum(uses.values())
    assert experience.added == len(births)
    gone = experience.dropped_stale + experience.dropped_worn + experience.dropped_for_room
    crowded_out = sum(max(0, added - capacity) for added, _ in batches)
    assert len(experience) + gone + crowded_out == experience.added


def test_weights_are_the_closed_form_of_the_shares_that_were_drawn_with() -> None:
    experience = filled(20)
    drawn = experience.draw(7, now=1, limits=WIDE, generator=np.random.default_rng(1))
    worths = drawn.items["number"] + 1.0
    priorities = (np.arange(1, 21) + SMALLEST_WORTH) ** 0.6
    shares = (worths + SMALLEST_WORTH) ** 0.6 / priorities.sum()
    expected = (20 * shares) ** -0.4
    np.testing.assert_allclose(drawn.weights, expected / expected.max(), rtol=1e-12)


def test_weights_of_even_draws_are_one() -> None:
    drawn = filled(20, alpha=0.0).draw(9, now=1, limits=WIDE, generator=np.random.default_rng(1))
    assert (drawn.weights == 1.0).all()


def test_frequencies_follow_priorities() -> None:
    experience, generator = filled(50, alpha=1.0), np.random.default_rng(2)
    counts = np.zeros(50)
    for _ in range(4_000):
        drawn = experience.draw(4, now=0, limits=Limits(1_000, 1_000, 1 << 40), generator=generator)
        counts[drawn.items["number"]] += 1
    expected = np.arange(1, 51) / np.arange(1, 51).sum() * counts.sum()
    # Draws are stratified, so they vary less than independent ones; the bound is four deviations
    # of those, and 3 % for the few that would have come twice in one draw.
    assert (np.abs(counts - expected) < 4.0 * np.sqrt(expected) + 0.03 * expected).all()


@pytest.mark.parametrize("sizes", [(30,), (10, 10, 10), (1,) * 30])
def test_draws_do_not_depend_on_how_items_were_batched(sizes: tuple[int, ...]) -> None:
    experience, start = AgedExperience(25, alpha=0.6, beta=0.4), 0
    for size in sizes:
        numbers = np.arange(start, start + size)
        experience.add({"number": numbers}, born=0, worths=numbers % 7 + 1.0)
        start += size
    generator = np.random.default_rng(3)
    drawn = [
        experience.draw(6, now=0, limits=WIDE, generator=generator).items["number"].tolist()
        for _ in range(5)
    ]
    whole = AgedExperience(25, alpha=0.6, beta=0.4)
    whole.add({"number": np.arange(30)}, born=0, worths=np.arange(30) % 7 + 1.0)
    generator = np.random.default_rng(3)
    assert drawn == [
        whole.draw(6, now=0, limits=WIDE, generator=generator).items["number"].tolist()
        for _ in range(5)
    ]


def test_a_smaller_capacity_keeps_the_newest_and_a_larger_one_fills_up_again() -> None:
    experience = filled(40, capacity=40)
    experience.retire(0, Limits(capacity=10, staleness=9, reuse=9))
    assert len(experience) == 10
    assert experience.dropped_for_room == 30
    drawn = experience.draw(10, now=0, limits=Limits(10, 9, 9), generator=np.random.default_rng(0))
    assert set(drawn.items["number"]) == set(range(30, 40))
    experience.add({"number": np.arange(40, 60)}, born=1, worths=np.ones(20))
    experience.retire(1, Limits(capacity=40, staleness=9, reuse=9))
    assert len(experience) == 30


def test_a_lower_reuse_limit_lets_the_worn_go_at_once() -> None:
    experience, generator = filled(10), np.random.default_rng(0)
    limits = Limits(100, 100, 5)
    for _ in range(3):
        experience.draw(10, now=0, limits=limits, generator=generator)
    experience.retire(0, Limits(100, 100, 3))
    assert len(experience) == 0
    assert experience.dropped_worn == 10


def test_an_item_that_has_left_cannot_come_back_by_a_new_priority() -> None:
    experience, generator = filled(5), np.random.default_rng(0)
    limits = Limits(100, 100, 1)
    drawn = experience.draw(5, now=0, limits=limits, generator=generator)
    experience.learn(drawn.slots, np.full(5, 9.0))
    assert len(experience) == 0
    assert len(experience.draw(5, now=0, limits=limits, generator=generator).slots) == 0


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_restored_buffer_draws_what_the_original_would_have(alpha: float) -> None:
    original, generator = AgedExperience(30, alpha=alpha, beta=0.4), np.random.default_rng(5)
    limits = Limits(30, 4, 2)
    for now in range(7):
        original.draw(5, now=now, limits=limits, generator=generator)
        numbers = np.arange(8) + 8 * now
        original.add({"number": numbers}, born=now, worths=numbers % 3 + 0.5)
        original.grow_beta(0.01)
    restored = AgedExperience(30, alpha=alpha, beta=0.4)
    restored.load_state_dict(original.state_dict())

    def drawings(buffer: AgedExperience) -> list[Drawn]:
        again = np.random.default_rng(6)
        return [buffer.draw(4, now=now, limits=limits, generator=again) for now in (7, 8, 9)]

    for one, other in zip(drawings(original), drawings(restored), strict=True):
        assert one.items["number"].tolist() == other.items["number"].tolist()
        assert one.weights.tolist() == other.weights.tolist()
        assert one.ages.tolist() == other.ages.tolist()
    assert original.statistics(9) == restored.statistics(9)


def test_a_smaller_buffer_takes_the_newest_of_a_larger_one() -> None:
    small = AgedExperience(10, alpha=0.0, beta=0.4)
    small.load_state_dict(filled(40).state_dict())
    drawn = small.draw(10, now=0, limits=WIDE, generator=np.random.default_rng(0))
    assert set(drawn.items["number"]) == set(range(30, 40))


def test_effective_share_is_one_for_equal_weights_and_one_over_n_for_a_single_one() -> None:
    assert effective_share(np.full(8, 3.0)) == 1.0
    assert effective_share(np.eye(8)[0]) == pytest.approx(1 / 8)
    assert effective_share(np.array([2.0, 1.0])) == pytest.approx(9 / 10)
    assert np.isnan(effective_share(np.zeros(0)))


def test_beta_one_undoes_uneven_draws_wholly() -> None:
    shares = np.array([0.1, 0.2, 0.4])
    weights = sampling_weights(shares, 10, 1.0)
    np.testing.assert_allclose(weights * shares, weights[0] * shares[0])


# Stretches of rollouts


def rollout(*, length: int = 12, copies: int = 3, seed: int = 0) -> Rollout:
    """A rollout with ends and cuts in it, and random values."""
    generator = np.random.default_rng(seed)
    lived = Rollout(length, copies, (2,), np.float32)
    lived.observations[:] = generator.normal(size=lived.observations.shape)
    lived.last_observations = generator.normal(size=(copies, 2)).astype(np.float32)
    for at in range(length):
        lived.store_actions(at, generator.integers(3, size=copies))
    lived.rewards[:] = generator.normal(size=(length, copies))
    lived.values[:] = generator.normal(size=(length, copies))
    lived.log_probs[:] = -generator.random((length, copies))
    lived.terminated[3, 0] = lived.terminated[7, 1] = True
    for at, copy in ((5, 0), (5, 2), (11, 1)):
        lived.truncated[at, copy] = True
        lived.cuts.append((at, copy, generator.normal(size=2).astype(np.float32)))
    return lived


def test_stretches_hold_every_step_once_and_end_at_cuts() -> None:
    lived = rollout()
    parts = segments_of(lived, np.zeros((12, 3), np.float32), 5)
    assert parts.mask.sum() == 36
    assert sorted(parts.rewards[parts.mask]) == sorted(lived.rewards.ravel())
    assert sorted(parts.lengths.tolist()) == sorted([5, 1, 5, 1, 5, 5, 2, 5, 1, 5, 1])
    ends = {tuple(row) for row in parts.after.tolist()}
    assert {tuple(cut.tolist()) for _, _, cut in lived.cuts} <= ends


def test_a_stretch_as_long_as_the_rollout_teaches_what_the_rollout_teaches() -> None:
    lived = rollout()
    worth = np.random.default_rng(1)
    last = worth.normal(size=3).astype(np.float32)
    cut_values = np.zeros_like(lived.values)
    for at, copy, _ in lived.cuts:
        cut_values[at, copy] = worth.normal()
    expected = advantages(
        lived.rewards,
        lived.values,
        last,
        lived.terminated,
        lived.truncated,
        cut_values,
        gamma=0.9,
        decay=0.8,
    )
    parts = segments_of(lived, expected, 12)
    known = {
        tuple(row.tolist()): value for row, value in zip(lived.last_observations, last, strict=True)
    }
    known |= {tuple(cut.tolist()): cut_values[at, copy] for at, copy, cut in lived.cuts}
    # A stretch that ends between two others is followed by the first observation of the next.
    after = np.array([known.get(tuple(row.tolist()), 0.0) for row in parts.after], np.float32)
    found = segment_advantages(parts, parts.values, after, gamma=0.9, decay=0.8)
    np.testing.assert_allclose(found, parts.advantages, atol=1e-6)


def test_arrays_of_stretches_make_the_same_stretches_again() -> None:
    parts = segments_of(rollout(), np.zeros((12, 3), np.float32), 4)
    again = Segments(**parts.arrays())
    assert len(again) == len(parts)
    assert (again.mask == parts.mask).all()
