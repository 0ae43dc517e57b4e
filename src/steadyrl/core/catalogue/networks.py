"""Signals of gradients, parameters, actions and observations."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

SIGNALS = (
    signal(
        "critic.gradient_norm",
        "critic gradient norm, measured before clipping",
        "norm",
        "train/critic_grad_norm",
    ),
    signal(
        "critic.gradient_norm_max",
        "largest critic gradient norm of a single update, before clipping",
        "norm",
        "train/critic_grad_norm_max",
        "max",
    ),
    signal(
        "critic.update_ratio",
        "norm of the critic's parameter change since the last Step over the parameter norm",
        "ratio",
        "train/critic_update_ratio",
        "last",
    ),
    signal(
        "actor.gradient_norm",
        "actor gradient norm, measured before clipping",
        "norm",
        "train/actor_grad_norm",
    ),
    signal(
        "actor.gradient_norm_max",
        "largest actor gradient norm of a single update, before clipping",
        "norm",
        "train/actor_grad_norm_max",
        "max",
    ),
    signal(
        "actor.update_ratio",
        "norm of the actor's parameter change since the last Step over the parameter norm",
        "ratio",
        "train/actor_update_ratio",
        "last",
    ),
    signal(
        "target.drift",
        "distance between online and target critic over the online critic's norm",
        "ratio",
        "train/target_drift",
        "last",
    ),
    signal(
        "action.saturation",
        "share of the policy's action components within 1 % of a bound, last batch",
        "share",
        "train/action_saturation",
        "last",
    ),
    signal(
        "critic.dormant_share",
        "share of the critic's hidden units that hardly respond to the last batch",
        "share",
        "train/critic_dormant_share",
        "last",
    ),
    signal(
        "actor.dormant_share",
        "share of the actor's hidden units that hardly respond to the last batch",
        "share",
        "train/actor_dormant_share",
        "last",
    ),
    signal(
        "actor.improvement",
        "Q of the policy's actions minus Q of those a Step ago: same states, same critic",
        "scaled reward",
        "train/actor_improvement",
        "last",
    ),
    signal(
        "target.change",
        "norm of the target critic's change since the last Step over its norm",
        "ratio",
        "train/target_change",
        "last",
    ),
    signal(
        "action.noise",
        "mean distance of played actions from the policy's; actions span -1..1",
        "action",
        "rollout/action_noise",
    ),
    signal(
        "observation.scale_ratio",
        "largest over smallest standard deviation of the network's inputs, last batch",
        "ratio",
        "rollout/observation_scale_ratio",
        "last",
    ),
    signal(
        "observation.constant_share",
        "share of the observation's components that do not vary in the last batch",
        "share",
        "rollout/observation_constant_share",
        "last",
    ),
    signal(
        "td.terminal_error",
        "mean distance of terminal transitions' targets from their reward; must be 0",
        "scaled reward",
        "train/td_terminal_error",
        "max",
    ),
    signal(
        "td.fresh_ratio",
        "mean TD error of the newest transitions over that of the last batch",
        "ratio",
        "train/td_fresh_ratio",
        "last",
    ),
    signal(
        "q.optimism",
        "Q at the start of evaluation episodes minus their discounted return, in target spreads",
        "ratio",
        "train/q_optimism",
        "last",
    ),
)
