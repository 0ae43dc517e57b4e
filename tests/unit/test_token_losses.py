from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from steadyrl.maths.token_losses import (
    KLKind,
    clipped_policy_loss,
    clipped_value_loss,
    kl_estimates,
    token_sum,
)
from steadyrl.maths.tokens import chosen_log_probs


def _random(*shape: int, seed: int = 0, kind: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=kind)


def test_policy_loss_and_its_statistics_by_hand() -> None:
    ratios = torch.tensor([[1.0, 1.5, 0.5], [1.5, 0.5, 7.0]], dtype=torch.float64)
    advantages = torch.tensor([[2.0], [-1.0]], dtype=torch.float64)
    mask = torch.tensor([[True, True, True], [True, True, False]])
    log_probs = ratios.log().requires_grad_()
    loss, statistics = clipped_policy_loss(
        log_probs,
        torch.zeros_like(ratios),
        advantages,
        mask,
        clip_low=0.2,
        clip_high=0.28,
        total=10,
    )
    # min(2, .), min(3, 2.56), min(1, 1.6), then min(-1.5, -1.28), min(-0.5, -0.8)
    assert loss.item() == pytest.approx(-(2.0 + 2.56 + 1.0 - 1.5 - 0.8) / 10)
    torch.autograd.backward(loss)
    expected = torch.tensor([[-0.2, 0.0, -0.1], [0.15, 0.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(log_probs.grad, expected)
    assert int(statistics.tokens) == 5
    assert int(statistics.clipped_high) == 1
    assert int(statistics.clipped_low) == 1
    k3 = sum(ratio - 1 - math.log(ratio) for ratio in (1.0, 1.5, 0.5, 1.5, 0.5))
    assert statistics.kl.item() == pytest.approx(k3)
    assert statistics.log_ratio_max.item() == pytest.approx(math.log(1.5))
    assert statistics.log_ratio_min.item() == pytest.approx(math.log(0.5))


def test_dual_clip_bounds_what_one_improbable_token_costs() -> None:
    log_probs = torch.tensor([[math.log(50.0), math.log(2.0)]], requires_grad=True)
    loss, statistics = clipped_policy_loss(
        log_probs,
        torch.zeros(1, 2),
        torch.full((1, 2), -1.0),
        torch.ones(1, 2, dtype=torch.bool),
        clip_low=0.2,
        clip_high=0.2,
        total=1,
        dual_clip=10.0,
    )
    assert loss.item() == pytest.approx(12.0)
    torch.autograd.backward(loss)
    torch.testing.assert_close(log_probs.grad, torch.tensor([[0.0, 2.0]]))
    assert int(statistics.dual_clipped) == 1


def test_an_absurd_log_ratio_stays_finite() -> None:
    log_probs = torch.tensor([[500.0, -500.0]], requires_grad=True)
    loss, statistics = clipped_policy_loss(
        log_probs,
        torch.zeros(1, 2),
        torch.full((1, 2), -1.0),
        torch.ones(1, 2, dtype=torch.bool),
        clip_low=0.2,
        clip_high=0.2,
        total=2,
    )
    torch.autograd.backward(loss)
    assert loss.isfinite()
    assert log_probs.grad is not None
    assert log_probs.grad.isfinite().all()
    assert statistics.log_ratio_max.item() == 20.0


def test_what_stands_outside_the_mask_is_never_looked_at() -> None:
    mask = torch.tensor([[True, False]])
    poisoned = torch.tensor([[-1.0, math.nan]], requires_grad=True)
    values = torch.tensor([[0.5, math.nan]], requires_grad=True)
    clean = torch.full((1, 2), 0.25)
    policy, _ = clipped_policy_loss(
        poisoned, clean, clean, mask, clip_low=0.2, clip_high=0.2, total=1
    )
    value, _ = clipped_value_loss(values, values.detach(), clean, mask, clip=0.2, total=1)
    kl = kl_estimates(poisoned, clean, mask, "k3").sum()
    torch.autograd.backward(policy + value + kl)
    for entry in (poisoned, values):
        assert entry.grad is not None
        assert entry.grad.isfinite().all()
        assert entry.grad[0, 1] == 0.0


def test_value_loss_takes_the_worse_of_the_free_and_the_bounded_value() -> None:
    values = torch.tensor([[1.0, 1.0, 3.0]], requires_grad=True)
    old = torch.tensor([[0.0, 0.9, 0.0]])
    returns = torch.tensor([[2.0, 2.0, 0.0]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    loss, statistics = clipped_value_loss(values, old, returns, mask, clip=0.2, total=3)
    # bounded values 0.2, 1.0 and 0.2: errors 1.8 (worse than 1), 1 (the same), 3 (free is worse)
    assert loss.item() == pytest.approx((1.8**2 + 1.0 + 9.0) / 3)
    torch.autograd.backward(loss)
    torch.testing.assert_close(values.grad, torch.tensor([[0.0, -2 / 3, 2.0]]))
    assert int(statistics.clipped) == 1
    assert statistics.squared_errors.item() == pytest.approx(11.0)


@pytest.mark.parametrize(
    ("kind", "value", "slope"),
    [("k1", 0.5, 1.0), ("k2", 0.125, 0.5), ("k3", math.exp(-0.5) - 0.5, 1 - math.exp(-0.5))],
)
def test_kl_estimates_and_their_slopes_by_hand(kind: KLKind, value: float, slope: float) -> None:
    log_probs = torch.tensor([[-1.0, 9.0]], requires_grad=True)
    mask = torch.tensor([[True, False]])
    estimates = kl_estimates(log_probs, torch.tensor([[-1.5, 0.0]]), mask, kind)
    torch.testing.assert_close(estimates.detach(), torch.tensor([[value, 0.0]]))
    torch.autograd.backward(estimates.sum())
    torch.testing.assert_close(log_probs.grad, torch.tensor([[slope, 0.0]]))


@pytest.mark.parametrize("kind", ["k1", "k3"])
def test_straight_through_keeps_the_value_and_takes_the_slope_of_k2(kind: KLKind) -> None:
    log_probs = torch.tensor([[-1.0]], requires_grad=True)
    reference, mask = torch.tensor([[-1.5]]), torch.tensor([[True]])
    through = kl_estimates(log_probs, reference, mask, kind, straight_through=True)
    torch.testing.assert_close(through, kl_estimates(log_probs, reference, mask, kind))
    torch.autograd.backward(through.sum())
    torch.testing.assert_close(log_probs.grad, torch.tensor([[0.5]]))


def test_k2_goes_on_pulling_back_from_beyond_its_bound_and_k3_does_not_overflow() -> None:
    log_probs = torch.tensor([[-900.0]], requires_grad=True)
    reference, mask = torch.zeros(1, 1), torch.tensor([[True]])
    assert kl_estimates(log_probs, reference, mask, "k3").item() == 10.0
    torch.autograd.backward(kl_estimates(log_probs, reference, mask, "k2").sum())
    torch.testing.assert_close(log_probs.grad, torch.tensor([[-20.0]]))


def test_the_expected_gradient_of_k2_is_the_gradient_of_the_divergence() -> None:
    logits = _random(5).requires_grad_()
    reference = _random(5, seed=1).log_softmax(dim=0)
    logs = logits.log_softmax(dim=0)
    (expected,) = torch.autograd.grad((logs.exp() * (logs - reference)).sum(), logits)
    logs = logits.log_softmax(dim=0)
    mask = torch.ones(1, 5, dtype=torch.bool)
    estimates = kl_estimates(logs[None], reference[None], mask, "k2")
    (found,) = torch.autograd.grad((logs.exp().detach() * estimates[0]).sum(), logits)
    torch.testing.assert_close(found, expected)


def test_sequences_weigh_the_same_when_asked_to() -> None:
    values = torch.tensor([[1.0, 3.0], [10.0, 99.0], [5.0, 5.0]])
    mask = torch.tensor([[True, True], [True, False], [False, False]])
    assert token_sum(values, mask).item() == 14.0
    assert token_sum(values, mask, per_sequence=True).item() == 12.0


LENGTHS = torch.tensor([7, 1, 3, 5, 2, 7, 4, 1])


def _gradient(parts: int, *, per_sequence: bool) -> Tensor:
    """Of policy, value, entropy and KL together, of two matrices, one part after the other."""
    hidden, weight = _random(8, 7, 6), _random(20, 6, seed=1).requires_grad_()
    critic = _random(6, seed=2).requires_grad_()
    tokens = torch.randint(20, (8, 7), generator=torch.Generator().manual_seed(3))
    old, reference = _random(8, 7, seed=4) - 3.0, _random(8, 7, seed=5) - 3.0
    advantages, returns = _random(8, 7, seed=6), _random(8, 7, seed=7)
    mask = torch.arange(7) < LENGTHS[:, None]
    tokens_in_all, total = int(mask.sum()), 8 if per_sequence else int(mask.sum())
    for rows in torch.arange(8).chunk(parts):
        longest = int(LENGTHS[rows].max())  # a part is no longer than it must be
        own = mask[rows, :longest]
        log_probs, entropies = chosen_log_probs(
            hidden[rows, :longest], weight, tokens[rows, :longest], chunk=5
        )
        policy, _ = clipped_policy_loss(
            log_probs,
            old[rows, :longest],
            advantages[rows, :longest],
            own,
            clip_low=0.2,
            clip_high=0.3,
            total=total,
            per_sequence=per_sequence,
        )
        values = hidden[rows, :longest] @ critic
        value, _ = clipped_value_loss(
            values, values.detach(), returns[rows, :longest], own, clip=0.2, total=tokens_in_all
        )
        entropy = token_sum(entropies, own) / tokens_in_all
        kl = kl_estimates(log_probs, reference[rows, :longest], own, "k2").sum() / tokens_in_all
        torch.autograd.backward(policy + 0.5 * value - 0.01 * entropy + 0.1 * kl)
    assert weight.grad is not None
    assert critic.grad is not None
    return torch.cat((weight.grad.flatten(), critic.grad))


@pytest.mark.parametrize("per_sequence", [False, True])
@pytest.mark.parametrize("parts", [2, 4, 8])
def test_micro_batches_of_unequal_length_add_up_to_the_gradient_of_the_batch(
    parts: int, per_sequence: bool
) -> None:
    whole = _gradient(1, per_sequence=per_sequence)
    split = _gradient(parts, per_sequence=per_sequence)
    torch.testing.assert_close(split, whole, rtol=1e-12, atol=1e-12)


def test_statistics_of_parts_add_up_to_those_of_the_batch() -> None:
    log_probs, old, advantages = (_random(4, 3, seed=seed) for seed in range(3))
    mask = torch.tensor([[True, True, False]] * 3 + [[False] * 3])

    def statistics(rows: slice) -> Any:
        _, found = clipped_policy_loss(
            log_probs[rows],
            old[rows],
            advantages[rows],
            mask[rows],
            clip_low=0.2,
            clip_high=0.2,
            total=6,
        )
        return found

    assert statistics(slice(0, 1)) + statistics(slice(1, 3)) + statistics(slice(3, 4)) == (
        statistics(slice(0, 4))
    )
