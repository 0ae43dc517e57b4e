from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from steadyrl.core.seeding import Generators, integer_seed
from steadyrl.maths.finite import all_finite
from steadyrl.maths.normalize import RunningMoments
from steadyrl.nets.adam import Adam
from steadyrl.nets.dense import DenseNetwork, Output
from steadyrl.nets.products import put_weight_gradient


def _as_module(network: DenseNetwork) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    offset = 0
    for inputs, outputs in zip(network.sizes, network.sizes[1:], strict=False):
        linear = torch.nn.Linear(inputs, outputs)
        flat = network.parameters
        with torch.no_grad():
            weight = flat[offset : offset + inputs * outputs].view(outputs, inputs)
            linear.weight.copy_(weight)
            offset += inputs * outputs
            linear.bias.copy_(flat[offset : offset + outputs])
            offset += outputs
        layers += [linear, torch.nn.ReLU()]
    layers[-1] = torch.nn.Tanh() if network.output == "tanh" else torch.nn.Identity()
    return torch.nn.Sequential(*layers)


@pytest.mark.parametrize("output", ["linear", "tanh"])
@pytest.mark.parametrize("rows", [1, 7, 64])
def test_passes_equal_autograd(output: Output, rows: int) -> None:
    network = DenseNetwork((5, 16, 8, 3), output=output, seed=1)
    module = _as_module(network)
    inputs = torch.randn(rows, 5, generator=torch.Generator().manual_seed(2), requires_grad=True)
    outputs = network.forward(inputs.detach())
    expected = module(inputs)
    torch.testing.assert_close(outputs, expected.detach())
    direction = torch.randn(rows, 3, generator=torch.Generator().manual_seed(3))
    input_gradient = network.backward(direction, inputs_from=0)
    of_the_last = network.backward(direction, parameters=False, inputs_from=3)
    expected.backward(direction)
    flat = torch.cat([p.grad.flatten() for p in module.parameters() if p.grad is not None])
    torch.testing.assert_close(network.gradient, flat, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(input_gradient, inputs.grad, rtol=1e-4, atol=1e-6)
    assert inputs.grad is not None
    torch.testing.assert_close(of_the_last, inputs.grad[:, 3:], rtol=1e-4, atol=1e-6)


def test_bf16_passes_stay_close_to_fp32() -> None:
    exact = DenseNetwork((4, 32, 32, 2), seed=1)
    rounded = DenseNetwork((4, 32, 32, 2), seed=1, precision="bf16")
    inputs = torch.randn(64, 4, generator=torch.Generator().manual_seed(2))
    direction = torch.randn(64, 2, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(rounded.forward(inputs), exact.forward(inputs), rtol=0.05, atol=0.02)
    exact.backward(direction)
    rounded.backward(direction)
    cosine = torch.nn.functional.cosine_similarity(exact.gradient, rounded.gradient, dim=0)
    assert cosine > 0.995


def test_asking_only_for_the_inputs_gradient_leaves_the_weights_gradient_alone() -> None:
    network = DenseNetwork((3, 8, 1), seed=0)
    network.forward(torch.ones(4, 3))
    network.backward(torch.ones(4, 1), parameters=False, inputs_from=0)
    assert not network.gradient.any()


@pytest.mark.parametrize(("rows", "columns"), [(128, 3), (300, 15), (128, 16), (127, 4)])
def test_a_weight_gradient_is_the_same_product_either_way_round(rows: int, columns: int) -> None:
    generator = torch.Generator().manual_seed(0)
    below = torch.randn(rows, 2 * columns, generator=generator)[:, :columns]
    delta = torch.randn(rows, 32, generator=generator)
    out = torch.empty(32, columns)
    put_weight_gradient(delta, below, out)
    expected = delta.double().t() @ below.double()
    torch.testing.assert_close(out.double(), expected, rtol=1e-4, atol=1e-4)


def test_outputs_are_the_callers_to_keep() -> None:
    network = DenseNetwork((3, 8, 2), output="tanh", seed=0)
    first = network.forward(torch.ones(4, 3))
    kept = first.clone()
    network.forward(torch.zeros(4, 3))
    assert torch.equal(first, kept)


@pytest.mark.parametrize("size", [3, 64, 65, 1000])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_none_is_found_among_few_and_many(size: int, bad: float) -> None:
    numbers = np.full(size, 1e308)
    assert all_finite(numbers, np.zeros((2, 2), dtype=np.float32))
    numbers[-1] = bad
    assert not all_finite(np.zeros(3), numbers)
    assert all_finite(np.arange(3), np.zeros(2))


@pytest.mark.parametrize("rows", [1, 16, 40])
def test_acting_equals_the_forward_pass(rows: int) -> None:
    network = DenseNetwork((3, 16, 2), output="tanh", seed=4)
    observations = np.random.default_rng(0).normal(size=(rows, 3)).astype(np.float32)
    acted = network.act(observations)
    forward = network.forward(torch.from_numpy(observations)).numpy()
    np.testing.assert_allclose(acted, forward, rtol=1e-5, atol=1e-6)


def test_adam_equals_torch_adam_and_reports_the_norm_before_clipping() -> None:
    network = DenseNetwork((2, 4, 1), seed=0)
    reference = torch.nn.Parameter(network.parameters.clone())
    theirs = torch.optim.Adam([reference], lr=0.01)
    ours = Adam(network)
    for size in (1.0, 100.0, 0.01):
        gradient = torch.full_like(network.parameters, size)
        network.gradient.copy_(gradient)
        norm = ours.step(0.01, clip=5.0)
        assert norm == pytest.approx(float(gradient.norm()))
        reference.grad = gradient.clone()
        if float(gradient.norm()) > 5.0:
            reference.grad.mul_(5.0 / gradient.norm())
        theirs.step()
    torch.testing.assert_close(network.parameters, reference.detach(), rtol=1e-5, atol=1e-7)


def test_adam_forgets_a_gradient_that_stays_away_before_its_moments_become_subnormal() -> None:
    network = DenseNetwork((2, 4, 1), seed=0)
    reference = torch.nn.Parameter(network.parameters.clone())
    theirs, ours = torch.optim.Adam([reference], lr=0.01), Adam(network)
    slow = []
    for step in range(1200):
        network.gradient.fill_(1.0 if step < 5 else 0.0)
        reference.grad = network.gradient.clone()
        ours.step(0.01)
        theirs.step()
        moments = np.concatenate([ours.state_dict()["mean"], ours.state_dict()["square"]])
        slow.append(np.sum((moments != 0) & (np.abs(moments) < np.finfo(np.float32).tiny)))
    assert max(slow) == 0
    assert not np.any(ours.state_dict()["mean"])  # the mean halves every seven steps
    assert np.all(ours.state_dict()["square"] > 0)
    torch.testing.assert_close(network.parameters, reference.detach(), rtol=1e-5, atol=1e-7)


def test_networks_of_different_seeds_differ_and_of_one_seed_agree() -> None:
    first, again, other = (DenseNetwork((3, 8, 1), seed=s).parameters for s in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=9), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_running_moments_equal_those_of_all_values_together(batches: list[list[float]]) -> None:
    moments = RunningMoments()
    for batch in batches:
        moments.add(np.array(batch))
    together = np.concatenate([np.array(batch) for batch in batches])
    assert moments.mean == pytest.approx(together.mean(), abs=1e-6)
    if len(together) > 1:
        assert moments.variance == pytest.approx(together.var(), rel=1e-6, abs=1e-6)


def test_drawing_from_one_source_does_not_move_another() -> None:
    calm, busy = Generators(5), Generators(5)
    busy["noise"].normal(size=1000)
    assert calm["replay"].integers(1 << 40) == busy["replay"].integers(1 << 40)


def test_generators_continue_where_they_were_saved() -> None:
    generators = Generators(5)
    generators["noise"].normal(size=3)
    saved = generators.state_dict()
    expected = generators["noise"].normal(size=4)
    restored = Generators(99)
    restored.load_state_dict(saved)
    np.testing.assert_array_equal(restored["noise"].normal(size=4), expected)
    assert restored["later"].integers(1 << 40) == Generators(5)["later"].integers(1 << 40)


def test_derived_seeds_differ_by_source_and_part() -> None:
    seeds = {integer_seed(0, "a"), integer_seed(0, "b"), integer_seed(1, "a")}
    seeds |= {integer_seed(0, "a", 0, 1), integer_seed(0, "a", 1, 0)}
    assert len(seeds) == 5
