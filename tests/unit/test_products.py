"""Products of matrices are the same whoever computes them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from steadyrl.nets import dense, products
from steadyrl.nets.convolutional import ConvNetwork
from steadyrl.nets.dense import DenseNetwork, Hidden

ROWS = 96
# Units above and below: square, a first layer's few columns, too few outputs, too few numbers.
SHAPES = [(128, 128), (6, 200), (50, 300), (256, 3), (5, 16)]


@pytest.fixture(params=["MKL", "oneDNN"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Who computes; oneDNN can on every processor whose torch has it, fast or not."""
    if request.param == "oneDNN" and not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        pytest.skip("this torch has no oneDNN")
    monkeypatch.setattr(products, "onednn_is_wider", lambda: request.param == "oneDNN")
    monkeypatch.setattr(products, "MANY", 2**14)
    return str(request.param)


def _random(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-3)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(("inputs", "outputs"), SHAPES)
def test_each_product_is_what_plain_arithmetic_says(inputs: int, outputs: int) -> None:
    below, delta = _random(ROWS, inputs, seed=0), _random(ROWS, outputs, seed=1)
    weight, bias = _random(outputs, inputs, seed=2), _random(outputs, seed=3)
    move, change = _random(outputs, inputs, seed=4), _random(ROWS, inputs, seed=5)
    b, d, w, m = (one.double() for one in (below, delta, weight, move))
    plain = b @ w.t() + bias
    _close(products.with_relu(below, weight, bias, torch.empty(ROWS, outputs)), plain.relu())
    _close(products.with_tanh(below, weight, bias, torch.empty(ROWS, outputs)), plain.tanh())
    _close(products.passed_down(delta, weight, torch.empty(ROWS, inputs)), d @ w)
    _close(products.passed_down(delta, weight), d @ w)
    _close(products.tangent(below, None, weight, move, bias), b @ m.t() + bias)
    both = b @ m.t() + bias + change.double() @ w.t()
    _close(products.tangent(below, change, weight, move, bias), both)
    put, total = torch.empty(outputs, inputs), torch.ones(outputs, inputs)
    products.put_weight_gradient(delta, below, put)
    _close(put, d.t() @ b)
    products.add_weight_gradient(delta, below, total)
    _close(total, d.t() @ b + 1.0)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("bend", [products.with_relu, products.with_tanh])
def test_what_is_not_finite_stays_so(bend: Callable[..., Tensor]) -> None:
    below, weight = _random(ROWS, 128, seed=0), _random(128, 128, seed=1)
    below[3] = torch.nan
    found = bend(below, weight, torch.zeros(128), torch.empty(ROWS, 128))
    assert found[3].isnan().all()
    assert found[:3].isfinite().all()
    weight[5, 7] = torch.nan
    assert bend(below[:3].repeat(32, 1), weight, torch.zeros(128))[:, 5].isnan().all()


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("hidden", ["relu", "tanh"])
@pytest.mark.parametrize("block", [ROWS, 40])
def test_passes_of_a_wide_network_equal_autograd(
    hidden: Hidden, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "BLOCK", block)  # 40 leave a shorter one
    network = DenseNetwork((5, 128, 96, 2), hidden=hidden, seed=1)
    inputs, slopes = _random(ROWS, 5, seed=0).requires_grad_(), _random(ROWS, 2, seed=1)
    flat, current, offset = network.parameters.clone().requires_grad_(), inputs, 0
    for index, (below, above) in enumerate([(5, 128), (128, 96), (96, 2)]):
        weight = flat[offset : offset + above * below].view(above, below)
        offset += above * below
        current = torch.nn.functional.linear(current, weight, flat[offset : offset + above])
        offset += above
        if index < 2:
            current = getattr(torch, hidden)(current)
    torch.autograd.backward(current, slopes)
    outputs = network.forward(inputs.detach())
    torch.testing.assert_close(outputs, current.detach(), rtol=1e-4, atol=1e-5)
    through = network.backward(slopes, inputs_from=0)
    assert flat.grad is not None
    torch.testing.assert_close(network.gradient, flat.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(through, inputs.grad, rtol=1e-4, atol=1e-4)
    direction = _random(len(flat), seed=2)
    moved = network.tangent(direction)
    # <J v, s> = <v, J^T s>, for every row by itself and so for any weights of rows.
    by_row = (moved.double() * slopes).sum(1)
    for rows in (slice(0, 40), slice(40, 80), slice(80, ROWS)):
        alone = torch.zeros_like(slopes)
        alone[rows] = slopes[rows]
        network.backward(alone)
        expected = network.gradient.double() @ direction.double()
        torch.testing.assert_close(by_row[rows].sum(), expected, rtol=1e-3, atol=1e-2)
    kept = moved.clone()
    network.tangent(_random(len(flat), seed=3))
    assert torch.equal(moved, kept)  # the caller's to keep


def test_relu_is_what_other_devices_know(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> Tensor:
        raise NotImplementedError("_addmm_activation")  # as on MPS

    monkeypatch.setattr(torch, "_addmm_activation", unknown)
    below, weight, bias = (torch.empty(s, device="meta") for s in ((4, 3), (5, 3), (5,)))
    assert products.with_relu(below, weight, bias).shape == (4, 5)


@pytest.mark.parametrize("library", ["oneDNN"], indirect=True)
@pytest.mark.usefixtures("library")
def test_convolutions_end_in_the_same_layers_whoever_computes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = torch.Generator().manual_seed(0)
    frames = torch.randint(0, 256, (ROWS, 2, 40, 40), generator=generator, dtype=torch.uint8)
    slopes = _random(ROWS, 3, seed=1)

    def passes() -> tuple[Tensor, Tensor, Tensor]:
        network = ConvNetwork((2, 40, 40), 3, gain=1.0, seed=1)
        outputs = network.forward(frames)
        network.backward(slopes)
        moved = network.tangent(_random(len(network.parameters), seed=2) * 1e-3)
        return outputs, network.gradient, moved

    found = passes()
    monkeypatch.setattr(products, "onednn_is_wider", lambda: False)
    for one, other in zip(found, passes(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_outputs_of_a_wide_network_are_the_callers_to_keep(library: str) -> None:
    network = DenseNetwork((5, 128, 128, 1), seed=1)
    first = network.forward(_random(ROWS, 5, seed=0))
    kept = first.clone()
    network.forward(_random(ROWS, 5, seed=1))
    assert torch.equal(first, kept), library


@pytest.mark.parametrize(
    ("capability", "name", "wider"),
    [
        ("AVX512", "AMD EPYC 9755", True),
        ("AVX512", "Intel(R) Xeon(R) Platinum", False),  # MKL has kernels for it
        ("AVX2", "AMD EPYC 7763", False),
        ("DEFAULT", "AMD EPYC 9755", False),
    ],
)
def test_onednn_computes_where_mkl_leaves_instructions_alone(
    capability: str, name: str, wider: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(products, "processor", lambda: name)
    assert products.onednn_is_wider.__wrapped__() is wider


def test_only_large_products_of_plain_numbers_are_onednns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "onednn_is_wider", lambda: True)
    weight = torch.zeros(256, 256)
    assert products.wide(16, weight)
    assert not products.wide(15, weight)
    assert not products.wide(1024, weight.bfloat16())
    assert not products.wide(10**6, torch.zeros(1, 256))  # a critic's last layer
