from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from stable_baselines3 import A2C, DDPG, DQN, PPO, SAC
from stable_baselines3.common.callbacks import CallbackList, EvalCallback, EveryNTimesteps
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

from steadyrl.core.errors import ConfigError
from steadyrl.core.records import Step
from steadyrl.integrations.sb3 import SteadyCallback
from steadyrl.integrations.sb3_common import observation_signals
from steadyrl.integrations.sb3_model import not_finite
from steadyrl.integrations.sb3_on_policy import OnPolicyMeter
from steadyrl.judging import judge
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.store.reader import RunReader

SMALL = {"net_arch": [16, 16]}


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def model_of(kind: str, **changes: Any) -> Any:
    off: dict[str, Any] = {"policy_kwargs": dict(SMALL), "seed": 0, "learning_starts": 100}
    off |= {"batch_size": 32, **changes}
    noise = NormalActionNoise(np.zeros(1), 0.1 * np.ones(1))
    match kind:
        case "ppo":
            return PPO("MlpPolicy", "CartPole-v1", n_steps=256, seed=0, **changes)
        case "a2c":
            return A2C("MlpPolicy", "CartPole-v1", seed=0, **changes)
        case "ddpg":
            return DDPG("MlpPolicy", "Pendulum-v1", action_noise=noise, **off)
        case "sac":
            return SAC("MlpPolicy", "Pendulum-v1", **off)
        case _:
            return DQN("MlpPolicy", "CartPole-v1", **off)


def watched(model: Any, path: Path, steps: int, **options: Any) -> list[Step]:
    callback = SteadyCallback(path, every=200, say=lambda _: None, **options)
    model.learn(steps, callback=callback)
    return list(RunReader.open(path).steps())


@pytest.mark.parametrize("kind", ["ppo", "a2c", "ddpg", "sac", "dqn"])
def test_a_watched_model_learns_exactly_what_it_would_alone(kind: str, tmp_path: Path) -> None:
    alone = model_of(kind).learn(300)
    model = model_of(kind)
    steps = watched(model, tmp_path / "run", 300)
    for name, weights in alone.policy.state_dict().items():
        assert torch.equal(weights, model.policy.state_dict()[name]), name
    assert steps


