"""The convolutional network: its derivatives in parts against autograd on the whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from steadyrl.experience.rollout import Samples
from steadyrl.nets import convolutional as conv_network
from steadyrl.nets.convolutional import LIGHT, NATURE, ConvNetwork

FRAMES = (2, 40, 40)


@pytest.fixture(
    params=[(0, NATURE), (4096, NATURE), (0, LIGHT), (4096, LIGHT)],
    ids=["recomputed", "kept", "light, recomputed", "light, kept"],
)
def network(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> ConvNetwork:
    kept, architecture = request.param
    monkeypatch.setattr(conv_network, "CHUNK", 4)
    monkeypatch.setattr(conv_network, "KEPT", kept)
    return ConvNetwork(FRAMES, 3, architecture=architecture, gain=1.0, extra=2, seed=1)


def _frames(rows: int, shape: tuple[int, ...] = FRAMES) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (rows, *shape), generator=generator, dtype=torch.uint8)


def _whole(network: ConvNetwork, flat: torch.Tensor, frames: torch.Tensor) -> torch.Tensor:
    """The same network as autograd sees it: plain operations, everything at once."""
    current, weights = frames.float() / 255.0, iter(network._split(flat))
    for _, _, stride in network.architecture.layers:
        current = torch.conv2d(current, next(weights), next(weights), stride=stride).relu()
    current = torch.nn.functional.linear(current.flatten(1), next(weights), next(weights)).relu()
    return torch.nn.functional.linear(current, next(weights), next(weights))


def test_outputs_in_parts_are_those_of_the_whole(network: ConvNetwork) -> None:
    frames = _frames(10)
    expected = _whole(network, network.parameters, frames)
    torch.testing.assert_close(network.forward(frames), expected)
    np.testing.assert_allclose(network.act(frames.numpy()), expected.numpy(), atol=1e-6)


def test_gradients_in_parts_are_autograds_on_the_whole(network: ConvNetwork) -> None:
    frames, slopes = _frames(10), torch.linspace(-1, 1, 30).view(10, 3)
    flat = network.parameters.clone().requires_grad_()
    (_whole(network, flat, frames) * slopes).sum().backward()  # type: ignore[no-untyped-call]
    network.extra_gradient.fill_(7.0)
    network.forward(frames)
    network.backward(slopes)
    assert flat.grad is not None
    torch.testing.assert_close(network.gradient[:-2], flat.grad[:-2], atol=1e-5, rtol=1e-4)
    assert network.extra_gradient.tolist() == [7.0, 7.0]  # not the products' to overwrite


@pytest.mark.parametrize("shape", [(3, 37, 43), (1, 43, 37), (4, 36, 36)])
@pytest.mark.parametrize("lying", [torch.contiguous_format, torch.channels_last])
def test_frames_whose_last_columns_nobody_sees(
    shape: tuple[int, int, int], lying: torch.memory_format
) -> None:
    network = ConvNetwork(shape, 2, gain=1.0, seed=1)
    frames, slopes = _frames(3, shape).contiguous(memory_format=lying), torch.ones(3, 2)
    flat = network.parameters.clone().requires_grad_()
    expected = _whole(network, flat, frames)
    torch.testing.assert_close(network.forward(frames), expected.detach())
    torch.autograd.backward(expected, slopes)
    network.backward(slopes)
    assert flat.grad is not None
    torch.testing.assert_close(network.gradient, flat.grad, atol=1e-5, rtol=1e-4)


def test_a_tangent_in_parts_is_the_derivative_along_a_direction(network: ConvNetwork) -> None:
    frames = _frames(10)
    generator = torch.Generator().manual_seed(2)
    direction = torch.randn(len(network.parameters), generator=generator)
    network.forward(frames)
    found = network.tangent(direction)
    inner = (found * torch.linspace(-1, 1, 30).view(10, 3)).sum()
    network.backward(torch.linspace(-1, 1, 30).view(10, 3))
    # <J v, s> = <v, J^T s>: forward and backward derivatives must agree.
    torch.testing.assert_close(inner, network.gradient[:-2] @ direction[:-2], atol=1e-2, rtol=1e-3)


def test_rounded_products_end_in_much_the_same_gradient() -> None:
    frames, slopes = _frames(6), torch.linspace(-1, 1, 18).view(6, 3)
    exact, rounded = (
        ConvNetwork(FRAMES, 3, gain=1.0, seed=1, precision=precision)
        for precision in ("fp32", "bf16")
    )
    for network in (exact, rounded):
        network.forward(frames)
        network.backward(slopes)
    cosine = torch.cosine_similarity(exact.gradient, rounded.gradient, dim=0)
    assert cosine > 0.99
    assert rounded.gradient.dtype is torch.float32


def test_layers_cover_the_whole_gradient(network: ConvNetwork) -> None:
    assert sum(len(part) for part in network.layer_gradients()) == len(network.gradient) - 2


def test_weights_come_back(network: ConvNetwork) -> None:
    other = ConvNetwork(FRAMES, 3, architecture=network.architecture, seed=9, extra=2)
    other.load_state_dict(network.state_dict())
    frames = _frames(3)
    torch.testing.assert_close(other.forward(frames), network.forward(frames))


def test_minibatches_of_images_lie_as_convolutions_read_them() -> None:
    frames = torch.randint(0, 256, (6, 2, 5, 3), dtype=torch.uint8)
    rows = torch.arange(6.0)
    for laid in (frames, frames.contiguous(memory_format=torch.channels_last)):
        data = Samples(laid, rows, rows, rows, rows, rows)
        parts = list(data.minibatches(4, np.random.default_rng(0)))
        assert [len(part) for part in parts] == [4, 2]
        for part in parts:
            assert torch.equal(part.observations, frames[part.actions.long()])
            assert part.observations.is_contiguous(memory_format=torch.channels_last)
