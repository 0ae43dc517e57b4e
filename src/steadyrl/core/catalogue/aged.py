"""Signals of experience replay for PPO."""

from __future__ import annotations

from steadyrl.core.catalogue.signal import signal

SIGNALS = (
    signal(
        "train.sample_efficiency",
        "samples that gradients went through per sample made, so far: how often each is used, "
        "epochs included, not what that bought",
        "ratio",
        "train/sample_efficiency",
        "last",
    ),
    signal("aged.size", "items in the buffer that may be drawn", "count", "replay/items", "last"),
    signal("aged.drawn", "items drawn in this update", "count", "replay/drawn", "last"),
    signal(
        "aged.share", "share of an update's samples that are old", "share", "replay/share", "last"
    ),
    signal(
        "aged.uses_mean", "how often items were drawn, mean", "count", "replay/uses_mean", "last"
    ),
    signal(
        "aged.uses_max",
        "how often the most used item of this draw was drawn",
        "count",
        "replay/uses",
        "last",
    ),
    signal("aged.age_mean", "mean age of the items", "updates", "replay/item_age_mean", "last"),
    signal("aged.age_max", "age of the oldest item", "updates", "replay/item_age_max", "last"),
    signal(
        "aged.stale_share",
        "share of all items so far that left because they were stale",
        "share",
        "replay/stale_share",
        "last",
    ),
    signal(
        "aged.priority_spread",
        "(sum p)^2 / (N sum p^2) of the priorities: 1 if all items are drawn alike, 1/N if one is "
        "drawn alone",
        "share",
        "replay/priority_spread",
        "last",
    ),
    signal(
        "aged.weight_min",
        "smallest weight (N p)^-beta of a drawn item; the largest is 1",
        "ratio",
        "replay/weight_min",
        "last",
    ),
    signal(
        "aged.effective_share",
        "effective sample size of the policy's ratios on old samples, as a share of them",
        "share",
        "replay/effective_share",
        "last",
    ),
    signal(
        "aged.effective_share_young",
        "the same for the younger half of what was drawn",
        "share",
        "replay/effective_share_young",
        "last",
    ),
    signal(
        "aged.effective_share_old",
        "the same for the older half of what was drawn",
        "share",
        "replay/effective_share_old",
        "last",
    ),
    signal(
        "aged.ratio_bounded_share",
        "share of old samples whose weight was held at ratio_bound",
        "share",
        "replay/ratio_bounded_share",
        "last",
    ),
    signal(
        "aged.kl",
        "KL from the policy that made the old samples to the one that is trained",
        "nats",
        "replay/kl",
        "last",
    ),
    signal(
        "aged.clip_fraction",
        "share of old samples whose ratio left the clip range during the update",
        "share",
        "replay/clip_fraction",
    ),
    signal(
        "aged.ratio_error",
        "largest difference between the weights of old samples and the bounded ratios of what the "
        "policy would do now to what was done; must be 0",
        "ratio",
        "replay/ratio_error",
        "max",
    ),
    signal(
        "aged.priority_error",
        "share of the drawn items still in the buffer whose priority is not what was just found; "
        "must be 0",
        "share",
        "replay/priority_error",
        "max",
    ),
    signal(
        "aged.birth_crowding",
        "most items of one birth over the most that ever came at once; more than 1 cannot be",
        "ratio",
        "replay/birth_crowding",
        "max",
    ),
    signal(
        "aged.value_drift",
        "root mean square change of old samples' values since they were made",
        "reward",
        "replay/value_drift",
        "last",
    ),
)
