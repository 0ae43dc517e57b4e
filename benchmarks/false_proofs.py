"""How often does a rescue prove a change that does nothing, and how often one that heals?

A rescue chooses on single runs and proves on fresh seeds. Here the only candidate is a placebo (the
same config, other randomness), on tasks whose returns vary a lot from seed to seed and on runs that
are healthy all along; every rescue plays runs of its own. Beside it the true remedy of three gross
faults, and the rule that was used before (chosen on one seed, "verified" if better on two of two).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import ROOT, conclude

from steadyrl.core.presets import load_config
from steadyrl.core.run_config import RunConfig
from steadyrl.experiments.compare import slug
from steadyrl.experiments.executor import Executor, make_executor
from steadyrl.experiments.fault_bench.bench import share
from steadyrl.experiments.proof import USUAL_SEEDS, improves, proof_of
from steadyrl.experiments.trials import Outcome, Trial, run_trials

SHORT = {"evaluation.every": 2_000, "evaluation.episodes": 5}
PENDULUM = {
    "hidden_sizes": [32, 32],
    "batch_size": 32,
    "learning_starts": 200,
    "learning_rate": 2e-3,
    "total_env_steps": 2_400,
    "evaluation.every": 400,
    "evaluation.episodes": 3,
    "log_every": 50,
}
# Configs whose outcome is mostly a matter of luck, and one that is always healthy.
NOISY: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "PPO, CartPole, learning rate 0.01": (
        "ppo/cartpole",
        {"total_env_steps": 8_192, "learning_rate": 1e-2, **SHORT},
    ),
    "PPO, CartPole, healthy": ("ppo/cartpole", {"total_env_steps": 12_288, **SHORT}),
    "TRPO, CartPole, half learned": (
        "trpo/v1-cartpole",
        {"total_env_steps": 16_384, "rollout_length": 1024, **SHORT},
    ),
    "DDPG, Pendulum, half learned": ("ddpg/pendulum", PENDULUM),
}
SICK: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, Any]]] = {
    "PPO, CartPole, learning rate 0.3": (
        "ppo/cartpole",
        {"total_env_steps": 12_288, "learning_rate": 0.3, **SHORT},
        {"learning_rate": 1e-3},
    ),
    "TRPO, CartPole, trust region 2": (
        "trpo/v1-cartpole",
        {"total_env_steps": 16_384, "rollout_length": 1024, "max_kl": 2.0, **SHORT},
        {"max_kl": 0.01},
    ),
    "DDPG, Pendulum, tau 0": ("ddpg/pendulum", {**PENDULUM, "tau": 0.0}, {"tau": 0.005}),
}


@dataclass(frozen=True)
class Patient:
    """One rescue: its config, and the change that it tries and proves."""

    task: str
    number: int
    config: RunConfig
    changes: Mapping[str, Any]

    def trials(self, folder: Path) -> Iterator[Trial]:
        """A control and a candidate, then fresh seeds of both; no seed is used twice."""
        seed = 100 * self.number
        for pair in range(1 + USUAL_SEEDS):
            for side, changes in enumerate(({}, self.changes)):
                seed += 1
                yield Trial(
                    name=f"{self.task} {self.number} {pair} {side}",
                    config=self.config.replaced({**changes, "seed": seed}),
                    directory=folder / slug(f"{self.task}-{self.number}-{pair}-{side}"),
                )


def main() -> None:
    """Rates with intervals, by task and together. Started again, it goes on where it stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rescues", type=int, default=30, help="per noisy task")
    parser.add_argument("--cures", type=int, default=10, help="per sick config")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "false-proofs")
    arguments = parser.parse_args()
    groups: dict[str, list[Patient]] = {"placebo": [], "remedy": []}
    for task, (preset, settings) in NOISY.items():
        config = load_config(preset, settings)
        groups["placebo"] += [Patient(task, n, config, {}) for n in range(arguments.rescues)]
    for task, (preset, settings, cure) in SICK.items():
        config = load_config(preset, settings)
        groups["remedy"] += [Patient(task, n, config, cure) for n in range(arguments.cures)]
    result: dict[str, Any] = {"seeds": USUAL_SEEDS}
    for group, patients in groups.items():
        rows = _rows(patients, arguments.output, make_executor("local", workers=arguments.workers))
        tasks = dict.fromkeys(row["task"] for row in rows)
        result[group] = {task: _rates([r for r in rows if r["task"] == task]) for task in tasks}
        result[group]["all"] = _rates(rows)
    conclude("false_proofs", result, keep=arguments.rescues >= 25)


def _rows(patients: list[Patient], folder: Path, executor: Executor) -> list[dict[str, Any]]:
    trials = [trial for patient in patients for trial in patient.trials(folder)]
    outcomes: dict[str, Outcome] = {}
    for outcome in run_trials(trials, executor):
        outcomes[outcome.name] = outcome
        if len(outcomes) % 50 == 0:
            sys.stderr.write(f"{len(outcomes)} of {len(trials)} runs\n")
    rows = []
    for patient in patients:
        ordered = [outcomes[trial.name] for trial in patient.trials(folder)]
        rows.append(_verdicts(patient.task, ordered[0::2], ordered[1::2]))
    return rows


def _verdicts(task: str, before: list[Outcome], after: list[Outcome]) -> dict[str, Any]:
    chosen = improves(after[:1], before[:1], "return")
    proof = proof_of(after[1:], before[1:], "return", wanted=USUAL_SEEDS)
    both = all(improves([after[n]], [before[n]], "return") for n in (1, 2))
    return {
        "task": task,
        "chosen": chosen,
        "proved": proof.holds,
        "chosen and proved": chosen and proof.holds,
        "two of two, as before": both,
        "chosen and two of two": chosen and both,
    }


def _rates(rows: list[dict[str, Any]]) -> dict[str, Any]:
    names = [name for name in rows[0] if name != "task"]
    return {name: share(sum(row[name] for row in rows), len(rows)) for name in names}


if __name__ == "__main__":
    main()
