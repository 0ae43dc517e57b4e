"""Does a clone reproduce its demonstrations, and if not: the data, the learning, or the drift?

Three comparisons over time. The clone's actions on recorded states (nothing adds up), the recorded
actions played again (does the recording reproduce itself?), and the clone acting by itself from
the same start (do small errors add up?).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from numpy.typing import NDArray

from steadyrl.algorithms.bc_learner import BCLearner
from steadyrl.algorithms.training import prepare
from steadyrl.core.configs.bc import BCConfig
from steadyrl.core.errors import ConfigError
from steadyrl.environments import ASSEMBLY
from steadyrl.environments.demonstrated import load_demonstrations
from steadyrl.store.run_directory import RunDirectory

Verdict = Literal["reproduced", "covariate shift", "not learned", "bad data", "not tried"]
LEARNED = 0.1  # of the actions' variance
FOLLOWED = 0.25  # of the observations' deviation, at the end
FAITHFUL = 0.05

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Errors over time, averaged over the trajectories that were tried."""

    verdict: Verdict
    because: str
    trajectories: int
    prediction: list[float]  # squared error of the clone's actions on recorded states, normalised
    recorded: list[float]  # distance of recorded actions played again, in deviations
    clone: list[float]  # distance of the clone by itself, in deviations
    returns: dict[str, float]


def replay(run: Path, *, trajectories: int = 5, seeds: list[int] | None = None) -> Replay:
    """Roll the clone of a finished run and its recordings out side by side."""
    store = RunDirectory.open(run)
    config = store.config
    if not isinstance(config, BCConfig):
        raise ConfigError(f"{run}: a run of {config.algorithm} has no demonstrations to replay.")
    training = prepare(config)
    training.load_state_dict(store.checkpoints.load_latest()[1])
    learner = training.learner
    assert isinstance(learner, BCLearner)
    data = load_demonstrations(
        config.demonstrations.model_copy(update={"drop_zero_actions": False})
    )
    count = min(trajectories, data.trajectories)
    scale = data.observations.std(axis=0) + 1e-6 if not data.images else np.ones(1)
    prediction, again, alone = [], [], []
    returns: dict[str, list[float]] = {"recorded": [], "clone": []}
    starts = seeds or _known_seeds(config, count)
    environment = _environment(config, data.trajectory(0).actions.shape[0])
    for number in range(count):
        part = data.trajectory(number)
        wanted = learner.policy(part.observations, config)
        errors = ((wanted - part.actions) ** 2).mean(axis=1) / (learner.action_variance + 1e-12)
        prediction.append(errors.astype(np.float64))
        if starts is None or environment is None or number >= len(starts):
            continue

        def act(seen: Any) -> Any:
            return np.clip(learner.policy(np.asarray(seen)[None], config)[0], -1.0, 1.0)

        seen, total = _roll(environment, starts[number], part.actions, None)
        again.append(_distance(seen, part.observations, scale))
        returns["recorded"].append(total)
        seen, total = _roll(environment, starts[number], part.actions, act)
        alone.append(_distance(seen, part.observations, scale))
        returns["clone"].append(total)
    verdict, because = judge(_mean(prediction), _mean(again), _mean(alone))
    return Replay(
        verdict=verdict,
        because=because,
        trajectories=count,
        prediction=_mean(prediction).tolist(),
        recorded=_mean(again).tolist(),
        clone=_mean(alone).tolist(),
        returns={name: float(np.mean(values)) for name, values in returns.items() if values},
    )


def judge(prediction: Floats, recorded: Floats, clone: Floats) -> tuple[Verdict, str]:
    """Where it goes wrong, in the order in which one thing excludes the next."""
    error = float(prediction.mean())
    if not len(recorded):
        if error > LEARNED:
            return "not learned", f"on recorded states the error is {error:.0%} of the variance"
        return "not tried", (
            f"on recorded states the clone's error is {error:.1%} of the actions' variance; the "
            "recordings' starts are not known, so nothing was rolled out (give --seeds)"
        )
    late = recorded[-max(1, len(recorded) // 10) :].mean()
    if late > FAITHFUL:
        return "bad data", (
            f"the recorded actions themselves end {late:.2f} deviations from the recorded states: "
            "actions are scaled or shifted, or steps are missing"
        )
    if error > LEARNED:
        return "not learned", f"on recorded states the error is {error:.0%} of the variance"
    drift = clone[-max(1, len(clone) // 10) :].mean()
    if drift > FOLLOWED:
        left = int(np.argmax(clone > FOLLOWED))
        return "covariate shift", (
            f"on recorded states the clone errs by {error:.1%} of the variance, but by itself it "
            f"leaves the recording at step {left} and ends {drift:.2f} deviations away: small "
            "errors lead to states that were never shown. Record more trajectories, with "
            "corrections"
        )
    return "reproduced", f"by itself the clone ends {drift:.2f} deviations from the recording"


def _known_seeds(config: BCConfig, count: int) -> list[int] | None:
    """The scripted expert's starts are known; a file's are not."""
    if config.demonstrations.path is not None:
        return None
    return [config.demonstrations.expert_seed * 1000 + number for number in range(count)]


def _environment(config: BCConfig, length: int) -> Any:
    if config.demonstrations.path is None:
        return gymnasium.make(ASSEMBLY, episode_length=length, disable_env_checker=True)
    if not config.evaluation.episodes:
        return None  # no environment was ever named
    settings: dict[str, Any] = dict(config.environment.settings)
    return gymnasium.make(config.environment.id, **settings)


def _roll(env: Any, seed: int, actions: Any, act: Any) -> tuple[Floats, float]:
    """States met from a start, by recorded actions or by a policy."""
    seen, total = [env.reset(seed=seed)[0]], 0.0
    for action in actions[:-1]:
        observation, reward, terminated, truncated, _ = env.step(
            action if act is None else act(seen[-1])
        )
        seen.append(observation)
        total += float(reward)
        if terminated or truncated:
            break
    return np.asarray(seen, dtype=np.float64), total


def _distance(seen: Floats, recorded: Any, scale: Any) -> Floats:
    rows = min(len(seen), len(recorded))
    gaps: Floats = np.sqrt((((seen[:rows] - recorded[:rows]) / scale) ** 2).mean(axis=1))
    return gaps


def _mean(curves: list[Floats]) -> Floats:
    if not curves:
        return np.zeros(0)
    rows = min(map(len, curves))
    found: Floats = np.mean([curve[:rows] for curve in curves], axis=0)
    return found
