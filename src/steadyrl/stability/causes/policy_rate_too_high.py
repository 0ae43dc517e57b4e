"""C241: gradient steps too large for a policy."""

from __future__ import annotations

from steadyrl.stability.rules import Case, Cause, Weight
from steadyrl.stability.usual import usual_rates

FIRST_KL = 0.05


def weigh(case: Case) -> Weight:
    """KL already in the first epoch, and the setting."""
    rate = case.setting("learning_rate")
    if rate is None:
        return Weight(0.0)
    reasons, against, confidence = [], [], 0.3
    usual = usual_rates(case.config)[1]
    # The highest: a policy that jumped off for good moves no more.
    first = case.window.highest("policy.kl_first_epoch")
    if first > FIRST_KL:
        reasons.append(f"the first epoch alone moves the policy by {first:.3g} nats")
        confidence += 0.2
    jumps = case.found("D157", "D102")
    if jumps and case.config is not None and case.config.is_a("language"):
        reasons.append(jumps.message)  # where an update is one step, no epoch shows it
        confidence += 0.15
    if rate > usual:
        reasons.append(f"learning_rate {rate:g} is above the usual {usual:g}")
        confidence += 0.4
    else:
        against.append(f"learning_rate {rate:g} is in the usual range")
        confidence -= 0.15
    if case.found("D101") and case.window.lowest("policy.first_ratio_error") > 1e-3:
        against.append("ratios are not 1 at the start, which explains it without any setting")
        confidence -= 0.5
    return Weight(confidence, tuple(reasons), tuple(against))


CAUSE = Cause(
    id="C241",
    name="policy-learning-rate-too-high",
    explanation="Single gradient steps carry the policy outside the range its data speaks for; "
    "it jumps, commits too early and forgets.",
    explains=(
        "D101",
        "D102",
        "D103",
        "D104",
        "D105",
        "D106",
        "D107",
        "D108",
        "D142",
        "D143",
        "D144",
        "D145",
        "D146",
        "D156",
        "D157",
        "D147",
        "D150",
        "D001",
        "D002",
        "D009",
        "D011",
    ),
    evidence_for="A large KL already in the first epoch; a learning rate above the usual.",
    evidence_against="A usual learning rate; KL that only grows with the epochs.",
    would_decide="A fork with learning_rate / 10 and nothing else changed.",
    remedies=("R301",),
    weigh=weigh,
    traits=("on_policy", "clipped"),
    references=("Andrychowicz et al. 2021",),
)
