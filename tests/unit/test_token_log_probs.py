from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from steadyrl.maths.tokens import chosen_log_probs


def _random(*shape: int, seed: int = 0, kind: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=kind)


def _plain(
    hidden: Tensor, weight: Tensor, tokens: Tensor, bias: Tensor | None, temperature: float
) -> tuple[Tensor, Tensor]:
    logits = hidden @ weight.T
    logs = ((logits if bias is None else logits + bias) / temperature).log_softmax(dim=-1)
    return logs.gather(-1, tokens[..., None]).squeeze(-1), -(logs.exp() * logs).sum(dim=-1)


def test_equal_logits_give_the_uniform_distribution() -> None:
    log_probs, entropies = chosen_log_probs(
        torch.zeros(2, 3, 4), torch.ones(8, 4), torch.ones(2, 3, dtype=torch.long), chunk=2
    )
    torch.testing.assert_close(log_probs, torch.full((2, 3), -math.log(8.0)))
    torch.testing.assert_close(entropies, torch.full((2, 3), math.log(8.0)))


@pytest.mark.parametrize("chunk", [1, 3, 8, 100])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("with_bias", [False, True])
def test_chunks_change_neither_values_nor_gradients(
    chunk: int, temperature: float, with_bias: bool
) -> None:
    inputs = [_random(2, 4, 16, kind=torch.float64), _random(50, 16, seed=1, kind=torch.float64)]
    if with_bias:
        inputs.append(_random(50, seed=2, kind=torch.float64))
    tokens = torch.randint(50, (2, 4), generator=torch.Generator().manual_seed(3))
    weights = [_random(2, 4, seed=seed, kind=torch.float64) for seed in (4, 5)]
    results = []
    for ours in (True, False):
        own = [entry.clone().requires_grad_() for entry in inputs]
        bias = own[2] if with_bias else None
        if ours:
            found = chosen_log_probs(
                own[0], own[1], tokens, head_bias=bias, temperature=temperature, chunk=chunk
            )
        else:
            found = _plain(own[0], own[1], tokens, bias, temperature)
        torch.autograd.backward((found[0] * weights[0] + found[1] * weights[1]).sum())
        results.append((found, [entry.grad for entry in own]))
    (values, gradients), (expected_values, expected_gradients) = results
    torch.testing.assert_close(values, expected_values, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(gradients, expected_gradients, rtol=1e-10, atol=1e-10)


def test_slopes_of_both_outputs_equal_finite_differences() -> None:
    tokens = torch.tensor([0, 6, 3, 3, 1])

    def outputs(hidden: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        return chosen_log_probs(hidden, weight, tokens, head_bias=bias, temperature=1.3, chunk=2)

    inputs = [_random(5, 3), _random(7, 3, seed=1), _random(7, seed=2)]
    assert torch.autograd.gradcheck(outputs, [entry.requires_grad_() for entry in inputs])


def test_a_frozen_head_gets_no_gradient_and_the_hidden_states_the_same_one() -> None:
    hidden, weight = _random(6, 3).requires_grad_(), _random(9, 3, seed=1)
    tokens = torch.arange(6)
    torch.autograd.backward(chosen_log_probs(hidden, weight, tokens, chunk=4)[0].sum())
    expected = hidden.detach().clone().requires_grad_()
    torch.autograd.backward(_plain(expected, weight, tokens, None, 1.0)[0].sum())
    torch.testing.assert_close(hidden.grad, expected.grad)
    assert weight.grad is None


def test_half_precision_states_are_normalised_in_full_precision() -> None:
    hidden, weight = _random(4, 8).bfloat16(), _random(300, 8, seed=1).bfloat16()
    tokens = torch.arange(4)
    log_probs, entropies = chosen_log_probs(hidden, weight, tokens, chunk=3)
    logs = (hidden @ weight.T).float().log_softmax(dim=-1)
    assert log_probs.dtype == entropies.dtype == torch.float32
    torch.testing.assert_close(log_probs, logs.gather(1, tokens[:, None]).squeeze(1))


class _LargestTensor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    elements: int = 0

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        for entry in made if isinstance(made, tuple | list) else (made,):
            if isinstance(entry, Tensor):
                self.elements = max(self.elements, entry.numel())
        return made


def test_no_array_of_all_positions_and_the_vocabulary_ever_exists() -> None:
    vocabulary, width, positions, chunk = 49_152, 8, 96, 16
    hidden = _random(4, positions // 4, width, kind=torch.float32).requires_grad_()
    weight = _random(vocabulary, width, seed=1, kind=torch.float32).requires_grad_()
    tokens = torch.arange(positions).view(4, -1)

    def largest(ours: bool) -> int:
        # Autograd runs backward passes on the calling thread on a CPU, so the mode sees them too.
        mode = _LargestTensor()  # type: ignore[no-untyped-call]
        with mode:
            if ours:
                found = chosen_log_probs(hidden, weight, tokens, chunk=chunk)
            else:
                found = _plain(hidden, weight, tokens, None, 1.0)
            torch.autograd.backward((found[0] + found[1]).sum())
        return mode.elements

    assert largest(ours=True) == chunk * vocabulary
    assert largest(ours=False) == positions * vocabulary  # the measurement can tell