class Maskable(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Every action is allowed."""

    def action_masks(self) -> Any:
        return np.ones(2, dtype=bool)


CONTRIB: dict[str, tuple[str, str, dict[str, Any]]] = {
    "TRPO": ("MlpPolicy", "CartPole-v1", {"n_steps": 128}),
    "RecurrentPPO": ("MlpLstmPolicy", "CartPole-v1", {"n_steps": 80, "n_epochs": 1}),
    "MaskablePPO": ("MlpPolicy", "CartPole-v1", {"n_steps": 80, "n_epochs": 2}),
    "TQC": ("MlpPolicy", "Pendulum-v1", {"policy_kwargs": dict(SMALL), "batch_size": 32}),
    "CrossQ": ("MlpPolicy", "Pendulum-v1", {"policy_kwargs": dict(SMALL), "batch_size": 32}),
    "QRDQN": ("MlpPolicy", "CartPole-v1", {"policy_kwargs": dict(SMALL), "learning_starts": 100}),
    "ARS": ("LinearPolicy", "CartPole-v1", {"n_delta": 2}),
}


@pytest.mark.parametrize("kind", CONTRIB)
def test_models_of_contrib_learn_what_they_would_alone(kind: str, tmp_path: Path) -> None:
    contrib = pytest.importorskip("sb3_contrib")
    policy, environment, settings = CONTRIB[kind]

    def model() -> Any:
        env = Maskable(gymnasium.make(environment))
        return getattr(contrib, kind)(policy, env, seed=0, **settings)

    said: list[str] = []
    alone, looked_at = model().learn(160), model()
    callback = SteadyCallback(tmp_path / "run", every=40, say=said.append)
    looked_at.learn(160, callback=callback)
    for name, weights in alone.policy.state_dict().items():
        assert torch.equal(weights, looked_at.policy.state_dict()[name]), name
    assert not [line for line in said if "error of its own" in line]
    assert "time.rate" in list(RunReader.open(tmp_path / "run").steps())[-1].signals


class Guessing(gymnasium.Env[Any, Any]):
    """Any spaces; nothing in it can be learned."""

    def __init__(self, seen: gymnasium.Space[Any], done: gymnasium.Space[Any]) -> None:
        self.observation_space, self.action_space = seen, done
        self.observation_space.seed(0)
        self.taken = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        self.taken += 1
        return self.observation_space.sample(), 1.0, self.taken % 10 == 0, False, {}


VECTOR = gymnasium.spaces.Box(-1.0, 1.0, (3,), np.float32)
CHOICES = gymnasium.spaces.Discrete(3)


@pytest.mark.parametrize(
    ("seen", "done"),
    [
        (VECTOR, gymnasium.spaces.MultiBinary(4)),
        (VECTOR, gymnasium.spaces.MultiDiscrete([3, 2])),
        (gymnasium.spaces.Dict({"a": VECTOR, "b": CHOICES}), CHOICES),
        (gymnasium.spaces.Box(-1.0, 1.0, (3, 4), np.float64), VECTOR),
        (gymnasium.spaces.MultiBinary(5), CHOICES),
    ],
)
def test_models_of_any_space_are_watched_to_the_end(
    seen: gymnasium.Space[Any], done: gymnasium.Space[Any], tmp_path: Path
) -> None:
    said: list[str] = []
    policy = "MultiInputPolicy" if isinstance(seen, gymnasium.spaces.Dict) else "MlpPolicy"
    model = PPO(policy, Guessing(seen, done), n_steps=64, n_epochs=1, seed=0)
    model.learn(128, callback=SteadyCallback(tmp_path / "run", say=said.append))
    assert not [line for line in said if "error of its own" in line]
    last = list(RunReader.open(tmp_path / "run").steps())[-1]
    assert last.taken == 128
    assert last.signals["policy.update_ratio"] > 0.0


def test_one_episode_is_neither_a_collapse_nor_a_standstill(tmp_path: Path) -> None:
    model = model_of("sac")
    callback = SteadyCallback(tmp_path / "run", say=lambda _: None)
    model.learn(300, callback=callback)
    verdict = judge(tmp_path / "run")
    assert not {"D009", "D011"} & {finding.rule for finding in verdict.findings}
    assert verdict.standing.learned == "cannot tell"


def test_updates_of_one_sample_are_no_fault_of_the_model(tmp_path: Path) -> None:
    steps = watched(model_of("a2c", n_steps=1), tmp_path / "run", 600)
    measured = [step.signals for step in steps if "policy.kl" in step.signals]
    assert len(measured) > 1
    assert not any("policy.improvement" in signals for signals in measured)
    assert "D001" not in {finding.rule for finding in judge(tmp_path / "run").findings}


def test_within_a_callback_that_hands_on_few_steps_it_says_how_to_be_passed(tmp_path: Path) -> None:
    said: list[str] = []
    callback = SteadyCallback(tmp_path / "run", say=said.append)
    model_of("ppo").learn(600, callback=EveryNTimesteps(100, callback))
    assert len(said) == 1
    assert "EveryNTimesteps hands on few steps and no updates" in said[0]
    assert "Pass this callback to learn() itself" in said[0]
    assert not (tmp_path / "run").exists()


def test_ppo_is_measured_where_stable_baselines_is_silent(tmp_path: Path) -> None:
    steps = watched(model_of("ppo"), tmp_path / "run", 1024)
    updates = [step.taken for step in steps if "policy.kl" in step.signals]
    assert updates == [256, 512, 768, 1024]
    signals = steps[-1].signals
    assert signals["policy.first_ratio_error"] < 1e-5
    assert 0.0 < signals["policy.kl_first_epoch"] < signals["policy.kl"] < 0.1
    assert signals["policy.gradient_norm_max"] >= signals["policy.gradient_norm"] > 0.0
    assert signals["value.gradient_norm"] > 0.5  # as it was before clipping at 0.5
    assert 0.5 < signals["policy.entropy_share"] <= 1.0
    assert signals["policy.improvement"] > 0.0
    assert signals["rollout.terminated_share"] == 1.0
    assert "setting.entropy_weight" in signals


@pytest.mark.parametrize("kind", ["ppo", "dqn"])
def test_gradients_are_those_before_anyone_clips_them(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: dict[str, list[float]] = {}
    clip = torch.nn.utils.clip_grad_norm_

    def seen(parameters: Any, *limit: Any) -> Any:
        parts: dict[str, list[Any]] = {}
        for name, parameter in model.policy.named_parameters():
            if parameter.grad is not None:
                part = "critic" if "q_net" in name else "value" if "value" in name else "policy"
                parts.setdefault(part, []).append(parameter.grad.flatten())
        for part, grads in parts.items():
            lengths.setdefault(part, []).append(float(torch.cat(grads).norm()))
        return clip(parameters, *limit)

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", seen)
    model = model_of(kind)
    steps = watched(model, tmp_path / "run", 256)
    told = [step.signals for step in steps if any("gradient_norm" in n for n in step.signals)]
    assert set(lengths) == ({"policy", "value"} if kind == "ppo" else {"critic"})
    for part, every in lengths.items():
        if part != "value":
            highest = max(signals[f"{part}.gradient_norm_max"] for signals in told)
            assert highest == pytest.approx(max(every), rel=1e-4)
        if part != "critic":  # one update, one Step
            (signals,) = told
            assert signals[f"{part}.gradient_norm"] == pytest.approx(np.mean(every), rel=1e-4)


def test_trpo_has_gradients_of_its_critic_only(tmp_path: Path) -> None:
    # Its policy is moved by products with curvatures, whose lengths are no gradient's.
    contrib = pytest.importorskip("sb3_contrib")
    model = contrib.TRPO("MlpPolicy", "CartPole-v1", n_steps=256, seed=0)
    signals = watched(model, tmp_path / "run", 512)[-1].signals
    assert signals["policy.update_ratio"] > 0.0
    assert signals["value.gradient_norm"] > 0.0
    assert "policy.gradient_norm" not in signals


def test_the_kl_is_that_of_the_whole_update(tmp_path: Path) -> None:
    model = model_of("ppo", n_epochs=1, batch_size=256, learning_rate=0.01)
    seen: dict[str, Any] = {}
    callback = SteadyCallback(tmp_path / "run", every=200, say=lambda _: None)
    kept = callback._on_rollout_end

    def keep() -> None:
        kept()
        buffer = model.rollout_buffer
        seen["samples"] = [
            torch.as_tensor(array.reshape(256, *array.shape[2:]))
            for array in (buffer.observations, buffer.actions, buffer.log_probs)
        ]

    callback._on_rollout_end = keep  # type: ignore[method-assign]
    model.learn(256, callback=callback)
    observations, actions, old = seen["samples"]
    with torch.no_grad():
        _, new, _ = model.policy.evaluate_actions(observations, actions.long().flatten())
    gap = new - old.flatten()
    *episodes, step = RunReader.open(tmp_path / "run").steps()
    assert all(set(told.signals) == {"rollout.episode_return"} for told in episodes)
    assert step.signals["policy.kl"] == pytest.approx(float((gap.exp() - 1 - gap).mean()), rel=1e-4)


def test_ddpg_shows_values_targets_and_memory(tmp_path: Path) -> None:
    model = model_of("ddpg")
    signals = watched(model, tmp_path / "run", 600)[-1].signals
    assert 0.0 < signals["q.bound_ratio"] < 1.0
    assert signals["q.bound"] == pytest.approx(signals["rollout.reward_abs_max"] / 0.01, rel=0.5)
    assert signals["replay.truncated_as_terminated"] == 0.0
    assert signals["replay.misaligned_share"] == 0.0
    assert signals["critic.gradient_norm"] > 0.0
    assert signals["actor.gradient_norm"] > 0.0
    assert signals["target.change"] > 0.0
    assert signals["target.drift"] > 0.0
    assert 0.01 < signals["action.noise"] < 0.6


def test_a_buffer_that_takes_time_limits_for_ends_is_found_out(tmp_path: Path) -> None:
    model = model_of("ddpg", replay_buffer_kwargs={"handle_timeout_termination": False})
    watched(model, tmp_path / "run", 600)
    verdict = judge(tmp_path / "run")
    assert "D019" in {finding.rule for finding in verdict.findings}
    assert verdict.diagnoses[0].cause == "C207"


def test_a_component_that_never_changes_is_constant_and_has_no_scale() -> None:
    rows = np.random.default_rng(0).normal(size=(256, 3)).astype(np.float32)
    rows[:, 1] = 0.1  # whose deviation is not 0 when it is worked out in float32
    signals = observation_signals(rows)
    assert signals["observation.constant_share"] == pytest.approx(1 / 3)
    assert signals["observation.scale_ratio"] < 2.0


@pytest.fixture
def _jumping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every update counts as one that led 2 nats away: D102 is severe after the third."""
    measured = OnPolicyMeter.read
    monkeypatch.setattr(OnPolicyMeter, "read", lambda self: measured(self) | {"policy.kl": 2.0})


@pytest.mark.usefixtures("_jumping")
def test_something_severe_stops_the_run_if_asked_to(tmp_path: Path) -> None:
    model = model_of("ppo", n_epochs=2)
    watched(model, tmp_path / "run", 20_000, on_severe="stop")
    assert model.num_timesteps == 3 * 256 + 1
    store = RunReader.open(tmp_path / "run")
    summary = store.summary()
    assert summary is not None
    assert summary["status"] == "stopped"
    assert "D102 policy-jumps: the policy moves by 2 nats" in summary["message"]
    assert any(event["event"] == "stopped" for event in store.events())
    assert judge(tmp_path / "run").headline == "sick"


@pytest.mark.usefixtures("_jumping")
def test_something_severe_lowers_the_learning_rate_if_asked_to(tmp_path: Path) -> None:
    model = model_of("ppo", learning_rate=0.3, n_epochs=2)
    watched(model, tmp_path / "run", 1600, on_severe="lower_learning_rate")
    changes = [e for e in RunReader.open(tmp_path / "run").events() if e["event"] == "change"]
    assert (changes[0]["before"], changes[0]["after"]) == (0.3, pytest.approx(0.1))
    lowered = 0.3 / 3 ** len(changes)
    in_force = RunReader.open(tmp_path / "run").config_in_force()
    assert in_force.value_of("learning_rate") == pytest.approx(lowered)
    assert model.policy.optimizer.param_groups[0]["lr"] == pytest.approx(lowered)
    model.save(tmp_path / "model.zip")
    assert PPO.load(tmp_path / "model.zip").lr_schedule(1.0) == pytest.approx(lowered)


class Poisoned(gymnasium.Wrapper[Any, Any, Any, Any]):
    """From a step on, a reward or an observation that is no number."""

    def __init__(self, what: str) -> None:
        super().__init__(gymnasium.make("CartPole-v1"))
        self._what, self._left = what, 300

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._left -= 1
        if self._left < 0 and self._what == "reward":
            reward = float("nan")
        elif self._left < 0:
            worst = np.nan if self._what == "nan" else np.inf
            observation = np.array([0.0, worst, 0.0, 0.0], dtype=np.float32)
        return observation, reward, terminated, truncated, info


@pytest.mark.parametrize("what", ["reward", "observation"])
def test_a_number_that_is_none_is_found_before_the_model_raises(what: str, tmp_path: Path) -> None:
    said: list[str] = []
    model = PPO("MlpPolicy", DummyVecEnv([lambda: Poisoned(what)]), n_steps=256, seed=0)
    with pytest.raises(ValueError, match="nan"):
        model.learn(1024, callback=SteadyCallback(tmp_path / "run", every=200, say=said.append))
    assert sum("D001 non-finite-signal" in line for line in said) == 1
    verdict = judge(tmp_path / "run")
    assert verdict.headline == "sick"
    (finding,) = verdict.findings
    assert (finding.rule, finding.taken) == ("D001", 301)
    assert f"the {what} of environment 0" in finding.message
    assert [diagnosis.cause for diagnosis in verdict.diagnoses] == ["C236"]


def test_a_number_that_is_none_stops_the_model_before_it_learns_from_it(tmp_path: Path) -> None:
    model = PPO("MlpPolicy", DummyVecEnv([lambda: Poisoned("reward")]), n_steps=256, seed=0)
    watched(model, tmp_path / "run", 2048, on_severe="stop")
    assert model.num_timesteps == 301
    assert all(bool(torch.isfinite(p).all()) for p in model.policy.parameters())
    verdict = judge(tmp_path / "run")
    assert verdict.sentence.startswith("sick; stopped: D001 non-finite-signal")


def test_observations_that_are_no_numbers_are_not_taken_for_misplaced_ones(tmp_path: Path) -> None:
    model = model_of("dqn")
    model.set_env(DummyVecEnv([lambda: Poisoned("nan")]))
    steps = watched(model, tmp_path / "run", 800)
    assert np.isnan(model.replay_buffer.observations[400:800]).any()
    assert {step.signals.get("replay.misaligned_share", 0.0) for step in steps} == {0.0}
    assert [finding.rule for finding in judge(tmp_path / "run").findings] == ["D001"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rewards": np.ones(2, np.float32)}, None),
        ({"rewards": np.full(2, 3e38, np.float32)}, None),  # finite, though their sum is not
        ({"new_obs": np.zeros((2, 4), np.uint8)}, None),
        ({"rewards": np.array([1.0, np.nan])}, "the reward of environment 1 is nan"),
        (
            {"new_obs": {"camera": np.zeros((1, 2)), "arm": np.array([[0.0, -np.inf]])}},
            "the observation 'arm' of environment 0, component [1] is -inf",
        ),
        ({}, None),
    ],
)
def test_what_is_not_finite_is_named(given: dict[str, Any], said: str | None) -> None:
    found = not_finite(given)
    assert (found[0] if found else None) == said


