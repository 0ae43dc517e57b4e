"""Does a change of the code leave every trajectory as it was? Bit for bit, on one machine.

    python benchmarks/same_steps.py record before.json      on the commit before
    python benchmarks/same_steps.py compare before.json     on the commit after

Short runs of all presets and of variants that take other paths; every signal but those of time and
machine. `--only TEXT` takes those whose name contains it; Atari takes most of the time.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from steadyrl.algorithms.common.training import prepare
from steadyrl.core.package_files import preset_names
from steadyrl.core.presets import load_config
from steadyrl.core.run_config import RunConfig

NOT_COMPARED = ("time.", "machine.")
DDPG = {"learning_starts": 64, "batch_size": 64, "log_every": 50, "buffer_size": 1000}
EVALUATED = {"evaluation.episodes": 2}
BREAKOUT = {"rollout_length": 16, "environment.count": 4, "evaluation.episodes": 0}
SHORT: Mapping[str, tuple[int, Mapping[str, Any]]] = {  # by the beginning of a preset's name
    "ddpg/": (300, {**DDPG, **EVALUATED, "evaluation.every": 150}),
    "bc/": (300, {"log_every": 50, "evaluation.every": 150}),
    "ppo/breakout": (256, BREAKOUT),
    "trpo/breakout": (
        256,
        {"rollout_length": 16, "environment.count": 4, "evaluation.episodes": 0},
    ),
    "trpo/v1-breakout": (256, {"rollout_length": 64, "evaluation.episodes": 0}),
    "trpo/v2-breakout": (256, BREAKOUT),
    "": (3072, {**EVALUATED, "rollout_length": 64, "evaluation.every": 1500}),
}
VARIANTS: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "ddpg/pendulum": (
        {"twin_critics": True, "policy_delay": 2, "target_noise_std": 0.2},
        {"replay": "prioritised"},
        {"normalize_observations": True, "gradient_clip": 1.0, "reward_scale": 0.1},
        {"environment.count": 4, "train_every": 4},
    ),
    "ppo/cartpole": (
        {"micro_batch_size": 24},
        {"normalize_observations": True, "normalize_rewards": True},
        {"target_kl": 0.001, "entropy_weight": 0.02, "value_clip": 0.2},
    ),
    "ppo/pendulum": ({"normalize_observations": True}, {"reward_clip": 0.5}),
    "trpo/v2-cartpole": ({"fisher_share": 0.3}, {"entropy_weight": 2.0, "stabiliser": True}),
    "bc/single-trajectory": (
        {"std": "global"},
        {"dropout": 0.1, "layer_norm": True},
        {"sampling": "difficulty"},
        {"sampling": "epoch", "objective": "beta_nll", "learning_rate_schedule": "cosine"},
        {"demonstrations.validation_share": 0.4, "demonstrations.trajectories": 5, "squash": True},
    ),
}


def main() -> None:
    """Record, or compare with what was recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    found = {name: steps_of(c) for name, c in configs() if arguments.only in name}
    if arguments.what == "record":
        arguments.file.write_text(json.dumps(found), encoding="utf-8")
        sys.stdout.write(f"{len(found)} configs recorded\n")
        return
    before = json.loads(arguments.file.read_text("utf-8"))
    differing = [name for name in found if found[name] != before.get(name)]
    for name in differing:
        sys.stdout.write(f"{name}: {first_difference(before.get(name, []), found[name])}\n")
    values = sum(len(step["signals"]) for steps in found.values() for step in steps)
    sys.stdout.write(f"{len(found)} configs, {values:,} values, {len(differing)} configs differ\n")
    sys.exit(bool(differing))


def configs() -> Iterator[tuple[str, RunConfig]]:
    """Every preset, made short, and its variants."""
    for preset in preset_names():
        if preset.startswith("language/"):  # a model's first weights are no file of ours
            continue
        length, changes = next(v for start, v in SHORT.items() if preset.startswith(start))
        for number, variant in enumerate(({}, *VARIANTS.get(preset, ()))):
            config = load_config(preset, {**changes, **variant})
            name = f"{preset} variant {number}" if number else preset
            yield name, config.replaced({config.unit.setting: length})


def steps_of(config: RunConfig) -> list[dict[str, Any]]:
    """All Steps of a run, numbers as hexadecimal text: equal text, equal bits."""
    training = prepare(config)
    with closing(training.world):
        return [
            {
                "taken": step.taken,
                "signals": {
                    name: float(value).hex()
                    for name, value in step.signals.items()
                    if not name.startswith(NOT_COMPARED)
                },
            }
            for step in training.steps
        ]


def first_difference(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> str:
    """Where two runs part."""
    for index, (old, new) in enumerate(zip(before, now, strict=False), start=1):
        names = {**old["signals"], **new["signals"]}
        other = [n for n in names if old["signals"].get(n) != new["signals"].get(n)]
        if other or old["taken"] != new["taken"]:
            return f"Step {index}: {', '.join(other[:5]) or 'taken'}"
    return f"{len(before)} Steps before, {len(now)} now"


if __name__ == "__main__":
    main()
