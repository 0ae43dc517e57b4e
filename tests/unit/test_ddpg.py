from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from steadyrl.algorithms.common import device
from steadyrl.algorithms.common.training import prepare
from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.ddpg.ddpg import td_targets, update
from steadyrl.algorithms.ddpg.lately import Updated, of_updates
from steadyrl.algorithms.ddpg.learner import DDPGLearner
from steadyrl.algorithms.ddpg.signals import inspect_networks
from steadyrl.core.catalogue import aged, cloning, language, policy, trust_region, world
from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.core.signals import CATALOGUE
from steadyrl.environments.envs import Envs

Make = Callable[..., DDPGConfig]


def _learner(config: DDPGConfig, rows: int = 64) -> DDPGLearner:
    envs = Envs(config.environment, seed=config.seed)
    learner = DDPGLearner(config, envs, torch.device("cpu"))
    generator = np.random.default_rng(0)
    learner.replay.add(
        generator.normal(size=(rows, 3)),
        generator.uniform(-1, 1, (rows, 1)),
        generator.normal(size=rows),
        generator.normal(size=(rows, 3)),
        generator.random(rows) < 0.3,
        np.zeros(rows, dtype=bool),
    )
    return learner


def _measured(updated: Updated) -> dict[str, float]:
    return {name: value for name, [value] in of_updates([updated]).items()}


def _module(network: Any) -> torch.nn.Sequential:
    from tests.unit.test_maths import _as_module

    return _as_module(network)


def test_a_terminal_transitions_target_is_its_reward_and_others_bootstrap(
    small_config: Make,
) -> None:
    config = small_config(gamma=0.9)
    learner = _learner(config)
    batch = learner.replay.fetch(np.arange(64))
    targets = td_targets(learner, batch, config)
    ended = batch.terminated[:, 0] == 1
    assert 0 < int(ended.sum()) < 64
    assert torch.equal(targets[ended], batch.rewards[ended])
    actions = _module(learner.target_actor)(batch.next_observations)
    values = _module(learner.target_critics[0])(torch.cat((batch.next_observations, actions), 1))
    expected = (batch.rewards + 0.9 * values)[~ended]
    torch.testing.assert_close(targets[~ended], expected.detach(), rtol=1e-4, atol=1e-5)


def test_truncated_episodes_are_stored_as_going_on(small_config: Make) -> None:
    for truncate, expected in ((False, 1.0), (True, 0.0)):
        config = small_config(
            environment__id="test/Countdown-v0",
            environment__settings={"length": 5, "truncate": truncate},
            total_env_steps=5,
            log_every=5,
            evaluation__episodes=0,
        )
        training = prepare(config)
        list(training.steps)
        assert isinstance(training.learner, DDPGLearner)
        last = training.learner.replay.fetch(np.array([4]))
        assert float(last.terminated) == expected
        assert float(last.next_observations[0, 0]) == 0.0


def test_an_end_that_comes_with_the_time_limit_is_an_end(small_config: Make) -> None:
    import gymnasium

    def late(**settings: Any) -> Any:
        ending = gymnasium.make("test/Countdown-v0", disable_env_checker=True, **settings)
        return gymnasium.wrappers.TimeLimit(ending, settings["length"])

    if "test/LateCountdown-v0" not in gymnasium.registry:
        gymnasium.register("test/LateCountdown-v0", entry_point=late)
    config = small_config(
        environment__id="test/LateCountdown-v0",
        environment__settings={"length": 5},
        evaluation__episodes=0,
    )
    training = prepare(config)
    last = list(training.steps)[-1]
    assert isinstance(training.learner, DDPGLearner)
    assert float(training.learner.replay.fetch(np.array([4])).terminated) == 1.0
    assert last.signals.get("replay.truncated_as_terminated", 0.0) == 0.0


@pytest.mark.parametrize("spread", [1e-30, 1.0, 1e6])
def test_a_component_is_constant_if_it_never_changes_however_small_changes_are(
    small_config: Make, spread: float
) -> None:
    config = small_config()
    learner = _learner(config)
    rows = learner.replay.fetch(np.arange(64)).rows.numpy()
    rows[:, 0], rows[:, 1] = spread * rows[:, 0], 0.1
    learner.replay.load_state_dict({**learner.replay.state_dict(), "rows": rows})
    learner.last_indices = np.arange(64)
    signals = inspect_networks(learner, config, td_targets)
    assert signals["observation.constant_share"] == pytest.approx(1 / 3)
    expected = max(spread, 1 / spread)
    assert 0.5 < signals["observation.scale_ratio"] / expected < 2.0


