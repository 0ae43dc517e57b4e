"""Signals of TRPO's search: how far it went, and why not further."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

FAILED = "share of updates whose search failed for this reason: "

SIGNALS = (
    signal(
        "trpo.line_search_success",
        "share of updates whose line search found a step",
        "share",
        "train/line_search_success",
    ),
    signal(
        "trpo.line_search_iterations",
        "step lengths tried",
        "count",
        "train/line_search_iters",
        "last",
    ),
    signal(
        "trpo.step_fraction",
        "share of the full step that was taken; 0 if none",
        "share",
        "train/step_fraction",
        "last",
    ),
    signal(
        "trpo.improvement",
        "gain of the objective by the accepted step; 0 if none",
        "advantage",
        "train/objective_improvement",
        "last",
    ),
    signal(
        "trpo.predicted_improvement",
        "what the gradient promised for the step that was taken; 0 if none was",
        "advantage",
        "train/predicted_improvement",
        "last",
    ),
    signal(
        "trpo.gain_ratio",
        "improvement over what the gradient promised: near 1 where the region is small enough",
        "ratio",
        "train/gain_ratio",
        "last",
        nan_when="the line search failed",
    ),
    signal(
        "trpo.failed_in_a_row",
        "line searches that have failed since the last one that succeeded",
        "count",
        "train/failed_in_a_row",
        "last",
    ),
    signal(
        "trpo.cg_residual",
        "|F x - g| / |g| after the conjugate-gradient steps",
        "ratio",
        "train/cg_residual",
        "last",
    ),
    signal(
        "trpo.kl_share",
        "KL of the accepted step over max_kl",
        "share",
        "train/kl_share",
        "last",
        nan_when="the line search failed",
    ),
    signal(
        "trpo.failed_no_gradient",
        FAILED + "the objective is flat",
        "share",
        "train/failed_no_gradient",
    ),
    signal(
        "trpo.failed_negative_curvature",
        FAILED + "the Fisher product was not positive",
        "share",
        "train/failed_negative_curvature",
    ),
    signal(
        "trpo.failed_not_finite",
        FAILED + "gradient, curvature, objective or KL were not finite",
        "share",
        "train/failed_not_finite",
    ),
    signal(
        "trpo.failed_divergence",
        FAILED + "the KL stayed above max_kl",
        "share",
        "train/failed_divergence",
    ),
    signal(
        "trpo.failed_no_improvement",
        FAILED + "the objective did not rise",
        "share",
        "train/failed_no_improvement",
    ),
    signal(
        "trpo.entropy_pull",
        "norm of the entropy bonus's gradient over that of the surrogate's",
        "ratio",
        "train/entropy_pull",
        "last",
    ),
    signal(
        "trpo.surrogate_cosine",
        "cosine between the surrogate's gradient and the one that is followed",
        "cosine",
        "train/surrogate_cosine",
        "last",
    ),
    signal("setting.max_kl", "trust region in force", "nats", "train/max_kl", "last"),
    signal("setting.damping", "damping in force", "1", "train/damping", "last"),
)
