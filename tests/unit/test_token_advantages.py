from __future__ import annotations

import pytest
import torch
from torch import Tensor

from steadyrl.core.errors import ConfigError
from steadyrl.maths.token_advantages import (
    group_advantages,
    token_advantages,
    token_rewards,
    whitened,
)


def _random(*shape: int, seed: int = 0, kind: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=kind)


def test_the_score_stands_at_the_last_token() -> None:
    mask = torch.tensor([[True, True, False], [True, True, True], [False, False, False]])
    rewards = token_rewards(torch.tensor([1.0, 2.0, 3.0]), mask, torch.full((3, 3), 0.25))
    expected = torch.tensor([[-0.25, 0.75, 0.0], [-0.25, -0.25, 1.75], [0.0, 0.0, 0.0]])
    torch.testing.assert_close(rewards, expected)


def test_token_advantages_by_hand() -> None:
    mask = torch.tensor([[True, True, False]])
    rewards, values = torch.tensor([[0.0, 1.0, 9.0]]), torch.tensor([[0.5, 0.25, 9.0]])
    advantages, returns = token_advantages(rewards, values, mask, 0.5, 0.8)
    # the last gets 1 - 0.25, the first 0.5 * 0.25 - 0.5 and 0.4 times what the last got
    torch.testing.assert_close(advantages, torch.tensor([[-0.075, 0.75, 0.0]]))
    torch.testing.assert_close(returns, torch.tensor([[0.425, 1.0, 0.0]]))


def test_without_discount_and_decay_every_token_gets_score_minus_value() -> None:
    values = _random(3, 6)
    mask = torch.arange(6) < torch.tensor([[6], [1], [4]])
    scores = torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64)
    advantages, returns = token_advantages(token_rewards(scores, mask), values, mask, 1.0, 1.0)
    torch.testing.assert_close(advantages, torch.where(mask, scores[:, None] - values, 0.0))
    torch.testing.assert_close(returns, torch.where(mask, scores[:, None], 0.0))


def test_gaps_and_padding_on_either_side_are_stepped_over() -> None:
    rewards, values = _random(1, 3), _random(1, 3, seed=1)
    plain = torch.ones(1, 3, dtype=torch.bool)
    expected, _ = token_advantages(rewards, values, plain, 0.9, 0.8)
    mask = torch.tensor([[False, True, False, True, True, False]])
    spread = [torch.full((1, 6), 7.0, dtype=torch.float64) for _ in range(2)]
    for target, source in zip(spread, (rewards, values), strict=True):
        target[mask] = source.flatten()
    found, _ = token_advantages(spread[0], spread[1], mask, 0.9, 0.8)
    torch.testing.assert_close(found[mask], expected.flatten())


def test_group_advantages_by_hand_and_groups_without_spread_are_told() -> None:
    scores = torch.tensor([1.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1, 0.1])
    found = group_advantages(scores, 4)
    torch.testing.assert_close(
        found.advantages,
        torch.tensor([1.5, -0.5, -0.5, -0.5, 0.0, 0.0, 0.0, 0.0]),
        rtol=1e-4,
        atol=1e-6,
    )
    assert found.without_spread.tolist() == [False, True]
    assert (found.advantages[4:] == 0.0).all()
    plain = group_advantages(scores, 4, normalise="none")
    torch.testing.assert_close(plain.advantages[:4], torch.tensor([0.75, -0.25, -0.25, -0.25]))
    torch.testing.assert_close(plain.means, torch.tensor([0.25, 0.1]))


@pytest.mark.parametrize("group", [1, 3])
def test_a_batch_that_is_no_multiple_of_the_group_is_refused(group: int) -> None:
    with pytest.raises(ConfigError, match=f"8 completions cannot be compared in groups of {group}"):
        group_advantages(torch.zeros(8), group)


def test_whitened_values_have_mean_nought_and_variance_one_under_the_mask() -> None:
    values, mask = _random(5, 4) * 3 + 8, torch.arange(4) < torch.tensor([[4], [1], [2], [4], [3]])
    kept = whitened(values, mask)[mask]
    assert kept.mean().item() == pytest.approx(0.0, abs=1e-9)
    assert kept.std().item() == pytest.approx(1.0, abs=1e-6)
    assert (whitened(values, mask)[~mask] == 0).all()
    assert (whitened(torch.full((2, 2), 0.1), torch.ones(2, 2, dtype=torch.bool)) == 0).all()


def test_rounding_is_not_blown_up_to_a_step_of_full_size() -> None:
    mask = torch.ones(1, 3, dtype=torch.bool)
    assert (whitened(torch.tensor([[0.0, 1.4e-8, -9e-9]]), mask) == 0).all()
    assert (whitened(torch.tensor([[5000.0, 5000.004, 5000.0]]), mask) == 0).all()
    assert whitened(torch.tensor([[0.0, 1e-4, -1e-4]]), mask).std() == pytest.approx(1.0, abs=1e-3)
