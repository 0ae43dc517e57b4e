"""Language models' patients, healthy variants and faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steadyrl.experiments.fault_bench.suite import Fault, Suite, values

# A model of 0.1 million parameters that has seen solved sums until a third of its samples is right:
# made once for all cases (see `warm_model.py`), as people begin from one and the same base model.
COMMON: Mapping[str, Any] = {
    "algorithm": "language",
    "total_samples": 6_144,
    "model": {"layers": 2, "width": 64, "heads": 2},
    "warm_start": {"enabled": True, "low": 0.2, "high": 0.4},
    "problems": {"name": "addition", "digits": 2, "reverse": True, "max_new_tokens": 5},
    "evaluation": {"every": 512, "episodes": 200},
    "checkpoints": {"every": 3_072, "keep": 1},
    "epochs": 2,
    "minibatch_size": 128,
    "micro_batch_size": 64,
    "warm_up": 3,
}

PATIENTS: Mapping[str, Mapping[str, Any]] = {
    "ppo-sums": {
        **COMMON,
        "prompts_per_update": 256,
        "samples_per_prompt": 1,
        "advantage": "gae",
        "learning_rate": 3e-4,
        "kl": "reward",
        "kl_weight": 0.02,
    },
    "grpo-sums": {
        **COMMON,
        "prompts_per_update": 32,
        "samples_per_prompt": 8,
        "advantage": "group",
        "learning_rate": 1e-4,  # at 3e-4 it does not learn
        "kl": "loss",
        "kl_weight": 0.02,
    },
}
EVERYWHERE = tuple(PATIENTS)
REPLAYING = ("ppo-sums",)
REPLAY: Mapping[str, Any] = {
    "replay.enabled": True,
    "replay.priority": "advantage",
    "replay.minimum": 256,
    "replay.draw": 256,
    "replay.capacity": 2_048,
    "epochs": 1,
}

FAULTS: tuple[Fault, ...] = (
    Fault(
        name="learning-rate-high",
        family="optimisation",
        causes=("C241",),
        settings=values("learning_rate", 3e-3, 1e-2, 5e-2),
        patients=EVERYWHERE,
    ),
    Fault(
        name="rate-at-once",
        family="optimisation",
        causes=("C282", "C241"),
        settings=(
            {"warm_up": 0, "learning_rate": 6e-4},
            {"warm_up": 0, "learning_rate": 1e-3},
            {"warm_up": 0, "learning_rate": 2e-3},
        ),
        patients=EVERYWHERE,
    ),
    Fault(
        name="learning-rate-low",
        family="optimisation",
        causes=("C242",),
        settings=values("learning_rate", 1e-5, 3e-6, 1e-6),
        patients=EVERYWHERE,
    ),
    Fault(
        name="epochs-many",
        family="optimisation",
        causes=("C243",),
        settings=values("epochs", 10, 20, 40),
        patients=EVERYWHERE,
    ),
    Fault(
        name="clip-wide",
        family="optimisation",
        causes=("C244", "C241"),
        settings=(
            {"clip_low": 0.9, "clip_high": 2.0, "learning_rate": 2e-3},
            {"clip_low": 0.9, "clip_high": 5.0, "learning_rate": 2e-3},
            {"clip_low": 0.9, "clip_high": 50.0, "learning_rate": 2e-3},
        ),
        patients=EVERYWHERE,
    ),
    Fault(
        name="kl-weight-high",
        family="regularisation",
        causes=("C281",),
        settings=values("kl_weight", 1.0, 5.0, 20.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="entropy-weight-high",
        family="regularisation",
        causes=("C246",),
        settings=values("entropy_weight", 0.1, 0.3, 1.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="batch-small",
        family="data",
        causes=("C273", "C241"),
        settings=(
            {
                "prompts_per_update": 4,
                "samples_per_prompt": 4,
                "minibatch_size": None,
                "micro_batch_size": None,
            },
            {
                "prompts_per_update": 2,
                "samples_per_prompt": 4,
                "minibatch_size": None,
                "micro_batch_size": None,
            },
            {
                "prompts_per_update": 2,
                "samples_per_prompt": 2,
                "minibatch_size": None,
                "micro_batch_size": None,
            },
        ),
        patients=EVERYWHERE,
    ),
    Fault(
        name="temperature",
        family="sampling",
        causes=("C275",),
        settings=values("temperature", 0.4, 2.0, 4.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="completions-truncated",
        family="sampling",
        causes=("C271",),
        settings=values("problems.max_new_tokens", 3, 2, 1),
        patients=EVERYWHERE,
    ),
    Fault(
        name="dropout-left-on",
        family="sampling",
        causes=("C277",),
        substitution="dropout-left-on",
        strengths=(0.1, 0.3, 0.5),
        patients=EVERYWHERE,
    ),
    Fault(
        name="prompt-trained",
        family="code-mask",
        causes=("C278",),
        substitution="prompt-trained",
        strengths=(1.0, 2.0, 4.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="mask-off-by-one",
        family="code-mask",
        causes=("C278",),
        substitution="mask-off-by-one",
        patients=EVERYWHERE,
    ),
    Fault(
        name="pad-is-end",
        family="code-mask",
        causes=("C278",),
        substitution="pad-is-end",
        patients=EVERYWHERE,
    ),
    Fault(
        name="reward-constant",
        family="reward",
        causes=("C270",),
        substitution="reward-constant",
        strengths=(0.9, 0.97, 1.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="reward-hackable",
        family="reward",
        causes=("C280",),
        substitution="reward-hackable",
        strengths=(0.5, 0.8, 1.0),
        patients=EVERYWHERE,
    ),
    Fault(
        name="reference-shared",
        family="code-update",
        causes=("C279",),
        substitution="reference-shared",
        settings=values("learning_rate", 1e-3, 2e-3, 3e-3),
        patients=EVERYWHERE,
    ),
    Fault(
        name="micro-batch-means",
        family="code-update",
        causes=("C277", "C241"),
        substitution="micro-batch-means",
        settings=values("micro_batch_size", 16, 4, 1),
        patients=EVERYWHERE,
    ),
    Fault(
        name="advantage-sign",
        family="code-update",
        causes=("C248",),
        substitution="token-advantage-sign",
        patients=EVERYWHERE,
    ),
    Fault(
        name="replay-stale-and-overused",
        family="replay",
        causes=("C291", "C292"),
        settings=(
            {**REPLAY, "replay.staleness": 1_000, "replay.reuse": 50, "replay.capacity": 6_144},
            {
                **REPLAY,
                "replay.staleness": 1_000,
                "replay.reuse": 50,
                "replay.draw": 1_024,
                "learning_rate": 1e-3,
            },
            {
                **REPLAY,
                "replay.staleness": 1_000,
                "replay.reuse": 50,
                "replay.draw": 1_024,
                "learning_rate": 3e-3,
            },
        ),
        patients=REPLAYING,
    ),
    Fault(
        name="replay-uncorrected",
        family="replay",
        causes=("C293",),
        settings=({**REPLAY, "replay.beta": 0.0, "replay.beta_growth": 0.0},) * 3,
        patients=REPLAYING,
    ),
    *(
        Fault(
            name=name,
            family="code-replay",
            causes=("C294",),
            substitution=name,
            settings=(REPLAY,) * 3,
            patients=REPLAYING,
        )
        for name in ("replay-without-ratio", "replay-priorities-stay", "replay-births-lost")
    ),
)

# Variations that are not faults.
HEALTHY: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "one-epoch": {"epochs": 1},
    "four-epochs": {"epochs": 4},
    "no-reference": {"kl": "none"},
    "clip-higher": {"clip_high": 0.28},
    "entropy-bonus": {"entropy_weight": 0.003},
    "linear": {"learning_rate_schedule": "linear"},
    "whole-batch": {"minibatch_size": None, "micro_batch_size": None},
    "small-micro-batch": {"micro_batch_size": 16},
}

SUITE = Suite(
    name="language",
    patients=PATIENTS,
    healthy=HEALTHY,
    faults=FAULTS,
    development_patients=("grpo-sums",),
    development_families=("optimisation", "regularisation", "sampling", "code-mask"),
    first_healthy_seed=4000,
    first_faulty_seed=1000,
    special=(
        ("ppo-sums", "gentle", {"learning_rate": 1e-4}),
        ("ppo-sums", "brisk", {"learning_rate": 4e-4}),
        ("grpo-sums", "gentle", {"learning_rate": 5e-5}),
        ("grpo-sums", "brisk", {"learning_rate": 1.5e-4}),
        ("ppo-sums", "replay", REPLAY),
        ("ppo-sums", "replay-uniform", {**REPLAY, "replay.priority": "uniform"}),
    ),
    one_warm_start=True,
)
