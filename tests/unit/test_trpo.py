"""TRPO: its mathematics against direct solutions, its search by hand, honest failures, resume."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.on_policy import trpo
from steadyrl.algorithms.on_policy.collecting import collect
from steadyrl.algorithms.on_policy.estimating import with_advantages
from steadyrl.algorithms.on_policy.learner import OnPolicyLearner
from steadyrl.algorithms.on_policy.trpo_config import TRPOConfig
from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.environments.envs import Envs
from steadyrl.experience.rollout import Samples
from steadyrl.experiments.verify_resume import compare_runs
from steadyrl.guarding import Observers
from steadyrl.maths.losses import normalised
from steadyrl.maths.trust_region import (
    REAL,
    SearchResult,
    Solution,
    conjugate_gradient,
    full_step,
    line_search,
    no_direction,
)
from steadyrl.nets.dense import DenseNetwork
from steadyrl.run import resume, train
from steadyrl.stability.controllers.trust_region import adjust
from steadyrl.stability.window import Window
from steadyrl.store.reader import RunReader

Make = Callable[..., TRPOConfig]


@pytest.fixture
def trpo_config() -> Make:
    """A TRPO config that trains in a second, with dotted overrides."""

    def make(**overrides: Any) -> TRPOConfig:
        values = {
            "algorithm": "trpo",
            "total_env_steps": 512,
            "rollout_length": 32,
            "hidden_sizes": [16, 16],
            "environment": {"id": "CartPole-v1", "count": 2},
            "evaluation": {"every": 128, "episodes": 2},
            "checkpoints": {"every": 128},
        }
        dotted = {name.replace("__", "."): value for name, value in overrides.items()}
        config = parse_config(values, overrides=dotted)
        assert isinstance(config, TRPOConfig)
        return config

    return make


def _learner(config: TRPOConfig) -> tuple[OnPolicyLearner, Samples]:
    training = prepare(config)
    next(training.steps)
    learner = training.learner
    envs = training.world
    assert isinstance(learner, OnPolicyLearner)
    assert isinstance(envs, Envs)
    data, _ = with_advantages(learner, collect(learner, envs, config), config)
    return learner, data


def test_conjugate_gradients_solve_a_linear_system() -> None:
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(12, 12, generator=generator, dtype=torch.float64)
    matrix = root @ root.t() + torch.eye(12, dtype=torch.float64)
    target = torch.randn(12, generator=generator, dtype=torch.float64)
    found = conjugate_gradient(lambda v: matrix @ v, target, iterations=40, tolerance=1e-20)
    torch.testing.assert_close(found.direction, torch.linalg.solve(matrix, target))
    assert found.curvature == pytest.approx(float(found.direction @ matrix @ found.direction))
    assert found.residual < 1e-8


def test_too_few_iterations_leave_a_residual_that_is_reported() -> None:
    matrix = torch.diag(torch.logspace(-3, 3, 30, dtype=torch.float64))
    target = torch.ones(30, dtype=torch.float64)
    found = conjugate_gradient(lambda v: matrix @ v, target, iterations=3)
    wrong = float((matrix @ found.direction - target).norm() / target.norm())
    assert found.residual == pytest.approx(wrong)
    assert found.residual > 0.1


def test_negative_curvature_stops_the_solver() -> None:
    found = conjugate_gradient(lambda v: -v, torch.ones(4), iterations=10)
    assert found.iterations == 0
    assert found.curvature == 0


def test_a_full_step_has_the_kl_that_is_allowed_with_damping_or_without() -> None:
    generator = torch.Generator().manual_seed(3)
    root = torch.randn(6, 6, generator=generator, dtype=torch.float64)
    fisher = root @ root.t()
    damped = fisher + 2.0 * torch.eye(6, dtype=torch.float64)
    target = torch.ones(6, dtype=torch.float64)
    found = conjugate_gradient(lambda v: damped @ v, target, iterations=40, tolerance=1e-20)
    short = full_step(found, 0.05, damping=0.0)
    assert float(short @ (damped @ short)) / 2 == pytest.approx(0.05)
    assert float(short @ (fisher @ short)) / 2 < 0.04  # damping took the rest
    long = full_step(found, 0.05, damping=2.0)
    assert float(long @ (fisher @ long)) / 2 == pytest.approx(0.05)


def test_a_curvature_of_damping_alone_makes_no_endless_step() -> None:
    solution = Solution(torch.tensor([3.0, 4.0]), 0.0, curvature=2.5, iterations=1)
    step = full_step(solution, 0.02, damping=0.1)  # 0.1 * 25 is all of it
    assert float(step.norm()) == pytest.approx(5.0 * math.sqrt(0.04 / (2.5 * REAL)))


def test_a_small_gradient_is_solved_as_well_as_a_large_one() -> None:
    matrix = torch.diag(torch.logspace(-1, 1, 8, dtype=torch.float64))
    target = torch.full((8,), 1e-9, dtype=torch.float64)
    found = conjugate_gradient(lambda v: matrix @ v, target, iterations=8)
    assert found.residual < 1e-4
    assert no_direction(target, found) == ""


@pytest.mark.parametrize(
    ("target", "sign", "reason"),
    [
        (torch.ones(4), 1.0, ""),
        (torch.zeros(4), 1.0, "no gradient"),
        (torch.ones(4), -1.0, "negative curvature"),
        (torch.full((4,), math.nan), 1.0, "not finite"),
        (torch.ones(4), math.nan, "not finite"),
    ],
)
def test_why_there_is_no_direction(target: torch.Tensor, sign: float, reason: str) -> None:
    solution = conjugate_gradient(lambda v: sign * v, target, iterations=4)
    assert no_direction(target, solution) == reason


@pytest.mark.parametrize(
    ("objective", "kl", "expected"),
    [
        (lambda f: f, lambda f: 0.5 * f, (1.0, 1, "")),
        (lambda f: f, lambda f: 4 * f, (0.25, 3, "")),
        (lambda f: -f, lambda f: 0.0, (0.0, 4, "no improvement")),
        (lambda f: f, lambda f: 99.0, (0.0, 4, "divergence")),
        (lambda f: math.nan, lambda f: 0.0, (0.0, 4, "not finite")),
        (lambda f: 0.0, lambda f: 0.0, (0.0, 4, "no improvement")),
    ],
)
def test_a_line_search_takes_the_longest_step_that_holds_or_says_why_none_did(
    objective: Any, kl: Any, expected: tuple[float, int, str]
) -> None:
    found = line_search(lambda f: (objective(f), kl(f)), start=0.0, max_kl=1.0, shrink=0.5, tries=4)
    assert (found.fraction, found.iterations, found.failure) == expected
    assert math.isnan(found.kl) is not found.success


@pytest.mark.parametrize("hidden", ["relu", "tanh"])
@pytest.mark.parametrize("output", ["linear", "tanh"])
def test_a_tangent_is_the_derivative_along_a_direction(hidden: Any, output: Any) -> None:
    network = DenseNetwork((3, 8, 8, 2), hidden=hidden, output=output, gain=1.0, extra=2, seed=1)
    inputs = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    direction = torch.randn(len(network.parameters), generator=torch.Generator().manual_seed(1))
    network.forward(inputs)
    found = network.tangent(direction)
    before = network.parameters.clone()
    sides = []
    for sign in (1, -1):
        network.parameters.copy_(before + sign * 1e-3 * direction)
        sides.append(network.forward(inputs).clone())
    torch.testing.assert_close(found, (sides[0] - sides[1]) / 2e-3, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("task", ["CartPole-v1", "Pendulum-v1"])
def test_the_fisher_product_is_the_curvature_of_the_kl(task: str, trpo_config: Make) -> None:
    config = trpo_config(environment__id=task, hidden_sizes=[4], damping=0.0)
    learner, data = _learner(config)
    actor, policy = learner.actor, learner.policy
    product = trpo.FisherProduct(learner, data, actor.forward(data.observations), config)
    outputs = actor.forward(data.observations).clone()
    flat = actor.parameters.clone()
    assert isinstance(actor, DenseNetwork)
    sizes, extra = actor.sizes, len(actor.extra)

    def divergence(parameters: torch.Tensor) -> torch.Tensor:
        current, offset = data.observations, 0
        for index in range(len(sizes) - 1):
            i, o = sizes[index], sizes[index + 1]
            weight = parameters[offset : offset + i * o].view(o, i)
            current = current @ weight.t() + parameters[offset + i * o : offset + i * o + o]
            offset += i * o + o
            if index < len(sizes) - 2:
                current = torch.tanh(current)
        free = parameters[len(parameters) - extra :]
        old = (outputs, flat[len(flat) - extra :])
        return policy.divergence(old, (current, free)).mean()

    curvature = torch.autograd.functional.hessian(divergence, flat)  # type: ignore[no-untyped-call]
    vector = torch.randn(len(flat), generator=torch.Generator().manual_seed(0))
    actor.forward(data.observations)
    torch.testing.assert_close(product(vector), curvature @ vector, atol=1e-4, rtol=1e-3)


def test_the_gradient_that_is_followed_is_the_objectives_own(trpo_config: Make) -> None:
    config = trpo_config(entropy_weight=0.3)
    learner, data = _learner(config)
    gains = normalised(data.advantages)
    _, outputs = trpo.objective(learner, data, gains, 0.3)
    slope = trpo.ascent(learner, outputs, data, gains, 0.3)
    entropy_slope = trpo.FisherProduct(learner, data, outputs, config).entropy_slope(0.3)
    before = learner.actor.parameters.clone()
    direction = torch.randn(len(slope), generator=torch.Generator().manual_seed(0))

    def along(bonus: float) -> float:
        values = []
        for sign in (1, -1):
            learner.actor.parameters.copy_(before + sign * 1e-3 * direction)
            values.append(trpo.objective(learner, data, gains, bonus)[0])
        return (values[0] - values[1]) / 2e-3

    assert along(0.3) == pytest.approx(float(slope @ direction), rel=0.02, abs=2e-3)
    surrogate = float((slope - entropy_slope) @ direction)
    assert along(0.0) == pytest.approx(surrogate, rel=0.02, abs=2e-3)


def test_an_update_stays_in_its_trust_region_and_gains_what_it_says(trpo_config: Make) -> None:
    config = trpo_config(max_kl=0.02)
    learner, data = _learner(config)
    gains = normalised(data.advantages)
    start, old = trpo.objective(learner, data, gains, 0.0)
    kept = (old.clone(), learner.actor.extra.clone())
    signals = trpo.update_policy(learner, data, config)
    end, new = trpo.objective(learner, data, gains, 0.0)
    assert signals["trpo.line_search_success"] == 1
    assert signals["trpo.improvement"] == pytest.approx(end - start, abs=1e-6)
    kl = float(learner.policy.divergence(kept, (new, learner.actor.extra)).mean())
    assert signals["policy.kl"] == pytest.approx(kl, abs=1e-6)
    assert 0 < kl <= 0.02
    assert signals["trpo.predicted_improvement"] > 0
    promised = signals["trpo.predicted_improvement"]
    assert signals["trpo.gain_ratio"] == pytest.approx(signals["trpo.improvement"] / promised)
    assert 0.3 < signals["trpo.gain_ratio"] < 1.3


def test_heavy_damping_shortens_steps_unless_the_whole_region_is_asked_for(
    trpo_config: Make,
) -> None:
    shares = {}
    for whole in (False, True):
        config = trpo_config(damping=100.0, whole_region=whole, rollout_length=256)
        learner, data = _learner(config)
        shares[whole] = trpo.update_policy(learner, data, config)["trpo.kl_share"]
    assert shares[False] < 0.05
    assert shares[True] > 0.2
    assert shares[True] <= 1.0


def test_a_failed_search_restores_the_weights_exactly_and_has_no_kl(
    trpo_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = trpo_config()
    learner, data = _learner(config)
    before = learner.actor.parameters.clone()

    def refuse(evaluate: Any, **settings: Any) -> SearchResult:
        return line_search(lambda f: (-1e9, evaluate(f)[1]), **settings)

    monkeypatch.setattr(trpo, "line_search", refuse)
    signals = trpo.update_policy(learner, data, config)
    assert torch.equal(learner.actor.parameters, before)
    assert math.isnan(signals["policy.kl"])
    assert signals["trpo.line_search_success"] == 0
    assert signals["trpo.failed_no_improvement"] == 1
    assert signals["trpo.step_fraction"] == 0


def test_a_failed_search_is_no_broken_number(
    trpo_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = SearchResult(0.0, 10, 0.0, math.nan, "no improvement")
    monkeypatch.setattr(trpo, "line_search", lambda evaluate, **settings: failed)
    train(trpo_config(), tmp_path / "run")
    store = RunReader.open(tmp_path / "run")
    assert all(math.isnan(step.signals["policy.kl"]) for step in store.steps())
    rules = {event["rule"] for event in store.events() if event["event"] == "finding"}
    assert "D001" not in rules


def test_the_stabiliser_acts_through_the_audited_door_down_to_its_floor(
    trpo_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = SearchResult(0.0, 10, 0.0, math.nan, "divergence")
    monkeypatch.setattr(trpo, "line_search", lambda evaluate, **settings: failed)
    config = trpo_config(
        stabiliser=True,
        stabiliser_failures=2,
        stabiliser_kl_floor=0.009,
        max_kl=0.02,
        damping=0.1,
        total_env_steps=1024,
    )
    train(config, tmp_path / "run", guard="off")
    store = RunReader.open(tmp_path / "run")
    steps = list(store.steps())
    regions = [step.signals["setting.max_kl"] for step in steps]
    assert regions[:6] == pytest.approx([0.02, 0.02, 0.016, 0.016, 0.0128, 0.0128])
    assert regions[-1] == 0.009
    assert steps[-1].signals["setting.damping"] == pytest.approx(0.2)
    changes = [event for event in store.events() if event["event"] == "change"]
    assert changes[0]["step"] == 2
    assert "2 line searches in a row failed" in changes[0]["because"]


def test_the_stabiliser_counts_beyond_what_the_window_holds(trpo_config: Make) -> None:
    config = trpo_config(stabiliser=True, stabiliser_failures=300)
    window = Window(None)
    acted = []
    for index in range(1, 701):
        failures = float(max(0, index - 50))
        window.append(Step(index, index, 0.0, {"trpo.failed_in_a_row": failures}))
        if adjust(window, config) is not None:
            acted.append(index)
    assert acted == [350, 650]


def test_the_stabiliser_leaves_a_run_alone_that_succeeds(trpo_config: Make, tmp_path: Path) -> None:
    train(trpo_config(stabiliser=True, stabiliser_failures=1), tmp_path / "run")
    store = RunReader.open(tmp_path / "run")
    succeeded = [step.signals["trpo.line_search_success"] for step in store.steps()]
    changes = [event for event in store.events() if event["event"] == "change"]
    assert bool(changes) is not all(succeeded)


def test_fisher_products_on_a_share_of_the_samples_point_the_same_way(trpo_config: Make) -> None:
    config = trpo_config(rollout_length=512)
    learner, data = _learner(config)
    gains = normalised(data.advantages)
    _, outputs = trpo.objective(learner, data, gains, 0.0)
    slope = trpo.ascent(learner, outputs, data, gains, 0.0)
    directions = []
    for share in (1.0, 0.25):
        some = config.replaced({"fisher_share": share})
        product = trpo.FisherProduct(learner, data, outputs, some)
        directions.append(conjugate_gradient(product, slope, iterations=10).direction)
    assert float(torch.cosine_similarity(directions[0], directions[1], dim=0)) > 0.95


def test_a_killed_run_goes_on_exactly(trpo_config: Make, tmp_path: Path) -> None:
    config = trpo_config(fisher_share=0.5, entropy_weight=0.01, normalize_rewards=True)
    train(config, tmp_path / "whole")

    class Killed(Exception):
        pass

    def kill(step: Any) -> None:
        if step.index == 5:
            raise Killed

    with pytest.raises(Killed):
        train(config, tmp_path / "cut", observers=Observers(step=kill))
    resume(tmp_path / "cut")
    assert not compare_runs(tmp_path / "whole", tmp_path / "cut").differences


def test_trpo_learns_to_balance(trpo_config: Make, tmp_path: Path) -> None:
    config = trpo_config(
        total_env_steps=16_000,
        environment__count=8,
        rollout_length=128,
        hidden_sizes=[64, 64],
        max_kl=0.02,
        evaluation__every=4_000,
        evaluation__episodes=5,
    )
    summary, path = train(config, tmp_path / "run")
    assert summary.best_return is not None
    assert summary.best_return > 100
    kls = [step.signals["policy.kl"] for step in RunReader.open(path).steps()]
    assert np.nanmax(kls) <= 0.02
