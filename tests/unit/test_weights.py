"""Weights as one vector and weights of a module answer alike."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from steadyrl.nets.module import ModuleNetwork
from steadyrl.nets.weights import FlatWeights, ModuleWeights, Weights, from_stored, to_stored
from steadyrl.store.checkpoints import Checkpoints


def _module(dtype: torch.dtype = torch.float32) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to(dtype)


def _both() -> tuple[Weights, Weights, ModuleNetwork, nn.Module]:
    """The same weights twice, with the same gradient."""
    network, module = ModuleNetwork(_module()), _module()
    inputs, slopes = torch.randn(5, 3), torch.randn(5, 2)
    network.learn(inputs, seed=0)
    network.backward(slopes)
    module(inputs).backward(slopes)
    return FlatWeights(network), ModuleWeights(module), network, module


def test_norms_are_those_of_one_long_vector() -> None:
    flat, apart, network, module = _both()
    long = torch.cat([weight.detach().flatten() for weight in module.parameters()])
    assert flat.norm() == pytest.approx(float(long.norm()))
    assert apart.norm() == pytest.approx(float(long.norm()))
    assert apart.gradient_norm() == pytest.approx(flat.gradient_norm())
    assert flat.gradient_norm() == pytest.approx(float(network.gradient.norm()))


def test_a_long_gradient_is_shortened_and_a_short_one_left() -> None:
    for weights in _both()[:2]:
        length = weights.gradient_norm()
        assert weights.clip_gradient(None) == length
        assert weights.clip_gradient(2 * length) == length
        assert weights.gradient_norm() == length
        assert weights.clip_gradient(length / 4) == length  # as it was before
        assert weights.gradient_norm() == pytest.approx(length / 4)


def test_the_way_since_a_snapshot_is_told_in_lengths_of_the_snapshot() -> None:
    flat, apart, network, module = _both()
    before = flat.snapshot(), apart.snapshot()
    network.parameters.mul_(1.25)
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(1.25)
    assert flat.moved_since(before[0]) == pytest.approx(0.25)
    assert apart.moved_since(before[1]) == pytest.approx(0.25)


def test_what_is_no_number_is_named() -> None:
    flat, apart, network, module = _both()
    assert flat.first_non_finite() is None
    assert apart.first_non_finite() is None
    network.parameters[3] = math.nan
    with torch.no_grad():
        dict(module.named_parameters())["2.bias"][0] = math.inf
    assert (flat.first_non_finite(), apart.first_non_finite()) == ("weights", "2.bias")


def test_frozen_weights_are_neither_asked_about_nor_stored() -> None:
    module = _module()
    module[0].requires_grad_(False)  # type: ignore[index]
    assert list(ModuleWeights(module).state_dict()) == ["2.weight", "2.bias"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_weights_come_back_from_a_checkpoint_bit_for_bit(
    dtype: torch.dtype, tmp_path: Path
) -> None:
    module, other = _module(dtype), _module(dtype)
    with torch.no_grad():
        for weight in other.parameters():
            weight.zero_()
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save({"model": ModuleWeights(module).state_dict()}, step=1, good=True)
    ModuleWeights(other).load_state_dict(checkpoints.load(1)["model"])
    for ours, theirs in zip(module.parameters(), other.parameters(), strict=True):
        assert ours.dtype == theirs.dtype == dtype
        assert torch.equal(ours, theirs)


def test_a_stored_tensor_is_a_copy() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        tensor = torch.ones(3, dtype=dtype)
        stored = to_stored(tensor)
        tensor.zero_()
        assert torch.equal(from_stored(stored), torch.ones(3, dtype=dtype))
