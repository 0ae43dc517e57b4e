"""What remedies propose, setting by setting: what is usual is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from steadyrl.core.presets import parse_config
from steadyrl.core.records import Step
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.window import Window
from tests.rules.replay import PROPOSALS as OF_REPLAY

RESIDUAL = "steadyrl/ResidualControl-v0"


def of(name: str, left_alone: list[Any], changed: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """Values of one setting: those that stay, and what becomes of others."""
    stay: list[tuple[Any, Any]] = [({name: value}, None) for value in left_alone]
    return stay + [({name: value}, {name: after}) for value, after in changed.items()]


PROPOSALS: dict[str, tuple[str, list[tuple[Any, Any]]]] = {
    "R301": ("ddpg", of("learning_rate", [1e-6],
        {0.5: 1e-3, 0.01: pytest.approx(1e-3), 0.005: pytest.approx(5e-4), 2e-6: 1e-6})),
    "R302": ("ddpg", of("learning_rate", [0.01, 0.02],
        {1e-6: 1e-3, 1e-4: 1e-3, 5e-4: pytest.approx(5e-3), 9e-3: 0.01})),
    "R304": ("ddpg", of("tau", [0.0011, 0.005, 0.0089], {0.001: 0.005, 0.009: 0.005, 0.0: 0.005})),
    "R308": ("ddpg", of("noise_std", [0.05, 0.3], {0.049: 0.1, 0.31: 0.1, 0.0: 0.1})),
    "R310": ("ddpg", [
        *of("normalize_observations", [True], {False: True}),
        ({"normalize_observations": False, "environment": {"id": "ALE/Pong-v5"}}, None),
    ]),
    "R311": ("ddpg", [
        ({"buffer_size": 999, "batch_size": 5, "total_env_steps": 1000}, {"buffer_size": 1000}),
        ({"buffer_size": 1000, "batch_size": 5, "total_env_steps": 1000}, None),
        ({"buffer_size": 1000, "batch_size": 20, "total_env_steps": 1000}, {"buffer_size": 2000}),
        ({"buffer_size": 99_999, "batch_size": 5, "total_env_steps": 200_000},
         {"buffer_size": 100_000}),
    ]),
    "R312": ("ddpg", of("updates_per_training", [1], {2: 1, 20: 1})),
    "R313": ("ddpg", of("twin_critics", [True], {False: True})),
    "R314": ("ddpg", [
        ({"learning_starts": 49, "batch_size": 10, "total_env_steps": 1000},
         {"learning_starts": 50}),
        ({"learning_starts": 50, "batch_size": 10, "total_env_steps": 1000}, None),
        ({"learning_starts": 9, "batch_size": 100, "total_env_steps": 1000},
         {"learning_starts": 200}),
    ]),
    "R315": ("ddpg", of("gamma", [0.95], {0.94: 0.99})),
    "R316": ("ddpg", of("gamma", [0.9], {0.89: 0.95})),
    "R320": ("ddpg", [({"compute": {"threads": 1}}, None),
        ({"compute": {"threads": 2}}, {"compute.threads": 1})]),
    "R330": ("ppo", [({"epochs": 10}, None), ({"epochs": 11}, {"epochs": 10, "target_kl": 0.02})]),
    "R331": ("ppo", of("clip_range", [0.1, 0.3], {0.09: 0.2, 0.31: 0.2})),
    "R332": ("ppo", [
        ({"entropy_weight": 0.01}, None),
        ({"entropy_weight": 0.011, "entropy_floor": 0.0},
         {"entropy_weight": 0.01, "entropy_floor": 0.0}),
        ({"entropy_weight": 0.5, "entropy_floor": 0.1},
         {"entropy_weight": 0.01, "entropy_floor": 0.01}),
    ]),
    "R333": ("trpo", of("damping", [0.0, 0.2], {0.21: 0.1})),
    "R334": ("trpo", of("max_kl", [5e-4, 0.01], {4e-4: 0.01, 0.011: 0.01})),
    "R335": ("trpo", [
        ({"critic_learning_rate": 1e-3, "critic_epochs": 10}, None),
        ({"critic_learning_rate": 9e-4, "critic_epochs": 10}, {"critic_learning_rate": 1e-3}),
        ({"critic_learning_rate": 1e-3, "critic_epochs": 9}, {"critic_epochs": 10}),
    ]),
    "R336": ("trpo", [
        ({"cg_iterations": 4, "damping": 0.1}, {"cg_iterations": 10}),
        ({"cg_iterations": 6, "damping": 0.1}, {"cg_iterations": 12}),
        ({"cg_iterations": 6, "damping": 0.09}, {"cg_iterations": 12, "damping": 0.1}),
    ]),
    "R337": ("ppo", of("normalize_rewards", [True], {False: True})),
    "R338": ("trpo", of("max_kl", [5e-4, 0.05], {4e-4: 0.03, 0.051: 0.03})),
    "R339": ("ppo", of("target_kl", [0.02, 0.01], {0.021: 0.02, None: 0.02})),
    "R340": ("bc", [
        ({"std": "state", "std_floor": 0.05}, None),
        ({"std": "state", "std_floor": 0.049}, {"std_floor": 0.05}),
        ({"std": "fixed", "std_floor": 0.001}, None),
    ]),
    "R341": ("bc", of("second_moment_decay", [0.95], {0.96: 0.95})),
    "R342": ("bc", of("gradient_clip", [0.5], {None: 1.0})),
    "R343": ("bc", of("objective", ["beta_nll"], {"nll": "beta_nll"})),
    "R345": ("bc", of("sampling", ["difficulty"], {"epoch": "difficulty"})),
    "R346": ("bc", of("learning_rate_schedule", ["cosine", "linear"], {"constant": "cosine"})),
    "R347": ("bc", [
        ({"demonstrations": {"trajectories": 2}}, {"demonstrations.trajectories": 10}),
        ({"demonstrations": {"trajectories": None}}, {"demonstrations.trajectories": 5}),
        ({"demonstrations": {"path": "demo.npz"}}, None),
    ]),
    "R348": ("bc", of("std", ["global", "fixed"], {"state": "global"})),
    "R349": ("bc", of("dropout", [0.1, 0.5], {0.0: 0.1})),
    "R361": ("language", [({"problems": {"max_new_tokens": 7}}, {"problems.max_new_tokens": 14})]),
    "R362": ("language", [
        ({"kl": "none", "kl_weight": 0.02}, {"kl": "loss", "kl_weight": 0.1}),
        ({"kl": "reward", "kl_weight": 0.05}, {"kl_weight": 0.1}),
        ({"kl": "loss", "kl_weight": 0.1}, {"kl_weight": 0.2}),
        ({"kl": "loss", "kl_weight": 0.6}, {"kl_weight": 1.0}),
        ({"kl": "loss", "kl_weight": 1.0}, None),
    ]),
    "R363": ("language", [
        ({"prompts_per_update": 64, "samples_per_prompt": 8}, None),
        ({"prompts_per_update": 63, "samples_per_prompt": 8},
         {"prompts_per_update": 64, "micro_batch_size": 504}),
        ({"prompts_per_update": 64, "samples_per_prompt": 1, "minibatch_size": 16},
         {"prompts_per_update": 512, "minibatch_size": 128, "micro_batch_size": 16}),
        ({"prompts_per_update": 8, "samples_per_prompt": 8, "micro_batch_size": 4},
         {"prompts_per_update": 64}),
        ({"prompts_per_update": 9, "samples_per_prompt": 5, "minibatch_size": 15},
         {"prompts_per_update": 103, "minibatch_size": 515, "micro_batch_size": 15}),
    ]),
    "R364": ("language", of("gradient_clip", [0.5, 5.0], {None: 1.0})),
    "R365": ("language", [
        ({"temperature": 1.0, "top_p": 1.0}, None),
        ({"temperature": 0.9, "top_p": 1.0}, {"temperature": 1.0}),
        ({"temperature": 1.2, "top_p": 0.9}, {"temperature": 1.0, "top_p": 1.0}),
    ]),
    "R366": ("language", of("entropy_weight", [0.02, 0.1], {0.019: 0.02, 0.0: 0.02})),
    "R367": ("language", of("clip_high", [0.28, 0.4], {0.27: 0.28})),
    "R369": ("language", [
        ({"kl": "none", "kl_weight": 5.0}, None),
        ({"kl": "loss", "kl_weight": 0.02}, None),
        ({"kl": "reward", "kl_weight": 0.03}, {"kl_weight": 0.02}),
    ]),
    "R370": ("language", [
        *of("micro_batch_size", [1], {2: 1, 128: 64}),
        ({"prompts_per_update": 16, "samples_per_prompt": 2}, {"micro_batch_size": 16}),
        ({"prompts_per_update": 16, "minibatch_size": 8}, {"micro_batch_size": 4}),
    ]),
    "R371": ("language", [
        ({"sample_at_once": 256, "samples_per_prompt": 8}, {"sample_at_once": 128}),
        ({"sample_at_once": 15, "samples_per_prompt": 8}, {"sample_at_once": 8}),
        ({"sample_at_once": 8, "samples_per_prompt": 8}, None),
    ]),
    "R372": ("language", [
        ({"model": {"recompute": False}}, {"model.recompute": True}),
        ({"model": {"recompute": True}}, None),
    ]),
    "R374": ("language", of("warm_up", [5, 9], {0: 5, 4: 5})),
    "R373": ("language", [
        ({"model": {"chunk": 256}}, {"model.chunk": 128}), ({"model": {"chunk": 1}}, None),
    ]),
}  # fmt: skip

# Remedies of several kinds of run, as language models take them.
OF_LANGUAGE: dict[str, list[tuple[Any, Any]]] = {
    "R301": of("learning_rate", [1e-5], {0.5: 5e-4, 5e-4: pytest.approx(5e-5), 2e-5: 1e-5}),
    "R302": of("learning_rate", [5e-4, 1e-3], {1e-8: 1e-5, 2e-5: pytest.approx(2e-4), 1e-4: 5e-4}),
    "R330": of("epochs", [1, 2], {3: 1, 4: 2, 20: 4}),
    "R331": [
        ({"clip_low": 0.1, "clip_high": 0.3}, None),
        ({"clip_low": 0.2, "clip_high": 0.31}, {"clip_high": 0.2}),
        ({"clip_low": 0.09, "clip_high": 5.0}, {"clip_low": 0.2, "clip_high": 0.2}),
    ],
    "R332": of("entropy_weight", [0.01], {0.011: 0.01}),
}

ROWS = [(name, kind, *row) for name, (kind, rows) in PROPOSALS.items() for row in rows]
ROWS += [(name, "language", *row) for name, rows in OF_LANGUAGE.items() for row in rows]
ROWS += [(name, "ppo", *row) for name, rows in OF_REPLAY.items() for row in rows]


@pytest.mark.parametrize(("remedy", "algorithm", "settings", "proposed"), ROWS)
def test_a_remedy_changes_what_is_unusual_and_nothing_else(
    remedy: str, algorithm: str, settings: dict[str, Any], proposed: dict[str, Any] | None
) -> None:
    where = {} if algorithm == "language" else {"environment": {"id": "X-v0"}}
    config = parse_config({"algorithm": algorithm, **where, **settings})
    assert REMEDIES[remedy].proposal(config, Window()) == proposed
    if proposed and algorithm == "language":
        config.replaced(REMEDIES[remedy].proposal(config, Window()) or {})


@pytest.mark.parametrize("remedy", PROPOSALS)
def test_a_remedy_has_nothing_to_say_about_settings_that_are_not_there(remedy: str) -> None:
    settings = {"algorithm": "foreign", "compute": {"threads": 1}}
    assert REMEDIES[remedy].proposal(parse_config(settings), Window()) is None


def test_the_clip_of_clones_is_not_proposed_to_others() -> None:
    config = parse_config(
        {"algorithm": "ddpg", "environment": {"id": "X-v0"}, "gradient_clip": None}
    )
    assert REMEDIES["R342"].proposal(config, Window()) is None


MEASURED: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any] | None]] = [
    ("R303", {}, {"td.target_std": 10.0}, None),
    ("R303", {}, {"td.target_std": 12.0}, {"reward_scale": 0.8}),
    ("R303", {}, {"td.target_std": 20.0}, {"reward_scale": 0.5}),
    ("R303", {"reward_scale": 0.4}, {"td.target_std": 20.0}, {"reward_scale": 0.2}),
    ("R303", {}, {"td.target_std": 1.0, "q.mean": -50.0}, {"reward_scale": 0.2}),
    ("R303", {}, {"rollout.reward_abs_max": 1.0}, None),
    ("R303", {"reward_scale": 0.2}, {"rollout.reward_abs_max": 4.0}, None),
    ("R303", {}, {"rollout.reward_abs_max": 1.2}, {"reward_scale": 0.8}),
    ("R303", {}, {"rollout.reward_abs_max": 4.0}, {"reward_scale": 0.2}),
    ("R303", {"reward_scale": 0.5}, {"rollout.reward_abs_max": 4.0}, {"reward_scale": 0.2}),
    ("R303", {}, {"td.target_std": 20.0, "rollout.reward_abs_max": 10.0}, {"reward_scale": 0.1}),
    ("R303", {}, {"td.target_std": 1000.0, "rollout.reward_abs_max": 2.0}, {"reward_scale": 0.01}),
    ("R303", {}, {}, None),
    ("R309", {"gradient_clip": None}, {"critic.gradient_norm": [1.0, 2.0, 21.0]},
     {"gradient_clip": 20.0}),
    ("R309", {"gradient_clip": None}, {"critic.gradient_norm": [1.0, 2.0, 20.0]}, None),
    ("R309", {"gradient_clip": None},
     {"critic.gradient_norm": 2.0, "critic.gradient_norm_max": 21.0}, {"gradient_clip": 20.0}),
    ("R309", {"gradient_clip": 5.0}, {"critic.gradient_norm": [1.0, 2.0, 99.0]}, None),
    ("R309", {"gradient_clip": None}, {}, None),
    ("R375", {"total_env_steps": 999}, {}, None),
    ("R375", {"checkpoints": {"every": 9}}, {"machine.writing_share": 0.05}, None),
    ("R375", {"checkpoints": {"every": 9}}, {"machine.writing_share": 0.4},
     {"checkpoints.every": 72}),
    ("R375", {"total_env_steps": 99, "checkpoints": {"every": 9}}, {"machine.writing_share": 0.4},
     {"checkpoints.every": 33}),
    ("R375", {"total_env_steps": 99, "checkpoints": {"every": 33}},
     {"machine.writing_share": 0.4}, None),
    ("R335", {"algorithm": "ppo", "value_weight": 0.5}, {}, None),
    ("R335", {"algorithm": "ppo", "value_weight": 0.4}, {}, {"value_weight": 0.5}),
    ("R344", {"algorithm": "bc", "batch_size": 20}, {"bc.samples": 100.0}, None),
    ("R344", {"algorithm": "bc", "batch_size": 21}, {"bc.samples": 100.0}, {"batch_size": 15}),
    ("R344", {"algorithm": "bc", "batch_size": 21}, {"bc.samples": 2.0}, {"batch_size": 1}),
    ("R344", {"algorithm": "bc", "batch_size": 21}, {}, None),
    ("R344", {"batch_size": 21}, {"bc.samples": 100.0}, None),
]  # fmt: skip


@pytest.mark.parametrize(("remedy", "settings", "signals", "proposed"), MEASURED)
def test_a_remedy_measures_before_it_prescribes(
    remedy: str,
    settings: dict[str, Any],
    signals: dict[str, Any],
    proposed: dict[str, Any] | None,
) -> None:
    window = Window()
    for at in range(3):
        values = {n: v[at] if isinstance(v, list) else v for n, v in signals.items()}
        window.append(Step(at + 1, at, 0.0, values))
    config = parse_config({"algorithm": "ddpg", "environment": {"id": "X-v0"}, **settings})
    assert REMEDIES[remedy].proposal(config, window) == proposed


PENALTY = "environment.settings.termination_penalty"


@pytest.mark.parametrize(
    ("environment", "settings", "proposed"),
    [
        ({}, {}, {PENALTY: 75.0, "reward_scale": 0.001}),
        ({}, {"gamma": 0.95}, {PENALTY: 15.0, "reward_scale": 0.001}),
        ({"cost_scale": 40.0}, {}, {PENALTY: 75.0, "reward_scale": 0.05}),
        ({}, {"gamma": 0.93}, {PENALTY: 10.7, "reward_scale": 0.001}),
        ({}, {"gamma": 0.2}, {PENALTY: 0.9, "reward_scale": 0.001}),
        ({"cost_scale": 2.5}, {}, {PENALTY: 75.0, "reward_scale": 0.8}),
        ({"cost_scale": 2.0}, {}, {PENALTY: 75.0}),
        ({}, {"reward_scale": 0.5}, {PENALTY: 75.0}),
        ({"termination_penalty": 74.9}, {"reward_scale": 0.5}, {PENALTY: 75.0}),
        ({"termination_penalty": "high"}, {"reward_scale": 0.5}, {PENALTY: 75.0}),
        ({"termination_penalty": 75.0}, {}, None),
        ({}, {"algorithm": "ppo", "gamma": 1.0}, None),  # living on costs without end
    ],
)
def test_an_early_end_is_made_to_cost_what_living_on_would(
    environment: dict[str, Any], settings: dict[str, Any], proposed: dict[str, Any] | None
) -> None:
    where = {"id": RESIDUAL, "settings": environment}
    config = parse_config({"algorithm": "ddpg", "gamma": 0.99, "environment": where, **settings})
    assert REMEDIES["R306"].proposal(config, Window()) == proposed
    elsewhere = parse_config({"algorithm": "ddpg", "environment": {"id": "Pendulum-v1"}})
    assert REMEDIES["R306"].proposal(elsewhere, Window()) is None


def test_every_remedy_that_changes_settings_is_looked_at() -> None:
    asked = {*PROPOSALS, *OF_REPLAY, *(row[0] for row in MEASURED), "R306"}
    advice = {name for name, remedy in REMEDIES.items() if remedy.safety == "advice"}
    assert asked | advice == REMEDIES.keys()


def test_what_contradicts_old_experience_begins_anew() -> None:
    begins_anew = {name for name, remedy in REMEDIES.items() if remedy.restart}
    of_the_task = {"R303", "R306", "R310", "R315", "R316", "R337"}  # other rewards, other inputs
    of_the_learner = {"R311", "R313", "R314"}
    of_the_clone = {"R343", "R344", "R345", "R346", "R347", "R348", "R349"}
    of_the_model = {"R361"}  # its context is made for the longest answer
    of_the_start = {"R374"}  # the first updates cannot be made again later
    of_others = of_the_learner | of_the_clone | of_the_model | of_the_start
    assert begins_anew == of_the_task | of_others