def test_the_last_good_model_is_kept_and_can_be_loaded(tmp_path: Path) -> None:
    envs = VecNormalize(DummyVecEnv([lambda: Monitor(gymnasium.make("CartPole-v1"))]))
    model = PPO("MlpPolicy", envs, n_steps=256, seed=0)
    watched(model, tmp_path / "run", 1024)
    good = PPO.load(tmp_path / "run" / "last_good.zip")
    assert good.num_timesteps == 1024
    assert (tmp_path / "run" / "last_good_vecnormalize.pkl").exists()


def test_evaluations_of_a_neighbouring_callback_are_taken_up(tmp_path: Path) -> None:
    model = model_of("ppo")
    envs = DummyVecEnv([lambda: Monitor(gymnasium.make("CartPole-v1"))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluation = EvalCallback(envs, eval_freq=256, log_path=str(tmp_path), verbose=0)
    steady = SteadyCallback(tmp_path / "run", every=200, say=lambda _: None)
    model.learn(1024, callback=CallbackList([evaluation, steady]))
    steps = RunReader.open(tmp_path / "run").steps()
    returns = [s.signals.get("eval.return_mean") for s in steps if "policy.kl" in s.signals]
    assert returns == [np.mean(row) for row in evaluation.evaluations_results]


def test_the_log_of_stable_baselines_alone_is_read(tmp_path: Path) -> None:
    model = model_of("ppo", n_epochs=2)
    model.set_logger(configure(str(tmp_path / "log"), ["csv", "json", "tensorboard"]))
    model.learn(1536)
    model.logger.close()
    by_table = ForeignRun(tmp_path / "log")
    (tmp_path / "log" / "progress.csv").unlink()
    by_lines = ForeignRun(tmp_path / "log")
    (tmp_path / "log" / "progress.json").unlink()
    by_events = ForeignRun(tmp_path / "log")
    assert by_table.config.family == "ppo"
    for other in (by_lines, by_events):
        ours = {s.taken: s.signals["policy.kl"] for s in other.steps() if "policy.kl" in s.signals}
        theirs = [s for s in by_table.steps() if "policy.kl" in s.signals]
        assert len(theirs) >= 4
        for step in theirs:
            assert ours[step.taken] == pytest.approx(step.signals["policy.kl"], rel=1e-5)


@pytest.mark.usefixtures("_jumping")
def test_the_remedy_speaks_of_the_models_own_settings(tmp_path: Path) -> None:
    model = model_of("ppo", learning_rate=0.3, n_epochs=20)
    watched(model, tmp_path / "run", 3 * 256)
    verdict = judge(tmp_path / "run")
    assert verdict.diagnoses[0].cause == "C241"
    assert verdict.changes["R301"] == "learning_rate 0.3 -> 0.001"
    assert verdict.changes.get("R330", "n_epochs").startswith("n_epochs")


class Dropping(BaseFeaturesExtractor):
    def __init__(self, space: Any) -> None:
        super().__init__(space, features_dim=8)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Dropout(0.3)
        )

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = self.layers(observations)
        return values


def test_looking_leaves_dropout_and_batch_norm_as_they_were(tmp_path: Path) -> None:
    def model() -> PPO:
        return model_of("ppo", policy_kwargs={"features_extractor_class": Dropping})  # type: ignore[no-any-return]

    alone, seen = model().learn(512), model()
    watched(seen, tmp_path / "run", 512)
    for name, weights in alone.policy.state_dict().items():
        assert torch.equal(weights, seen.policy.state_dict()[name]), name


def test_without_a_discount_there_is_no_bound_and_no_crash(tmp_path: Path) -> None:
    signals = watched(model_of("dqn", gamma=1.0), tmp_path / "run", 600)[-1].signals
    assert "q.mean" in signals
    assert "q.bound_ratio" not in signals


def test_learning_on_goes_on_in_the_same_record(tmp_path: Path) -> None:
    model = model_of("dqn")
    callback = SteadyCallback(tmp_path / "run", every=200, say=lambda _: None)
    for _ in range(3):
        model.learn(400, callback=callback, reset_num_timesteps=False)
    steps = list(RunReader.open(tmp_path / "run").steps())
    whole = [step.taken for step in steps if "time.rate" in step.signals]
    assert whole == [200, 400, 600, 800, 1000, 1200]
    assert [step.taken for step in steps] == sorted(step.taken for step in steps)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert RunReader.open(tmp_path / "run").config.budget == 1200
    assert all(step.signals.get("replay.misaligned_share", 0.0) == 0.0 for step in steps)


def test_a_misspelt_answer_to_severe_findings_is_refused() -> None:
    with pytest.raises(ConfigError, match="on_severe = 'halt' is not one of: report, stop"):
        SteadyCallback("run", on_severe="halt")  # type: ignore[arg-type]


def test_a_short_run_has_a_step_too(tmp_path: Path) -> None:
    callback = SteadyCallback(tmp_path / "run", say=lambda _: None, every=1000)
    model_of("dqn").learn(300, callback=callback)
    *episodes, step = RunReader.open(tmp_path / "run").steps()
    assert all(set(told.signals) == {"rollout.episode_return"} for told in episodes)
    assert step.taken == 300


def test_a_short_run_has_dozens_of_steps_unless_asked_otherwise(tmp_path: Path) -> None:
    callback = SteadyCallback(tmp_path / "run", say=lambda _: None)
    model_of("dqn").learn(300, callback=callback)
    steps = list(RunReader.open(tmp_path / "run").steps())
    whole = [step for step in steps if "train.updates" in step.signals]
    assert len(whole) == 50
    assert {"setting.exploration_rate"} <= set(whole[-1].signals)


def test_an_error_of_our_own_does_not_stop_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    model = model_of("dqn")
    monkeypatch.setattr("steadyrl.integrations.sb3_off_policy.OffPolicyMeter.read", lambda _: 1 / 0)
    model.learn(600, callback=SteadyCallback(tmp_path / "run", every=200, say=said.append))
    assert model.num_timesteps == 600
    assert sum("error of its own" in line for line in said) == 1


@pytest.mark.parametrize(
    ("kind", "broken"),
    [
        ("ppo", "sb3_common.Lengths.add"),
        ("dqn", "sb3_common.Lengths.add"),
        ("ddpg", "sb3_common.Lengths.add"),
        ("ppo", "sb3_on_policy._kl"),
    ],
)
def test_an_error_within_the_models_own_update_does_not_stop_it(
    kind: str, broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(f"steadyrl.integrations.{broken}", lambda *_: 1 / 0)
    alone, model = model_of(kind).learn(256), model_of(kind)
    model.learn(256, callback=SteadyCallback(tmp_path / "run", every=100, say=said.append))
    for name, weights in alone.policy.state_dict().items():
        assert torch.equal(weights, model.policy.state_dict()[name]), name
    assert sum("error of its own" in line for line in said) == 1
    if kind == "ppo":  # and its hooks are gone
        assert not model.policy.optimizer._optimizer_step_post_hooks


def test_an_evaluation_that_empties_the_logger_takes_nothing_away(tmp_path: Path) -> None:
    model = model_of("ddpg")
    envs = DummyVecEnv([lambda: Monitor(gymnasium.make("Pendulum-v1"))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluation = EvalCallback(envs, eval_freq=200, n_eval_episodes=1, verbose=0)
    steady = SteadyCallback(tmp_path / "run", every=200, say=lambda _: None)
    model.learn(600, callback=CallbackList([evaluation, steady]))
    steps = list(RunReader.open(tmp_path / "run").steps())
    assert all("actor.loss" in step.signals for step in steps)
    assert all("eval.return_mean" in step.signals for step in steps)


def test_every_episode_is_told_between_two_steps(tmp_path: Path) -> None:
    model = model_of("ddpg", learning_starts=10_000, buffer_size=100)
    model.learn(3000, callback=SteadyCallback(tmp_path / "run", every=1000))
    steps = list(RunReader.open(tmp_path / "run").steps())
    told = [step for step in steps if "rollout.episode_return" in step.signals]
    assert len(told) == 15  # of 200 steps each
    verdict = judge(tmp_path / "run")
    assert verdict.headline != "healthy"
    assert verdict.standing.learned != "yes"


def test_a_handful_of_updates_does_not_hide_a_hundred_episodes(tmp_path: Path) -> None:
    env = DummyVecEnv([lambda: Monitor(Guessing(VECTOR, CHOICES))])
    model = PPO("MlpPolicy", env, n_steps=512, n_epochs=1, seed=0)
    steps = watched(model, tmp_path / "run", 1024)
    told = [step for step in steps if "rollout.episode_return" in step.signals]
    assert {step.signals["rollout.episode_return"] for step in told} == {10.0}
    assert len(told) == 102  # of ten steps each
    assert sum("policy.kl" in step.signals for step in steps) == 2


class Elsewhere(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The world plays its own actions."""

    def step(self, action: Any) -> Any:
        return self.env.step(self.env.action_space.sample())


@pytest.mark.parametrize("lost", [True, False])
def test_actions_that_do_not_reach_the_world_are_told_by_what_passes_by(
    lost: bool, tmp_path: Path
) -> None:
    env = gymnasium.make("CartPole-v1")
    env.action_space.seed(0)
    env = Elsewhere(env) if lost else env
    model = PPO("MlpPolicy", Monitor(env), n_steps=512, n_epochs=1, batch_size=512, seed=0)
    path = tmp_path / "run"
    steps = watched(model, path, 1024)
    name = "environment.action_effect"
    effects = [step.signals[name] for step in steps if name in step.signals]
    assert effects
    assert (max(effects) < 0.01) is lost


class Odd(gymnasium.ObservationWrapper[Any, Any, Any]):
    """A component twice, one that never changes, and more than the space allows."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (6,), np.float32)

    def observation(self, observation: Any) -> Any:
        return np.array([*observation, observation[0], 0.25], np.float32)


@pytest.mark.parametrize(
    ("wrap", "told"), [(Odd, {"E001", "E008", "E009"}), (lambda env: env, set())]
)
def test_the_callback_asks_what_the_doctor_asks(tmp_path: Path, wrap: Any, told: set[str]) -> None:
    env = wrap(gymnasium.make("CartPole-v1"))
    model = PPO("MlpPolicy", env, n_steps=256, n_epochs=1, device="cpu", seed=0)
    callback = SteadyCallback(tmp_path / "run", say=lambda _: None, save_last_good=False)
    model.learn(2100, callback=callback)
    notes = [f for f in judge(tmp_path / "run").findings if f.rule.startswith("E")]
    assert {finding.rule for finding in notes} == told
    assert {finding.severity for finding in notes} <= {"note"}
