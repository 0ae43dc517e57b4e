"""Which signal a sentence speaks of, so that it can stand beside its curve."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from steadyrl.core.records import Finding

# What rules say in words, and the first recorded one of the signals that show it.
SPOKEN: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"\|Q\||critic is sound|of its bound", ("q.bound_ratio", "q.abs_max")),
    (r"every single reward|reward is negative", ("rollout.reward_negative_share",)),
    (r"step's reward|rewards?\b", ("rollout.reward_mean",)),
    (r"episodes? (end|last|of)|length", ("rollout.length_mean", "eval.length_mean")),
    (r"nats per update|\bKL\b", ("policy.kl", "language.reference_kl")),
    (r"samples are clipped|clipped", ("policy.clip_fraction",)),
    (r"entropy", ("policy.entropy_share", "policy.entropy")),
    (r"values explain|explained", ("value.explained_variance",)),
    (r"repeats other items|duplicate", ("replay.duplicate_share",)),
    (r"TD targets|scale of", ("td.target_std",)),
    (r"critic's squared error", ("critic.loss",)),
    (r"value loss", ("value.loss",)),
    (r"critic gradient", ("critic.gradient_norm_max",)),
    (r"gradient", ("policy.gradient_norm", "critic.gradient_norm", "bc.gradient_norm")),
    (r"at a bound|saturat", ("action.saturation",)),
    (r"answers?|accuracy", ("language.accuracy",)),
    (r"discounted return", ("eval.discounted_mean",)),
    (r"return", ("eval.return_mean", "rollout.return_mean")),
)


def signal_of(
    text: str, findings: Sequence[Finding], recorded: Collection[str], settings: Collection[str]
) -> str | None:
    """The signal that a sentence of evidence is about, if one was recorded."""
    for finding in findings:
        if finding.message == text:
            shown = next((name for name in finding.evidence if name in recorded), None)
            if shown:
                return shown
    named: list[str] = re.findall(r"\b[a-z]+(?:_[a-z]+)*\.[a-z_]+\b", text)
    if literal := next((name for name in named if name in recorded), None):
        return literal
    words = text.split()
    if words and words[0].rstrip(":,") in settings:
        return None  # about a setting
    for pattern, names in SPOKEN:
        if re.search(pattern, text):
            return next((name for name in names if name in recorded), None)
    return None
