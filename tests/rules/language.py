"""Traces and cases of the rules for language models: what fires, what comes near, what is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Value = float | Sequence[float] | Callable[[int], float]
Changes = Mapping[str, Value]

EVALUATED: Changes = {"eval.return_mean": 0.5, "eval.return_std": 0.02}
FLAT: Changes = {
    **EVALUATED,
    "rollout.return_mean": lambda i: 0.3 + 0.01 * (i % 3),
    "language.reward_error": 0.02,
    "language.length_mean": 20.0,
}
LEAPT: Changes = {"policy.kl": lambda i: 1.7 if i == 2 else 0.01}
RISING: Changes = {**FLAT, "rollout.return_mean": lambda i: min(0.9, 0.3 + 0.02 * i)}


def fallen(index: int, before: float, then: float) -> Callable[[int], float]:
    """One value up to an index, another from there on."""
    return lambda i: before if i < index else then


def waves(low: float, high: float, every: int) -> Callable[[int], float]:
    """Up and down, each for so many Steps."""
    return lambda i: high if (i // every) % 2 else low


TRACES: Mapping[str, tuple[Changes, Changes]] = {
    "D142": (
        {**FLAT, "language.reference_kl": lambda i: 0.01 * 1.2**i},
        {**RISING, "language.reference_kl": lambda i: min(0.6, 0.02 * i)},
    ),
    "D143": (
        {**FLAT, "policy.entropy": fallen(20, 0.7, 0.1)},
        {**RISING, "policy.entropy": fallen(20, 0.7, 0.05)},
    ),
    "D144": (
        {**FLAT, "policy.entropy": fallen(20, 0.7, 1.2)},
        {**FLAT, "policy.entropy": fallen(20, 0.7, 1.0)},
    ),
    "D145": (
        {**FLAT, "rollout.return_mean": waves(0.3, 0.45, 4)},
        {**FLAT, "rollout.return_mean": waves(0.3, 0.39, 4)},
    ),
    "D146": (
        {**FLAT, "rollout.return_mean": fallen(30, 0.5, 0.1)},
        {**FLAT, "rollout.return_mean": fallen(30, 0.5, 0.45)},
    ),
    "D147": (
        {"language.length_mean": waves(20.0, 30.0, 3), "language.length_error": 0.5},
        {"language.length_mean": waves(20.0, 24.0, 3), "language.length_error": 0.5},
    ),
    "D148": (
        {**RISING, "language.accuracy": lambda i: 0.8 - 0.01 * i},
        {**FLAT, "language.accuracy": lambda i: 0.8 - 0.01 * i},
    ),
    "D149": ({"language.sampler_gap": 0.5}, {"language.sampling_gap": 0.04}),
    "D150": (
        {**FLAT, "policy.gradient_norm": lambda i: float(i % 4 > 0 and i < 20)},
        {**FLAT, "policy.gradient_norm": lambda i: float(i % 10 > 0)},
    ),
    "D151": ({"language.mask_error": 0.05}, {"language.mask_error": 0.0}),
    "D152": ({"language.reference_kl": 0.3}, {"language.reference_kl": 0.015}),
    "D154": (
        {**RISING, "language.equal_groups_share": 0.8},
        {**FLAT, "language.equal_groups_share": 0.8},
    ),
    "D155": (
        {"language.function_std": 0.0},
        {"language.function_std": lambda i: float(i == 3)},
    ),
    "D156": (
        {**EVALUATED, "language.accuracy_warm": 0.7, "language.accuracy": 0.6},
        {**EVALUATED, "language.accuracy_warm": 0.7, "language.accuracy": 0.62},
    ),
    "D157": (
        {**FLAT, **LEAPT, "rollout.return_mean": fallen(3, 0.3, 0.0)},
        {**FLAT, **LEAPT},
    ),
    "D153": ({"language.reference_kl": 0.0}, {"language.reference_kl": 0.001}),
}

# The settings and signals that speak for each cause.
CASES: Mapping[str, tuple[Mapping[str, Any], Changes]] = {
    "C272": (
        {"algorithm": "grpo", "learning_rate": 1e-5},
        {**FLAT, "language.reference_kl": lambda i: 0.1 * i},
    ),
    "C273": (
        {"algorithm": "language", "prompts_per_update": 8},
        {**FLAT, "rollout.return_mean": waves(0.3, 0.45, 4)},
    ),
    "C274": (
        {"algorithm": "language", "gradient_clip": None},
        {
            **FLAT,
            "rollout.return_mean": fallen(30, 0.5, 0.1),
            "policy.gradient_norm_max": lambda i: 30.0 if i == 29 else 1.0,
        },
    ),
    "C275": (
        {"algorithm": "language", "temperature": 0.5},
        {"language.sampling_gap": 0.3, **FLAT},
    ),
    "C276": (
        {"algorithm": "language"},
        {**FLAT, "policy.entropy": fallen(20, 0.7, 0.1), "language.reference_kl": 0.01},
    ),
    "C277": ({"algorithm": "language"}, {"language.sampler_gap": 0.5}),
    "C278": ({"algorithm": "language"}, {"language.mask_error": 0.05}),
    "C279": ({"algorithm": "language"}, {"language.reference_kl": 0.0}),
    "C280": (
        {"algorithm": "language"},
        {**RISING, "language.accuracy": lambda i: 0.8 - 0.01 * i},
    ),
    "C281": ({"algorithm": "language", "kl": "loss", "kl_weight": 5.0}, FLAT),
    "C282": (
        {"algorithm": "language", "warm_up": 0},
        {
            **EVALUATED,
            "language.accuracy_warm": 0.7,
            "language.accuracy": 0.2,
            "policy.kl": fallen(2, 1.3, 0.05),
        },
    ),
}
