"""Does a clone reproduce its demonstrations, and if not: the data, the learning, or the drift?

Three comparisons over time. The clone's actions on recorded states (nothing adds up), the recorded
actions played again (does the recording reproduce itself?), and the clone acting by itself from
the same start (do small errors add up?).
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from numpy.typing import NDArray

from steadyrl.algorithms.bc.bc import within
from steadyrl.algorithms.bc.config import BCConfig
from steadyrl.algorithms.bc.learner import BCLearner
from steadyrl.algorithms.common.training import prepare
from steadyrl.core.errors import ConfigError
from steadyrl.environments import ASSEMBLY
from steadyrl.environments.demonstrated import load_demonstrations
from steadyrl.environments.make import make_one
from steadyrl.experience.demonstrations import Demonstrations
from steadyrl.store.reader import RunReader

DataQuality = Literal["reproduced", "covariate shift", "not learned", "bad data", "not tried"]
LEARNED = 0.1  # of the actions' variance
FOLLOWED = 0.25  # of the observations' deviation, at the end
FAITHFUL = 0.05

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Reenactment:
    """Errors over time, averaged over the trajectories that were tried."""

    verdict: DataQuality
    because: str
    trajectories: int
    prediction: list[float]  # squared error of the clone's actions on recorded states, normalised
    recorded: list[float]  # distance of recorded actions played again, in deviations
    clone: list[float]  # distance of the clone by itself, in deviations
    returns: dict[str, float]


def reenact(run: Path, *, trajectories: int = 5, seeds: list[int] | None = None) -> Reenactment:
    """Roll the clone of a finished run and its recordings out side by side."""
    store = RunReader.open(run)
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
    parts = [data.trajectory(number) for number in range(count)]
    prediction = []
    for part in parts:
        wanted = learner.policy(part.observations, config)
        errors = ((wanted - part.actions) ** 2).mean(axis=1) / (learner.action_variance + 1e-12)
        prediction.append(errors.astype(np.float64))
    again: list[Floats] = []
    alone: list[Floats] = []
    returns: dict[str, float] = {}
    starts = seeds or _known_seeds(config, count)
    if starts is not None:
        spread = data.observations.std(axis=0)
        scale = np.where(spread > 1e-6, spread, 1.0)
        with closing(_environment(config, parts[0])) as environment:

            def act(seen: Any) -> Any:
                means = learner.policy(np.asarray(seen)[None], config)
                return within(means, environment.action_space)[0]

            again, returns["recorded"] = _roll_all(environment, parts, starts, None, scale)
            alone, returns["clone"] = _roll_all(environment, parts, starts, act, scale)
    verdict, because = judge(
        _mean(prediction), _mean(again), _mean(alone), late=(_farthest(again), _late(alone))
    )
    return Reenactment(
        verdict=verdict,
        because=because,
        trajectories=count,
        prediction=_mean(prediction).tolist(),
        recorded=_mean(again).tolist(),
        clone=_mean(alone).tolist(),
        returns=returns,
    )


def judge(
    prediction: Floats, recorded: Floats, clone: Floats, *, late: tuple[float, float]
) -> tuple[DataQuality, str]:
    """Where it goes wrong, in the order in which one thing excludes the next.

    `late` are how far recorded actions ever lead away, and where the clone ends up.
    """
    error = float(prediction.mean())
    if not len(recorded):
        if error > LEARNED:
            return "not learned", f"on recorded states the error is {error:.0%} of the variance"
        return "not tried", (
            f"on recorded states the clone's error is {error:.1%} of the actions' variance; the "
            "recordings' starts are not known, so nothing was rolled out (give --seeds, and an "
            "environment.id in the config)"
        )
    again, drift = late
    if again > FAITHFUL:
        return "bad data", (
            f"the recorded actions themselves lead {again:.2f} deviations away from the recorded "
            "states: actions are scaled or shifted in time, or steps are missing"
        )
    if error > LEARNED:
        return "not learned", f"on recorded states the error is {error:.0%} of the variance"
    if drift > FOLLOWED:
        left = int(np.argmax(clone > FOLLOWED)) if (clone > FOLLOWED).any() else len(clone)
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


def _environment(config: BCConfig, first: Demonstrations) -> Any:
    """Where the recordings are played again."""
    if config.demonstrations.path is None:
        return gymnasium.make(ASSEMBLY, episode_length=len(first), disable_env_checker=True)
    env = make_one(config.environment)
    seen = env.observation_space.shape or ()
    if np.prod(seen) != np.prod(first.observations.shape[1:]):
        env.close()
        raise ConfigError(
            f"environment.id = '{config.environment.id}' shows {np.prod(seen)} numbers, the "
            f"recordings hold {np.prod(first.observations.shape[1:])}. Name the environment they "
            "were recorded in when training."
        )
    return env


def _roll_all(
    env: Any, parts: list[Demonstrations], starts: list[int], act: Any, scale: Any
) -> tuple[list[Floats], float]:
    """Distances from the recordings that have a start, and the mean return."""
    curves, totals = [], []
    for part, start in zip(parts, starts, strict=False):
        seen, total = _roll(env, start, part.actions, act)
        curves.append(_distance(seen, part.observations, scale))
        totals.append(total)
    return curves, float(np.mean(totals))


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
    """In deviations, step by step; what was not reached any more is infinitely far away."""
    rows = min(len(seen), len(recorded))
    gaps = ((seen[:rows] - recorded[:rows]) / scale).reshape(rows, -1)
    found: Floats = np.full(len(recorded), np.inf)
    found[:rows] = np.sqrt((gaps**2).mean(axis=1))
    return found


def _farthest(curves: list[Floats]) -> float:
    """The largest distance of any trajectory at any time: a faithful recording has none."""
    return max((float(curve.max()) for curve in curves), default=0.0)


def _late(curves: list[Floats]) -> float:
    """The mean over trajectories of the distance in their own last tenth."""
    ends = [float(curve[-max(1, len(curve) // 10) :].mean()) for curve in curves]
    return float(np.mean(ends)) if ends else 0.0


def _mean(curves: list[Floats]) -> Floats:
    """Over the trajectories that are that long and were still being played."""
    if not curves:
        return np.zeros(0)
    padded = np.full((len(curves), max(map(len, curves))), np.nan)
    for row, curve in zip(padded, curves, strict=True):
        row[: len(curve)] = np.where(np.isfinite(curve), curve, np.nan)
    known = ~np.isnan(padded)
    sums, counts = np.where(known, padded, 0.0).sum(axis=0), known.sum(axis=0)
    found: Floats = (sums / np.maximum(counts, 1))[counts > 0]
    return found
