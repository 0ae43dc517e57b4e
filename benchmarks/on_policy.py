"""PPO and TRPO against Stable-Baselines3, sb3-contrib and SBX: speed, and learning over seeds.

Speed: CartPole-v1 with eight copies, the peers' default settings on both sides, interleaved, one
thread each, median of the ratios (SBX has no TRPO); run it on an idle machine. Learning: the same
settings and steps on both sides, mean return of the last evaluations over seeds. Breakout: one TRPO
update of 8 x 512 samples, at equal work and with the settings of the preset trpo/breakout.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import (
    PEER_PYTHON,
    SBX_PYTHON,
    conclude,
    paired,
    ratio,
    require_peers,
    run_json,
    two_at_a_time,
)

from steadyrl.core.presets import load_config

HERE = Path(__file__).resolve().parent
LAST = 5  # evaluations that count
GAME = "ALE/Breakout-v5"
GAME_SETTINGS = {"repeat_action_probability": 0.0, "episodic_life": True}

# Stable-Baselines3's defaults, and ours that do the same work.
SPEED: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "ppo": (
        {},
        {"rollout_length": 2048, "minibatch_size": 64, "epochs": 10, "learning_rate": 3e-4},
        65_536,
    ),
    "trpo": (
        {},
        {
            "rollout_length": 2048,
            "cg_iterations": 15,
            "damping": 0.1,
            "critic_epochs": 10,
            "critic_minibatch_size": 128,
        },
        98_304,
    ),
}

ZOO = {"n_steps": 32, "batch_size": 256, "n_epochs": 20, "gae_lambda": 0.8, "gamma": 0.98}
OURS = {"rollout_length": 32, "minibatch_size": 256, "epochs": 20, "gae_decay": 0.8, "gamma": 0.98}
SWING = {"n_steps": 512, "batch_size": 256, "n_epochs": 10, "gae_lambda": 0.95, "gamma": 0.9}
SWUNG = {
    "rollout_length": 512,
    "minibatch_size": 256,
    "epochs": 10,
    "gae_decay": 0.95,
    "gamma": 0.9,
}
LEARNING: dict[str, tuple[str, str, int, int, dict[str, Any], dict[str, Any]]] = {
    "ppo CartPole-v1": (
        "ppo",
        "CartPole-v1",
        8,
        50_000,
        {**ZOO, "learning_rate": 1e-3, "linear": True},
        {**OURS, "learning_rate": 1e-3, "learning_rate_schedule": "linear"},
    ),
    "ppo Pendulum-v1": (
        "ppo",
        "Pendulum-v1",
        4,
        100_000,
        {**SWING, "learning_rate": 1e-3},
        {**SWUNG, "learning_rate": 1e-3},
    ),
    "trpo Pendulum-v1": (
        "trpo",
        "Pendulum-v1",
        2,
        100_000,
        {"n_steps": 1024, "n_critic_updates": 15, "gae_lambda": 0.95, "gamma": 0.9},
        {
            "rollout_length": 1024,
            "critic_epochs": 15,
            "critic_minibatch_size": 128,
            "gae_decay": 0.95,
            "gamma": 0.9,
            "cg_iterations": 15,
        },
    ),
    "trpo CartPole-v1": (
        "trpo",
        "CartPole-v1",
        2,
        50_000,
        {"n_steps": 512, "n_critic_updates": 20, "gae_lambda": 0.98},
        {
            "rollout_length": 512,
            "critic_epochs": 20,
            "critic_minibatch_size": 128,
            "gae_decay": 0.98,
            "cg_iterations": 15,
        },
    ),
}


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["speed", "learning", "breakout"])
    parser.add_argument("--quick", action="store_true", help="1 round or 1 seed, keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument(
        "--only", choices=sorted(LEARNING), help="of 'learning': this one, beside what is kept"
    )
    arguments = parser.parse_args()
    require_peers(*([SBX_PYTHON] if arguments.what == "speed" else []))

    def say(line: str) -> None:
        if not arguments.json:
            sys.stderr.write(line + "\n")

    if arguments.what == "speed":
        result = speed(1 if arguments.quick else arguments.rounds, say)
    elif arguments.what == "breakout":
        result = breakout(1 if arguments.quick else arguments.rounds, say)
    else:
        chosen = [arguments.only] if arguments.only else list(LEARNING)
        kept = HERE / "results" / "learning_on_policy.json"
        before = json.loads(kept.read_text("utf-8")) if arguments.only else {}
        result = {name: value for name, value in before.items() if name in LEARNING}
        result |= learning(chosen, 1 if arguments.quick else arguments.seeds, say)
    conclude(f"{arguments.what}_on_policy", result, keep=not arguments.quick)


def speed(rounds: int, say: Any) -> dict[str, Any]:
    """Ratios, interleaved."""
    results: dict[str, Any] = {"rounds": rounds}
    for algorithm, (theirs, ours, steps) in SPEED.items():
        sides = {"ours": ours, "sb3": theirs} | ({"sbx": {}} if algorithm == "ppo" else {})
        rates: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, settings in sides.items():
                found = _speed_of(name, algorithm, steps, settings)
                rates[name].append(found["steps_per_second"])
                results.setdefault("versions", {}).update(found["versions"])
        results[algorithm] = {
            "ours": {"steps_per_second": round(statistics.median(rates["ours"]), 1)},
            **{name: ratio(rates["ours"], rates[name]) for name in sides if name != "ours"},
        }
        say(f"{algorithm}: {results[algorithm]}")
    return results


def _speed_of(name: str, algorithm: str, steps: int, settings: dict[str, Any]) -> dict[str, Any]:
    if name != "sbx":
        return _run(name, algorithm, "CartPole-v1", 8, steps, settings, 0, 0)
    script = HERE / "peers" / "sbx_speed.py"
    return run_json(SBX_PYTHON, script, "--algorithm", "ppo", "--steps", steps, "--warm-up", 1)


EQUAL_WORK = {
    "rollout_length": 512,
    "cg_iterations": 15,
    "damping": 0.1,
    "fisher_share": 1.0,
    "critic_epochs": 10,
    "critic_minibatch_size": 128,
    "reward_clip": 1.0,
}


def breakout(rounds: int, say: Any) -> dict[str, Any]:
    """Env steps per second of a whole update, its memory, and how much arithmetic it is.

    Beside the arithmetic stands how fast this processor multiplies matrices: an update at that rate
    is as fast as anybody's can be.
    """
    preset = load_config("trpo/breakout").plain()
    more = ("max_kl", "whole_region", "convolutions", "backtracks", "backtrack_ratio")
    names = (*EQUAL_WORK, *more, "entropy_weight")
    shipped = {**{name: preset[name] for name in names}, "rollout_length": 512}
    arms = {
        "sb3": ("sb3", {"n_steps": 512}),
        "equal_work": ("ours", EQUAL_WORK),
        "preset": ("ours", shipped),
    }
    rates: dict[str, list[float]] = {arm: [] for arm in arms}
    memory: dict[str, list[float]] = {arm: [] for arm in arms}
    critics: dict[str, list[float]] = {arm: [] for arm in arms}
    fastest: list[float] = []
    results: dict[str, Any] = {"rounds": rounds, "samples_per_update": 8 * 512, "threads": 1}
    for _ in range(rounds):
        fastest.append(run_json(sys.executable, HERE / "matmul_share.py", "--peak")["gigaflops"])
        for arm, (name, settings) in arms.items():
            found = _run(name, "trpo", GAME, 8, 8 * 512, settings, 0, 0)
            rates[arm].append(found["steps_per_second"])
            memory[arm].append(found["peak_memory_mb"])
            critics[arm].append(found.get("critic_share", math.nan))
            results.setdefault("versions", {}).update(found["versions"])
            say(f"{arm}: {rates[arm][-1]:.1f} steps/s, {memory[arm][-1]:,.0f} MB")
    for arm in arms:
        ratios = [o / s for o, s in zip(rates[arm], rates["sb3"], strict=True)]
        name, settings = arms[arm]
        work = counted(name, settings)
        results[arm] = {
            "steps_per_second": round(statistics.median(rates[arm]), 1),
            "peak_memory_mb": round(max(memory[arm])),
            "teraflop": round(work, 2),
            "gigaflops": round(1e3 * work * statistics.median(rates[arm]) / (8 * 512), 1),
            "ratio": round(statistics.median(ratios), 2),
            "ratio_range": [round(min(ratios), 2), round(max(ratios), 2)],
        }
        if name == "ours":
            results[arm]["critic_share"] = round(statistics.median(critics[arm]), 2)
    results["matmul_gigaflops"] = round(statistics.median(fastest), 1)
    return results


def counted(name: str, settings: dict[str, Any]) -> float:
    """Floating-point operations of one such update, from a quarter of its samples."""
    length = {"ours": "rollout_length", "sb3": "n_steps"}[name]
    quarter = {**settings, length: settings[length] // 4}
    found = _run(name, "trpo", GAME, 8, 8 * quarter[length], quarter, 0, 0, count=True)
    return 4.0 * float(found["teraflop"])


def learning(chosen: list[str], seeds: int, say: Any) -> dict[str, Any]:
    """Returns over seeds, two runs at once on a core each."""
    results: dict[str, Any] = {}
    for title in chosen:
        algorithm, task, copies, steps, theirs, ours = LEARNING[title]
        sides = {
            "ours": partial(_run, "ours", algorithm, task, copies, steps, ours),
            "sb3": partial(_run, "sb3", algorithm, task, copies, steps, theirs),
        }
        runs = [(name, seed) for seed in range(seeds) for name in sides]
        found = two_at_a_time(partial(sides[name], seed, steps // 20) for name, seed in runs)
        scores: dict[str, list[float]] = {name: [] for name in sides}
        for (name, _), result in zip(runs, found, strict=True):
            scores[name].append(float(np.mean(result["returns"][-LAST:])))
            results.setdefault("versions", {}).update(result["versions"])
        results[title] = {**paired(scores["ours"], scores["sb3"]), "steps": steps}
        say(f"{title}: {results[title]}")
    return results


def _run(
    name: str,
    algorithm: str,
    task: str,
    copies: int,
    steps: int,
    settings: dict[str, Any],
    seed: int,
    every: int,
    *,
    count: bool = False,
) -> dict[str, Any]:
    python, script = (
        (sys.executable, HERE / "ours_on_policy.py")
        if name == "ours"
        else (PEER_PYTHON, HERE / "peers" / "sb3_on_policy.py")
    )
    flags = ("--algorithm", algorithm, "--task", task, "--copies", copies, "--steps", steps)
    more = ["--settings", json.dumps(settings), "--seed", seed, "--evaluate-every", every]
    if count:
        more.append("--count")
    if task == GAME:
        more.append("--first-update")
        if name == "ours":
            more += ["--environment", json.dumps(GAME_SETTINGS)]
    return run_json(python, script, *flags, *more)


if __name__ == "__main__":
    main()