def test_one_update_equals_the_textbook_update_by_autograd(small_config: Make) -> None:
    config = small_config(learning_rate=0.01, tau=0.1, gamma=0.95)
    learner = _learner(config)
    actor, critic = _module(learner.actor), _module(learner.critics[0])
    target_actor, target_critic = _module(learner.target_actor), _module(learner.target_critics[0])
    batch = learner.replay.fetch(np.arange(32))
    s, a = batch.observations.clone(), batch.actions.clone()
    s2, r, d = batch.next_observations.clone(), batch.rewards.clone(), batch.terminated.clone()
    signals = _measured(update(learner, batch, config))

    with torch.no_grad():
        y = r + 0.95 * (1 - d) * target_critic(torch.cat((s2, target_actor(s2)), 1))
    critic_loss = torch.nn.functional.mse_loss(critic(torch.cat((s, a), 1)), y)
    optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    critic_loss.backward()  # type: ignore[no-untyped-call]
    norm = torch.cat([p.grad.flatten() for p in critic.parameters() if p.grad is not None]).norm()
    optimizer.step()
    actor_loss = -critic(torch.cat((s, actor(s)), 1)).mean()
    optimizer = torch.optim.Adam(actor.parameters(), lr=0.01)
    actor_loss.backward()
    optimizer.step()

    assert signals["critic.loss"] == pytest.approx(critic_loss.item(), rel=1e-4)
    assert signals["actor.loss"] == pytest.approx(actor_loss.item(), rel=1e-3, abs=1e-5)
    assert signals["critic.gradient_norm"] == pytest.approx(float(norm), rel=1e-3)

    def flat(module: torch.nn.Module) -> torch.Tensor:
        return torch.cat([p.detach().flatten() for p in module.parameters()])

    torch.testing.assert_close(learner.critics[0].parameters, flat(critic), rtol=1e-3, atol=2e-5)
    torch.testing.assert_close(learner.actor.parameters, flat(actor), rtol=1e-3, atol=2e-5)
    mixed = 0.9 * flat(target_critic) + 0.1 * flat(critic)
    torch.testing.assert_close(learner.target_critics[0].parameters, mixed, rtol=1e-3, atol=2e-5)


def test_updates_measured_together_are_measured_as_each_alone(small_config: Make) -> None:
    config = small_config(twin_critics=True, policy_delay=2)
    learner = _learner(config)
    batches = (learner.replay.fetch(np.arange(start, start + 16)) for start in range(5))
    updated = [update(learner, batch, config) for batch in batches]
    alone: dict[str, list[float]] = {}
    for one in updated:
        for name, values in of_updates([one]).items():
            alone.setdefault(name, []).extend(values)
    together = of_updates(updated)
    assert together.keys() == alone.keys()
    for name, values in together.items():
        assert values == pytest.approx(alone[name], rel=1e-6), name
    assert len(together["critic.loss"]) == 5
    assert len(together["actor.loss"]) == 2


def test_twin_critics_bootstrap_from_the_smaller_value(small_config: Make) -> None:
    config = small_config(twin_critics=True)
    learner = _learner(config)
    batch = learner.replay.fetch(np.arange(64))
    both = td_targets(learner, batch, config)
    learner.target_critics = learner.target_critics[:1]
    assert bool((both <= td_targets(learner, batch, config) + 1e-6).all())


def test_the_policy_waits_for_its_delay(small_config: Make) -> None:
    config = small_config(policy_delay=3)
    learner = _learner(config)
    before = learner.actor.parameters.clone(), learner.target_actor.parameters.clone()
    for expected in (True, True, False):
        update(learner, learner.replay.fetch(np.arange(16)), config)
        assert torch.equal(learner.actor.parameters, before[0]) is expected
        assert torch.equal(learner.target_actor.parameters, before[1]) is expected


def test_target_noise_is_bounded_and_moves_the_targets(small_config: Make) -> None:
    calm = small_config()
    noisy = small_config(target_noise_std=5.0, target_noise_clip=0.0)
    learner = _learner(calm)
    batch = learner.replay.fetch(np.arange(64))
    plain = td_targets(learner, batch, calm).clone()
    assert torch.equal(td_targets(learner, batch, noisy), plain)
    loud = small_config(target_noise_std=5.0, target_noise_clip=0.5)
    assert not torch.equal(td_targets(learner, batch, loud), plain)


def test_clipping_bounds_the_step_but_not_the_reported_norm(small_config: Make) -> None:
    plain, clipped = small_config(), small_config(gradient_clip=1e-4)
    free, bound = _learner(plain), _learner(clipped)
    batch = free.replay.fetch(np.arange(32))
    first = _measured(update(free, batch, plain))
    second = _measured(update(bound, batch, clipped))
    assert second["critic.gradient_norm"] == pytest.approx(first["critic.gradient_norm"])
    assert float(bound.critics[0].gradient.norm()) == pytest.approx(1e-4, rel=1e-3)


def test_the_q_bound_ratio_tells_divergence_from_scale(small_config: Make) -> None:
    config = small_config()
    learner = _learner(config)
    learner.reward_abs_max = 1.0
    signals = _measured(update(learner, learner.replay.fetch(np.arange(16)), config))
    assert signals["q.bound_ratio"] == pytest.approx(signals["q.abs_max"] / 100.0)


