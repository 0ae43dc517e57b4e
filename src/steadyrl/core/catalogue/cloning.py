"""Signals of behaviour cloning."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

SIGNALS = (
    signal(
        "bc.nll",
        "negative log-likelihood of the batches' actions, summed over components",
        "nats",
        "bc/actor_loss",
    ),
    signal("bc.nll_max", "largest of the batches since the last Step", "nats", "bc/nll_max", "max"),
    signal(
        "bc.mse", "squared error of the batches' actions, mean of components", "action^2", "bc/mse"
    ),
    signal("bc.mse_max", "largest of the batches", "action^2", "bc/mse_max", "max"),
    signal(
        "bc.normalised_mse",
        "squared error of all training actions over their variance; 1 is guessing the mean",
        "ratio",
        "bc/normalized_mse",
        "last",
    ),
    signal(
        "bc.full_nll",
        "negative log-likelihood of the training data at the end of the Step",
        "nats",
        "bc/full_nll",
        "last",
    ),
    signal(
        "bc.floored_nll",
        "the same with no standard deviation below 0.05: what the means alone would cost",
        "nats",
        "bc/floored_nll",
        "last",
    ),
    signal("bc.full_mse", "squared error of the training data", "action^2", "bc/full_mse", "last"),
    signal(
        "bc.validation_nll",
        "negative log-likelihood of the trajectories kept back",
        "nats",
        "bc/validation_nll",
        "last",
    ),
    signal(
        "bc.validation_mse",
        "squared error of the trajectories kept back",
        "action^2",
        "bc/validation_mse",
        "last",
    ),
    signal("bc.log_std_mean", "mean log standard deviation", "log", "bc/log_std_mean", "last"),
    signal(
        "bc.log_std_min",
        "smallest log standard deviation of any sample and component",
        "log",
        "bc/log_std_min",
        "last",
    ),
    signal(
        "bc.floor_share",
        "share of standard deviations that lie at their floor",
        "share",
        "bc/floor_share",
        "last",
    ),
    signal("bc.gradient_norm", "norm of the gradient, before clipping", "norm", "bc/gradient_norm"),
    signal("bc.gradient_norm_max", "largest of the batches", "norm", "bc/gradient_norm_max", "max"),
    signal(
        "bc.update_ratio",
        "change of the weights since the last Step over their size",
        "ratio",
        "bc/update_ratio",
        "last",
    ),
    signal(
        "bc.batch_share",
        "batch size over the number of training transitions",
        "share",
        "bc/batch_share",
        "last",
    ),
    signal("bc.samples", "transitions that are learned from", "transitions", "bc/samples", "last"),
    signal(
        "bc.use_mean",
        "how often a transition was drawn so far, on average",
        "times",
        "bc/use_mean",
        "last",
    ),
    signal(
        "bc.use_ratio",
        "the most drawn transition's count over the mean",
        "ratio",
        "bc/use_ratio",
        "last",
    ),
    signal(
        "bc.batch_spread",
        "standard deviation over batches of their loss minus the whole data's, at one set of "
        "weights: what drawing alone does",
        "nats",
        "bc/batch_spread",
        "last",
    ),
)
