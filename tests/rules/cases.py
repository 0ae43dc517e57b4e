"""For every cause: the settings and signals that speak for it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tests.rules.language import CASES as LANGUAGE_CASES
from tests.rules.replay import CASES as REPLAY_CASES
from tests.rules.traces import CUT_SHORT, STILL, Value

Changes = Mapping[str, Value]
FLAT: Changes = {"eval__return_mean": lambda i: -100.0 + (i % 3)}

CASES: Mapping[str, tuple[Mapping[str, Any], Changes]] = {
    "C201": ({"learning_rate": 0.05}, {"critic__loss": 90.0, "critic__update_ratio": 0.5}),
    "C202": (
        {"learning_rate": 1e-7},
        {"critic__update_ratio": 1e-6, "actor__update_ratio": 1e-6, **FLAT},
    ),
    "C203": (
        {"reward_scale": 100.0},
        {"td__target_std": 5e4, "rollout__reward_abs_max": 500.0, "q__bound_ratio": 0.1},
    ),
    "C225": (
        {"algorithm": "a2c"},
        {"rollout__return_mean": lambda i: 10.0 * i, "eval__return_mean": lambda i: 3.0 * (i % 2)},
    ),
    "C226": ({"algorithm": "dqn"}, {**STILL, "setting__exploration_rate": 0.9}),
    "C227": ({"algorithm": "sac"}, {**STILL, "setting__entropy_weight": 20.0}),
    "C228": (
        {"algorithm": "a2c"},
        {"value__loss": 1e6, "value__explained_variance": 0.1},
    ),
    "C229": (
        {"algorithm": "td3"},
        {"rollout__return_mean": -1300.0, "q__mean": -1.8e6, "q__bound_ratio": 2.0},
    ),
    "C232": ({}, {**STILL, "environment__action_effect": 0.001}),
    "C233": ({}, {"environment__action_effect": 0.4, "environment__action_lag": 3.0}),
    "C234": ({}, {**STILL, "environment__reward_noise": 0.97}),
    "C235": ({"environment.id": "CartPole-v1"}, {"eval__return_mean": lambda i: -30.0 - i % 3}),
    "C236": ({}, {"rollout__reward_mean": lambda i: math.nan if i == 40 else -1.0}),
    "C204": ({"tau": 0.0}, {"target__change": 0.0, "target__drift": 0.6}),
    "C205": ({"tau": 1.0}, {"target__drift": 0.0, **FLAT}),
    "C206": ({}, {"td__terminal_error": 4.0}),
    "C207": ({}, {"replay__truncated_as_terminated": 1.0}),
    "C208": ({}, {**CUT_SHORT, "rollout__reward_negative_share": 1.0}),
    "C209": ({"noise_std": 0.0}, {"action__noise": 0.0, **FLAT}),
    "C210": ({"noise_std": 2.0}, {"action__noise": 0.7, **FLAT}),
    "C211": ({}, {"actor__improvement": -1.0, **FLAT}),
    "C212": ({}, {"actor__update_ratio": 0.0, **FLAT}),
    "C213": ({}, {"observation__scale_ratio": 3000.0, **FLAT}),
    "C214": ({}, {"observation__constant_share": 1.0, **FLAT}),
    "C215": ({}, {"replay__misaligned_share": 0.5}),
    "C216": ({"buffer_size": 256}, {"replay__size": 256.0, **FLAT}),
    "C217": (
        {"updates_per_training": 20},
        {"td__fresh_ratio": 8.0, "replay__updates_per_env_step": 20.0},
    ),
    "C219": ({}, {"q__optimism": 6.0}),
    "C221": ({"gamma": 0.0}, {**FLAT}),
    "C224": (
        {},
        {
            "run__restarted": lambda i: float(i == 30),
            "eval__return_mean": lambda i: -100.0 + 5.0 * min(i, 15) - 40.0 * (i >= 30),
        },
    ),
    "C223": ({"learning_starts": 256}, {"replay__duplicate_share": 0.5}),
    "C231": ({"algorithm": "language"}, {"machine__memory_free_share": 0.001}),
    "C237": ({}, {"machine__writing_share": 0.4}),
    "C230": ({}, {"machine__load_per_core": 4.0, "machine__cpu_share": 0.3}),
    "C241": ({"algorithm": "ppo", "learning_rate": 0.05}, {"policy__kl": 0.5, **FLAT}),
    "C242": ({"algorithm": "ppo", "learning_rate": 1e-7}, {"policy__kl": 1e-8, **FLAT}),
    "C243": ({"algorithm": "ppo", "epochs": 100}, {"policy__kl": 0.5, **FLAT}),
    "C244": ({"algorithm": "ppo", "clip_range": 5.0}, {"policy__kl": 0.5, **FLAT}),
    "C245": ({"algorithm": "ppo", "clip_range": 0.001}, {"policy__clip_fraction": 0.8, **FLAT}),
    "C246": ({"algorithm": "ppo", "entropy_weight": 1.0}, {"policy__entropy_share": 0.999, **FLAT}),
    "C247": ({"algorithm": "ppo"}, {"policy__first_ratio_error": 0.3}),
    "C248": ({"algorithm": "ppo"}, {"policy__improvement": -0.02, **FLAT}),
    "C249": ({"algorithm": "ppo", "value_weight": 0.0}, {"value__explained_variance": -0.1}),
    "C250": ({"algorithm": "trpo", "damping": 50.0}, {"trpo__kl_share": 0.01, **FLAT}),
    "C251": ({"algorithm": "trpo", "max_kl": 2.0}, {"policy__kl": 0.5, **FLAT}),
    "C252": (
        {"algorithm": "trpo"},
        {
            "trpo__line_search_success": lambda i: float(i % 3 == 0),
            "trpo__failed_no_improvement": lambda i: float(i % 3 != 0),
        },
    ),
    "C256": (
        {"algorithm": "ppo"},
        {
            "advantage__std": lambda i: 2.0 if i < 30 else 0.01,
            "policy__kl": lambda i: 0.5 if 35 <= i < 38 else 0.01,
            "eval__return_mean": lambda i: -100.0 + 5.0 * min(i, 15) if i < 38 else -95.0,
        },
    ),
    "C253": ({"algorithm": "trpo"}, {"trpo__cg_residual": 1.3}),
    "C260": (
        {"algorithm": "bc"},
        {
            "bc__nll_max": lambda i: 30.0 if i == 45 else -18.0,
            "bc__log_std_min": lambda i: -3.0 if i < 5 else -6.0,
        },
    ),
    "C261": ({"algorithm": "bc"}, {"bc__nll_max": lambda i: 30.0 if i == 45 else -18.0}),
    "C262": ({"algorithm": "bc", "learning_rate": 0.1}, {"bc__normalised_mse": 1.5}),
    "C263": ({"algorithm": "bc", "learning_rate": 1e-8}, {"bc__normalised_mse": 0.99}),
    "C264": ({"algorithm": "bc"}, {"bc__normalised_mse": 0.99}),
    "C265": (
        {"algorithm": "bc"},
        {"bc__validation_mse": lambda i: 0.01 + 0.001 * max(0, i - 20)},
    ),
    "C270": (
        {"algorithm": "grpo"},
        {"language__equal_groups_share": 1.0, "rollout__return_mean": 0.0},
    ),
    "C271": ({"algorithm": "grpo"}, {"language__cut_share": 1.0}),
    **LANGUAGE_CASES,
    **REPLAY_CASES,
    "C254": ({"algorithm": "trpo", "max_kl": 1e-6}, {"policy__kl": 1e-7, **FLAT}),
    "C255": (
        {"algorithm": "ppo"},
        {
            "policy__kl": 1e-8,
            "policy__gradient_norm": 0.01,
            "value__gradient_norm": 1e6,
            **FLAT,
        },
    ),
}
