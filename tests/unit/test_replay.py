from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from steadyrl.experience.replay import PrioritisedReplayBuffer, ReplayBuffer
from steadyrl.experience.sum_tree import SumTree

CPU = torch.device("cpu")


def _fill(buffer: ReplayBuffer, numbers: range) -> None:
    for number in numbers:
        one = np.array([[float(number), 0.0]])
        end = np.array([number % 2 == 0])
        cut = np.array([False])
        buffer.add(one, one[:, :1] / 100, np.array([number]), one + 1, end, cut)


def test_a_batch_holds_what_was_stored() -> None:
    buffer = ReplayBuffer(8, 2, 1, device=CPU)
    _fill(buffer, range(5))
    batch = buffer.fetch(np.array([3, 0]))
    assert batch.observations[:, 0].tolist() == [3.0, 0.0]
    assert batch.next_observations[:, 0].tolist() == [4.0, 1.0]
    assert batch.actions[:, 0].tolist() == pytest.approx([0.03, 0.0])
    assert batch.rewards[:, 0].tolist() == [3.0, 0.0]
    assert batch.terminated[:, 0].tolist() == [0.0, 1.0]
    assert torch.equal(
        batch.observations_actions, torch.cat((batch.observations, batch.actions), dim=1)
    )


def test_the_oldest_leave_first_and_ages_count_from_the_newest() -> None:
    buffer = ReplayBuffer(4, 2, 1, device=CPU)
    _fill(buffer, range(6))
    everything = buffer.fetch(np.arange(4))
    assert sorted(everything.rewards[:, 0].tolist()) == [2.0, 3.0, 4.0, 5.0]
    ages = dict(zip(everything.rewards[:, 0].tolist(), buffer.ages(np.arange(4)), strict=True))
    assert ages == {5.0: 0, 4.0: 1, 3.0: 2, 2.0: 3}


def test_only_filled_slots_are_drawn() -> None:
    buffer = ReplayBuffer(1000, 2, 1, device=CPU)
    _fill(buffer, range(3, 6))
    drawn = buffer.sample(200, np.random.default_rng(0)).rewards[:, 0]
    assert set(drawn.tolist()) == {3.0, 4.0, 5.0}


@pytest.mark.parametrize(("capacity", "kept"), [(3, [3, 4, 5]), (10, [2, 3, 4, 5])])
def test_a_saved_buffer_fits_another_capacity_newest_first(capacity: int, kept: list[int]) -> None:
    buffer = ReplayBuffer(4, 2, 1, device=CPU)
    _fill(buffer, range(6))
    other = ReplayBuffer(capacity, 2, 1, device=CPU)
    other.load_state_dict(buffer.state_dict())
    rewards = other.fetch(np.arange(len(other))).rewards[:, 0].tolist()
    assert sorted(rewards) == kept
    _fill(other, range(6, 7))
    assert 6.0 in other.fetch(np.arange(len(other))).rewards[:, 0].tolist()


@given(
    st.lists(st.floats(0.0, 1e6), min_size=1, max_size=70).filter(lambda p: sum(p) > 0),
    st.integers(0, 1000),
)
@settings(max_examples=100, deadline=None)
def test_the_tree_keeps_the_sum_and_never_draws_a_zero(priorities: list[float], seed: int) -> None:
    tree = SumTree(len(priorities))
    tree.set(np.arange(len(priorities)), np.array(priorities))
    assert tree.total == pytest.approx(sum(priorities))
    drawn = tree.draw(32, np.random.default_rng(seed))
    assert (np.array(priorities)[drawn] > 0).all()


def test_the_tree_draws_in_proportion() -> None:
    tree = SumTree(5)
    tree.set(np.arange(5), np.array([1.0, 2.0, 0.0, 4.0, 3.0]))
    drawn = tree.draw(10_000, np.random.default_rng(0))
    np.testing.assert_allclose(
        np.bincount(drawn, minlength=5) / 10_000, [0.1, 0.2, 0, 0.4, 0.3], atol=2e-4
    )


def test_repeated_indices_take_the_last_value() -> None:
    tree = SumTree(4)
    tree.set(np.array([1, 1, 2]), np.array([5.0, 7.0, 1.0]))
    assert tree.total == 8.0


def _prioritised(beta: float = 0.4) -> PrioritisedReplayBuffer:
    buffer = PrioritisedReplayBuffer(8, 2, 1, device=CPU, alpha=0.5, beta=beta)
    _fill(buffer, range(4))
    return buffer


def _learn(buffer: PrioritisedReplayBuffer, errors: NDArray[np.float64]) -> None:
    buffer.learn_priorities(buffer.fetch(np.arange(4)), errors, beta_growth=0.0)


def test_weights_undo_the_bias_of_prioritised_sampling() -> None:
    buffer = _prioritised(beta=1.0)
    _learn(buffer, np.array([1.0, 4.0, 9.0, 16.0]))
    batch = buffer.sample(20_000, np.random.default_rng(0))
    assert batch.weights is not None
    weights = batch.weights[:, 0]
    # With beta = 1 the weighted mean over draws is the plain mean over the buffer: 1.5.
    mean = float((weights * batch.rewards[:, 0]).sum() / weights.sum())
    assert mean == pytest.approx(1.5, abs=0.01)
    assert float(weights.max()) == 1.0


def test_new_items_come_in_at_the_highest_priority() -> None:
    buffer = _prioritised()
    _learn(buffer, np.array([1e-4, 1e-4, 1e-4, 100.0]))
    _fill(buffer, range(4, 5))
    rewards = buffer.sample(1000, np.random.default_rng(0)).rewards[:, 0]
    assert 400 < int((rewards == 4.0).sum()) < 600


def test_prioritised_state_comes_back_exactly() -> None:
    buffer, other = _prioritised(), _prioritised()
    buffer.learn_priorities(buffer.fetch(np.arange(4)), np.array([1.0, 2.0, 3.0, 4.0]), 0.1)
    other.load_state_dict(buffer.state_dict())
    mine, theirs = (b.sample(64, np.random.default_rng(1)) for b in (buffer, other))
    np.testing.assert_array_equal(mine.indices, theirs.indices)
    assert other.beta == pytest.approx(0.5)


def test_beta_grows_to_one_and_stops() -> None:
    buffer = _prioritised(beta=0.9)
    for _ in range(3):
        buffer.learn_priorities(buffer.fetch(np.arange(4)), np.ones(4), beta_growth=0.06)
    assert buffer.beta == 1.0


def test_shifted_successors_are_noticed_and_right_ones_are_not() -> None:
    def filled(shift: int) -> ReplayBuffer:
        buffer = ReplayBuffer(10, 1, 1, device=CPU)
        for time in range(14):  # two copies side by side, the ring wraps around
            now = np.array([[time], [100 + time]], dtype=float)
            ends = np.array([time % 5 == 4, False])
            cut = np.array([False, time % 7 == 6])
            buffer.add(now, now * 0, np.zeros(2), now + 1 + shift, ends, cut)
        return buffer

    assert filled(0).misaligned_share(np.arange(10), copies=2) == 0.0
    assert filled(1).misaligned_share(np.arange(10), copies=2) == 1.0


def test_truncations_stored_as_terminations_are_counted() -> None:
    buffer = ReplayBuffer(10, 1, 1, device=CPU)
    one = np.zeros((2, 1))
    buffer.add(one, one, np.zeros(2), one, np.array([False, True]), np.array([True, True]))
    assert (buffer.truncations, buffer.truncations_cut) == (2, 1)
