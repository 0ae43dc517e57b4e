"""Stable-Baselines3 runs with and without a fault, judged by their logs and by the callback.

Each run is made once, with the callback only watching (it does not change the run), and judged
twice: from progress.csv, as it would be without us, and from the callback's record. The runs are
kept in --output, so that a second start only makes what is missing.
"""

from __future__ import annotations

import argparse
import copy
import json
import multiprocessing
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from common import conclude

from steadyrl.judging import judge
from steadyrl.maths.statistics import wilson
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.verdict import Verdict

CALIBRATION, UNSEEN = 0, 500  # first seeds: rules were looked at with the one, never the other
LOST = 0.2  # of what healthy runs gain: a fault that costs less is not effective

ON_POLICY = {"policy": "MlpPolicy", "n_steps": 256, "batch_size": 128, "n_epochs": 10}
OFF_POLICY = {
    "policy": "MlpPolicy",
    "policy_kwargs": {"net_arch": [64, 64]},
    "batch_size": 64,
    "learning_starts": 500,
}
DQN = {
    **OFF_POLICY,
    "learning_rate": 1e-3,
    "train_freq": 4,
    "gradient_steps": 2,
    "target_update_interval": 500,
    "exploration_fraction": 0.2,
    "exploration_final_eps": 0.04,
}


@dataclass(frozen=True)
class Task:
    """A healthy training."""

    algorithm: str
    environment: str
    taken: int
    settings: Mapping[str, Any]
    envs: int = 1
    noise: float = 0.0


@dataclass(frozen=True)
class Fault:
    """What is done to a task, and the causes that would be right."""

    name: str
    task: str
    causes: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    reward_scale: float = 1.0
    observation: str = ""


TASKS = {
    "ppo-cartpole": Task("PPO", "CartPole-v1", 61_440, {**ON_POLICY, "ent_coef": 0.0}, envs=4),
    "ppo-pendulum": Task(
        "PPO", "Pendulum-v1", 61_440, {**ON_POLICY, "gamma": 0.95, "learning_rate": 1e-3}, envs=4
    ),
    "a2c-cartpole": Task("A2C", "CartPole-v1", 40_000, {"policy": "MlpPolicy"}, envs=4),
    "ddpg-pendulum": Task("DDPG", "Pendulum-v1", 12_000, OFF_POLICY, noise=0.1),
    "td3-pendulum": Task("TD3", "Pendulum-v1", 12_000, OFF_POLICY, noise=0.1),
    "sac-pendulum": Task("SAC", "Pendulum-v1", 8_000, {**OFF_POLICY, "learning_rate": 1e-3}),
    "dqn-cartpole": Task("DQN", "CartPole-v1", 40_000, DQN),
}

FAULTS = (
    Fault("learning-rate-high", "ppo-cartpole", ("C241",), {"learning_rate": 0.05}),
    Fault("learning-rate-low", "ppo-cartpole", ("C242",), {"learning_rate": 1e-7}),
    Fault("entropy-weight-high", "ppo-cartpole", ("C246",), {"ent_coef": 1.0}),
    Fault("epochs-many", "ppo-cartpole", ("C243",), {"n_epochs": 100, "learning_rate": 1e-3}),
    Fault("values-starved", "ppo-pendulum", ("C249",), {"vf_coef": 0.0}),
    Fault("discount-low", "ppo-cartpole", ("C221",), {"gamma": 0.1}),
    Fault("learning-rate-high", "ppo-pendulum", ("C241",), {"learning_rate": 0.1}),
    Fault("observation-frozen", "ppo-cartpole", ("C214",), observation="frozen"),
    Fault("learning-rate-high", "ddpg-pendulum", ("C201",), {"learning_rate": 0.1}),
    Fault("learning-rate-low", "ddpg-pendulum", ("C202",), {"learning_rate": 1e-7}),
    Fault("target-frozen", "ddpg-pendulum", ("C204",), {"tau": 1e-9}),
    Fault("reward-scale-large", "ddpg-pendulum", ("C203",), reward_scale=1000.0),
    Fault("observation-frozen", "ddpg-pendulum", ("C214",), observation="frozen"),
    Fault("learning-rate-high", "td3-pendulum", ("C201",), {"learning_rate": 0.1}),
    Fault("learning-rate-high", "sac-pendulum", ("C201",), {"learning_rate": 0.1}),
    Fault("learning-rate-low", "sac-pendulum", ("C202",), {"learning_rate": 1e-7}),
    Fault("target-frozen", "sac-pendulum", ("C204",), {"tau": 1e-9}),
    Fault("learning-rate-high", "dqn-cartpole", ("C201",), {"learning_rate": 0.3}),
    Fault("learning-rate-low", "dqn-cartpole", ("C202",), {"learning_rate": 1e-8}),
    Fault("observation-frozen", "dqn-cartpole", ("C214",), observation="frozen"),
)


@dataclass(frozen=True)
class Case:
    """One run to make."""

    task: str
    seed: int
    fault: Fault | None = None

    @property
    def name(self) -> str:
        """Its folder."""
        what = self.fault.name if self.fault else "healthy"
        return f"{self.task}-{what}-seed{self.seed}"