def test_reward_scale_scales_what_is_learned_from_not_what_is_reported(small_config: Make) -> None:
    training = prepare(small_config(reward_scale=0.01, total_env_steps=60))
    steps = list(training.steps)
    assert isinstance(training.learner, DDPGLearner)
    assert steps[-1].signals["rollout.reward_abs_max"] > 0.2
    assert float(training.learner.replay.fetch(np.arange(60)).rewards.abs().max()) < 0.2


def test_normalised_observations_have_unit_variance(small_config: Make) -> None:
    training = prepare(small_config(normalize_observations=True))
    list(training.steps)
    learner = training.learner
    assert isinstance(learner, DDPGLearner)
    raw = learner.replay.fetch(np.arange(300)).observations.numpy()
    scaled = learner.moments.normalize(raw)
    assert raw.std(axis=0).max() > 2.0
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, atol=0.05)


@pytest.mark.parametrize("count", [1, 4])
def test_updates_per_environment_step_hold_for_any_number_of_copies(
    small_config: Make, count: int
) -> None:
    config = small_config(
        environment__count=count, train_every=2, updates_per_training=3, learning_starts=0
    )
    steps = list(prepare(config).steps)
    assert steps[-1].taken == 300
    assert steps[-1].signals["replay.updates_per_env_step"] == pytest.approx(1.5)
    assert steps[-1].signals["train.updates"] == 450


@pytest.mark.parametrize("replay", ["uniform", "prioritised"])
def test_all_declared_signals_of_ddpg_are_measured(small_config: Make, replay: str) -> None:
    seen: set[str] = set()
    for step in prepare(small_config(replay=replay, gradient_clip=10.0)).steps:
        seen |= step.signals.keys()
    # Pendulum never terminates; the machine is measured by the run, not by the trainer.
    groups = (policy, trust_region, cloning, language, aged, world)
    others = {signal.name for group in groups for signal in group.SIGNALS}
    # The second row: only other programs record these.
    absent = {
        *("td.terminal_error", "rollout.truncated_as_terminated", "run.restarted"),
        *("rollout.episode_return", "rollout.success_rate", "eval.success_rate"),
        "setting.exploration_rate",
    } | {name for name in CATALOGUE if name.startswith("machine.")}
    assert seen == CATALOGUE.keys() - absent - others


def test_steps_come_at_the_asked_intervals_and_evaluations_too(small_config: Make) -> None:
    steps = list(prepare(small_config(total_env_steps=310)).steps)
    assert [step.taken for step in steps] == [*range(20, 301, 20), 310]
    assert [s.taken for s in steps if "eval.return_mean" in s.signals] == [100, 200, 300, 310]
    assert [step.index for step in steps] == list(range(1, 17))


def test_equal_seeds_give_equal_runs_and_others_do_not(small_config: Make) -> None:
    def losses(seed: int) -> list[Any]:
        steps = prepare(small_config(seed=seed, total_env_steps=120)).steps
        return [step.signals.get("critic.loss") for step in steps]

    assert losses(1) == losses(1)
    assert losses(1) != losses(2)


def test_discrete_actions_are_refused(small_config: Make) -> None:
    with pytest.raises(EnvironmentFault, match="DDPG needs continuous actions"):
        prepare(small_config(environment__id="CartPole-v1"))


def test_an_absent_device_is_refused(small_config: Make) -> None:
    with pytest.raises(ConfigError, match=r"compute\.device = 'cuda'"):
        prepare(small_config(compute__device="cuda"))


def test_bf16_is_refused_where_the_processor_only_emulates_it(
    small_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_config(compute__precision="bf16", total_env_steps=60, evaluation__episodes=0)
    monkeypatch.setattr(device, "has_fast_bf16", lambda: False)
    with pytest.raises(ConfigError, match="only emulates bf16"):
        prepare(config)
    monkeypatch.setattr(device, "has_fast_bf16", lambda: True)
    assert list(prepare(config).steps)[-1].signals["critic.loss"] > 0


def test_it_learns_to_take_the_rewarded_action(small_config: Make) -> None:
    """One-step episodes with reward -(a - 0.5)^2: the policy must settle at 0.5."""
    import gymnasium

    class Bandit(gymnasium.Env[Any, Any]):
        observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))
        action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,))

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            return np.zeros(1, dtype=np.float32), {}

        def step(self, action: Any) -> Any:
            return np.zeros(1, np.float32), -float((action[0] - 0.5) ** 2), True, False, {}

    if "test/Bandit-v0" not in gymnasium.registry:
        gymnasium.register("test/Bandit-v0", entry_point=lambda **_: Bandit())
    config = small_config(
        environment__id="test/Bandit-v0",
        total_env_steps=2000,
        batch_size=64,
        noise_std=0.3,
        learning_rate=5e-3,
        buffer_size=2000,
    )
    training = prepare(config)
    last = list(training.steps)[-1]
    assert isinstance(training.learner, DDPGLearner)
    action = float(training.learner.policy(np.zeros((1, 1), np.float32), config)[0, 0])
    assert action == pytest.approx(0.5, abs=0.1)
    assert last.signals["rollout.terminated_share"] == 1.0