def make_run(case: Case, folder: Path) -> None:
    """Train one case, once."""
    target = folder / case.name
    if (target / "done.json").exists():
        return
    import gymnasium
    import stable_baselines3
    import torch
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.noise import NormalActionNoise

    from steadyrl.integrations.sb3 import SteadyCallback

    torch.set_num_threads(1)
    task, fault = TASKS[case.task], case.fault

    def wrap(env: Any) -> Any:
        if fault and fault.reward_scale != 1.0:
            env = gymnasium.wrappers.TransformReward(env, lambda r: fault.reward_scale * r)
        if fault and fault.observation == "frozen":
            zero = np.zeros_like(env.observation_space.sample())
            env = gymnasium.wrappers.TransformObservation(env, lambda _: zero, None)
        return env

    envs = make_vec_env(task.environment, n_envs=task.envs, seed=case.seed, wrapper_class=wrap)
    # A copy: Stable-Baselines3 writes into policy_kwargs.
    settings = copy.deepcopy({**task.settings, **(fault.settings if fault else {})})
    if task.noise:
        size = envs.action_space.shape
        settings["action_noise"] = NormalActionNoise(np.zeros(size), task.noise * np.ones(size))
    policy = settings.pop("policy")
    model = getattr(stable_baselines3, task.algorithm)(policy, envs, seed=case.seed, **settings)
    model.set_logger(configure(str(target), ["csv", "tensorboard"]))
    callback = SteadyCallback(target / "steady", every=500, save_last_good=False, say=_nobody)
    crash = ""
    try:
        model.learn(task.taken, callback=callback, log_interval=1 if task.envs > 1 else 2)
    except ValueError as error:  # Stable-Baselines3's own end of a run that has become NaN
        crash = str(error)[:200]
    (target / "done.json").write_text(json.dumps({"crash": crash}))


def _nobody(_line: str) -> None: ...


def gains(folder: Path, case: Case) -> tuple[float, float]:
    """Return at the start and over the last fifth of the run, unscaled."""
    run = ForeignRun(folder / case.name)
    scale = case.fault.reward_scale if case.fault else 1.0
    name = "rollout.return_mean"
    values = [s.signals[name] / scale for s in run.steps() if name in s.signals]
    if not values:
        return float("nan"), float("-inf")
    return values[0], float(np.mean(values[-max(1, len(values) // 5) :]))


def by_log(folder: Path, case: Case) -> Verdict:
    """As it would be judged without us."""
    return judge(ForeignRun(folder / case.name, total_env_steps=TASKS[case.task].taken))


def by_callback(folder: Path, case: Case) -> Verdict:
    """As the callback has recorded it."""
    return judge(folder / case.name / "steady")


def alarmed(verdict: Verdict, severities: tuple[str, ...]) -> list[str]:
    """Rules that spoke about the training."""
    return [f.rule for f in verdict.findings if f.severity in severities]


def share(count: int, total: int) -> dict[str, Any]:
    """A proportion with its interval."""
    estimate = wilson(count, total)
    return {"count": count, "of": total, "low": estimate.low, "high": estimate.high}


def score(
    cases: list[Case], folder: Path, look: Callable[[Path, Case], Verdict], effective: set[str]
) -> dict[str, Any]:
    """Recall, false alarms and causes of one way to look."""
    healthy = [c for c in cases if c.fault is None]
    faulty = [c for c in cases if c.fault is not None and c.name in effective]
    severe = [c.name for c in healthy if alarmed(look(folder, c), ("severe",))]
    warned = [c.name for c in healthy if alarmed(look(folder, c), ("severe", "warning"))]
    rows, found, first, among = [], 0, 0, 0
    for case in faulty:
        verdict = look(folder, case)
        assert case.fault is not None
        rules = alarmed(verdict, ("severe", "warning"))
        named = [d.cause for d in verdict.diagnoses]
        found += bool(rules)
        first += bool(named[:1]) and named[0] in case.fault.causes
        among += any(name in case.fault.causes for name in named[:3])
        rows.append({"case": case.name, "rules": rules, "causes": named[:3]})
    return {
        "recall": share(found, len(faulty)),
        "severe_false_alarms": share(len(severe), len(healthy)),
        "right_cause_first": share(first, len(faulty)),
        "right_cause_among_three": share(among, len(faulty)),
        "healthy_with_severe": severe,
        "healthy_with_warning": warned,
        "faults": rows,
    }


def main() -> None:
    """Make the runs, judge them, keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--healthy-seeds", type=int, default=4)
    parser.add_argument("--first-seed", type=int, default=UNSEEN)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="judge what is there, keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--output", type=Path, default=Path("runs/foreign-faults"))
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    healthy = range(arguments.first_seed, arguments.first_seed + arguments.healthy_seeds)
    cases = [Case(task, seed) for task in TASKS for seed in healthy]
    cases += [Case(fault.task, seed, fault) for fault in FAULTS for seed in seeds]
    missing = [c for c in cases if not (arguments.output / c.name / "done.json").exists()]
    if arguments.quick:
        cases = [c for c in cases if c not in missing]
    else:
        sys.stderr.write(f"{len(cases)} runs, {len(missing)} of them still to be made\n")
        jobs = [(case, arguments.output) for case in missing]
        with multiprocessing.get_context("spawn").Pool(arguments.workers) as pool:
            pool.starmap(make_run, jobs, chunksize=1)
    effective = set()
    for case in cases:
        if case.fault is not None:
            usual = [
                gains(arguments.output, c) for c in cases if not c.fault and c.task == case.task
            ]
            start, end = (float(np.median(side)) for side in zip(*usual, strict=True))
            if gains(arguments.output, case)[1] < end - LOST * abs(end - start):
                effective.add(case.name)
    results = {
        "runs": len(cases),
        "effective": len(effective),
        "latent": sorted(c.name for c in cases if c.fault and c.name not in effective),
        "log_only": score(cases, arguments.output, by_log, effective),
        "with_callback": score(cases, arguments.output, by_callback, effective),
    }
    conclude("foreign_faults", results, keep=not arguments.quick)


if __name__ == "__main__":
    main()
