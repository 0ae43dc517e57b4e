"""Just inside and just outside the limits: detectors of language models."""

from __future__ import annotations

from collections.abc import Sequence

from tests.rules.limits import Case, Signals, gone

REWARD, CHANCE, KL = "rollout.return_mean", "language.reward_error", "language.reference_kl"
ENTROPY, LENGTH, NORM = "policy.entropy", "language.length_mean", "policy.gradient_norm"
STILL: Signals = {REWARD: 0.3, CHANCE: 0.02}
RIGHT, UNTRAINED = "language.accuracy", "language.accuracy_untrained"
DIPS = [0.77, 0.82, 0.85, 0.84, 0.76, 0.74, 0.76, 0.77, 0.79, 0.79, 0.79]  # as recorded
JUMPED: Signals = {"policy.kl": [1.7, *[0.01] * 9]}
BEGUN: Signals = {"language.accuracy_warm": [0.7], "eval.return_std": 0.02}


def rewards(*values: float | Sequence[float], chance: float = 0.02) -> dict[str, list[float]]:
    """Mean rewards, a list standing for as many of them, each with this standard error."""
    flat: list[float] = []
    for value in values:
        flat += value if isinstance(value, Sequence) else [value]
    return {REWARD: flat, CHANCE: [chance] * len(flat)}


def turned(low: float, high: float, *, ways: int, last: int = 20) -> list[float]:
    """The last Steps of a course that goes up and down so many times, each way in one Step."""
    return [low] * (last - ways) + [high if way % 2 == 0 else low for way in range(ways)]


NEARER: list[float] = [0.15] * 5 + [0.31] * 10
HACKED: Signals = {
    "language.accuracy": [0.9, 0.8, 0.7, 0.6, 0.5],
    "eval.return_std": 0.04,
    "eval.return_mean": 0.5,
    **rewards([0.3, 0.4, 0.5, 0.6, 0.7]),
}

CASES = [
    # D140 and D141
    Case("D140", "nearly solved", {"language.equal_groups_share": 0.9,
         **rewards([0.3] * 5, [0.9] * 20, [0.79] * 5)}, 5),
    Case("D140", "solved", {"language.equal_groups_share": [0.1] * 10 + [0.9] * 20,
         **rewards([0.3] * 5, [0.9] * 5, [0.61] * 20)}),
    Case("D140", "lost again", {"language.equal_groups_share": [0.1] * 10 + [0.9] * 5,
         **rewards([0.3] * 5, [0.9] * 5, [0.59] * 5)}, 14),
    Case("D140", "a rise within chance", {"language.equal_groups_share": [0.1] * 10 + [0.9] * 5,
         **rewards([0.3] * 5, [0.35] * 5, [0.339] * 5)}, 14),
    Case("D140", "one update was lucky", {"language.equal_groups_share": [0.1] * 10 + [0.8] * 22,
         **rewards([0.12] * 10, [0.42] * 11, 0.89, [0.42] * 10)}),
    Case("D141", "ever more are cut, for nothing",
         {"language.cut_share": [0.1] * 5 + [0.41] * 5, LENGTH: 9.0, **STILL}, 10,
         {"language.cut_share": 0.41, "first": 0.1, LENGTH: 9.0}),
    Case("D141", "a few more", {"language.cut_share": [0.1] * 5 + [0.399] * 15, **STILL}),
    Case("D141", "more, and it pays", {"language.cut_share": [0.1] * 5 + [0.5] * 15,
         **rewards([0.3] * 5, [0.5] * 15)}),
    # D142
    Case("D142", "twice as far for nothing", {KL: NEARER, **STILL}, 12,
         {KL: 0.31, "gained": 0.0, "noise": 0.02}),
    Case("D142", "near enough", {KL: [0.04] * 5 + [0.3] * 10, **STILL}),
    Case("D142", "not twice as far", {KL: [0.16] * 5 + [0.31] * 10, **STILL}),
    Case("D142", "it pays", {KL: NEARER, **rewards([0.3] * 5, [0.341] * 10)}),
    Case("D142", "it pays within chance", {KL: NEARER, **rewards([0.3] * 5, [0.339] * 10)}, 12),
    Case("D142", "without rewards", {KL: NEARER}),
    Case("D142", "single updates vary", {KL: [0.32, 0.15, 0.32] * 5 + [0.32] * 9, **STILL}),
    Case("D011", "the likeliest answers do not improve, the reward does",
         {"eval.return_mean": [0.9] * 60, "eval.return_std": 0.02, LENGTH: 5.0,
          **rewards([0.3] * 5, [0.321] * 55)}),
    Case("D011", "neither improves", {"eval.return_mean": [0.9] * 60, "eval.return_std": 0.02,
         LENGTH: 5.0, **rewards([0.3] * 5, [0.319] * 55)}, 36),
    Case("D011", "the rise was over before the first evaluation",
         {**BEGUN, "eval.return_mean": [0.79] * 60, RIGHT: [0.79] * 60, **STILL}),
    Case("D011", "it rose no more than chance would",
         {**BEGUN, "eval.return_mean": [0.72] * 60, RIGHT: [0.72] * 60, **STILL}, 36),
    # D143 and D144
    Case("D143", "a fifth is left", {ENTROPY: [1.0] * 5 + [0.2] * 10, **STILL}),
    Case("D143", "less is left", {ENTROPY: [1.0] * 5 + [0.19] * 5, **STILL}, 10,
         {ENTROPY: 0.19, "first": 1.0, REWARD: 0.3}),
    Case("D143", "less, but for once", {ENTROPY: [1.0] * 5 + [0.1, 0.1, 0.1, 0.1, 0.3], **STILL}),
    Case("D143", "the reward has risen",
         {ENTROPY: [1.0] * 5 + [0.1] * 10, **rewards([0.3] * 5, [0.341] * 10)}),
    Case("D143", "the reward has risen by chance",
         {ENTROPY: [1.0] * 5 + [0.1] * 5, **rewards([0.3] * 5, [0.339] * 5)}, 10),
    Case("D143", "held-out answers have become better",
         {ENTROPY: [1.0] * 5 + [0.1] * 10, **STILL, "eval.return_std": 0.05,
          "eval.return_mean": [0.1, 0.1] + [0.21] * 13}),
    Case("D143", "held-out answers have become better by chance",
         {ENTROPY: [1.0] * 5 + [0.1] * 5, **STILL, "eval.return_std": 0.05,
          "eval.return_mean": [0.1, 0.1] + [0.2] * 8}, 10),
    Case("D144", "half as much again", {ENTROPY: [1.0] * 5 + [1.5] * 10, **STILL}),
    Case("D144", "more", {ENTROPY: [1.0] * 5 + [1.51] * 5, **STILL}, 10,
         {ENTROPY: 1.51, "first": 1.0, REWARD: 0.3}),
    Case("D144", "more, but for once", {ENTROPY: [1.0] * 5 + [2.0] * 4 + [1.4], **STILL}),
    Case("D144", "more, and it pays",
         {ENTROPY: [1.0] * 5 + [2.0] * 10, **rewards([0.3] * 5, [0.341] * 10)}),
    # D145
    Case("D145", "three turns", rewards(turned(0.3, 0.4, ways=4)), 20, {"turns": 3.0}),
    Case("D145", "two turns", rewards(turned(0.3, 0.4, ways=3), [0.4] * 9)),
    Case("D145", "within chance", rewards(turned(0.3, 0.399, ways=10), [0.3] * 5)),
    Case("D145", "small for this run", rewards([1.0], turned(0.3, 0.404, ways=10))),
    Case("D145", "large for this run", rewards([0.95], turned(0.3, 0.4, ways=10)), 20),
    Case("D145", "chance is not known", {REWARD: turned(0.3, 0.9, ways=10)}),
    # D146
    Case("D146", "below the least", rewards([0.1] * 3, [0.5] * 9, [0.4], [0.33] * 3), 16,
         {REWARD: 0.33, "least": 0.4, "noise": 0.02}),
    Case("D146", "about the least", rewards([0.1] * 3, [0.5] * 9, [0.4], [0.341] * 3)),
    Case("D146", "two values are chance", rewards([0.1] * 3, [0.5] * 9, [0.4], [0.3] * 2)),
    Case("D146", "all is lost", rewards([0.414], [0.33] * 4, [0.3] * 5), 10,
         {REWARD: 0.3, "best": 0.414, "noise": 0.02}),
    Case("D146", "it was chance", rewards([0.412], [0.33] * 4, [0.3] * 5)),
    Case("D146", "of more values it may be chance", rewards([0.414], [0.33] * 20, [0.3] * 5)),
    Case("D146", "nearly all is lost", rewards([0.414], [0.29], [0.33] * 3, [0.303] * 5)),
    Case("D146", "rewards that became equal are no less chance",
         {REWARD: [0.05] * 5 + [0.0] * 6, CHANCE: [0.02] * 5 + [0.0] * 6}),
    # D156
    Case("D156", "below the start", {**BEGUN, RIGHT: [0.6] * 2}, 2,
         {"start": 0.7, RIGHT: 0.6, "least": 0.7 - 3 * (2**0.5 * 0.02)}),
    Case("D156", "once only", {**BEGUN, RIGHT: [0.6, 0.62, 0.6, 0.62]}),
    Case("D156", "by chance", {**BEGUN, RIGHT: [0.616] * 9}),
    Case("D156", "it was measured without a warm start",
         {UNTRAINED: [0.7], "eval.return_std": 0.02, RIGHT: [0.6] * 2}, 2),
    Case("D156", "nothing was measured before", {"eval.return_std": 0.02, RIGHT: [0.1] * 9}),
    # D157
    Case("D157", "lost at once", {**JUMPED, **rewards([0.25], [0.0] * 3)}, 4,
         {"policy.kl": 1.7, "before": 0.25, REWARD: 0.0}),
    Case("D157", "it comes back", {**JUMPED, **rewards([0.25], [0.0] * 2, [0.2])}),
    Case("D157", "by chance", {**JUMPED, **rewards([0.059], [0.0] * 9)}),
    Case("D157", "an update of usual size", {"policy.kl": [0.5] * 9, **rewards([0.25], [0.0] * 8)}),
    Case("D157", "the jump before the last one",
         {"policy.kl": [1.7, 0.9, *[0.01] * 4], **rewards([0.25], [0.0] * 5)}, 4,
         {"policy.kl": 1.7, "before": 0.25, REWARD: 0.0}),
    # D147
    Case("D147", "a quarter",
         {LENGTH: [20.0] * 5 + ([25.0] * 3 + [20.0] * 3) * 2 + [25.0] * 3}, 20, {"turns": 4.0}),
    Case("D147", "every other update, as chance turns back", {LENGTH: turned(20.0, 25.0, ways=4)}),
    Case("D147", "less", {LENGTH: turned(20.0, 24.9, ways=10)}),
    Case("D147", "two turns", {LENGTH: turned(20.0, 40.0, ways=3)}),
    Case("D147", "within chance",
         {LENGTH: turned(20.0, 25.0, ways=10), "language.length_error": 1.01}),
    Case("D147", "beyond chance",
         {LENGTH: turned(20.0, 25.0, ways=4), "language.length_error": 1.0}, 20),
    Case("D009", "a dip of what was learned before the first evaluation",
         {**BEGUN, RIGHT: DIPS, "eval.return_mean": DIPS}),
    # D148
    Case("D148", "one rises, the other falls", HACKED, 5,
         {"language.accuracy": 0.5, REWARD: 0.7, "lost": 0.2}),
    Case("D148", "four evaluations", {**HACKED, "language.accuracy": [0.9, 0.8, 0.7, 0.6]}, 5),
    Case("D148", "the reward rises by chance",
         {**HACKED, **rewards([0.3, 0.31, 0.32, 0.33, 0.34])}),
    Case("D148", "held-out answers fall by chance",
         {**HACKED, "language.accuracy": [0.9, 0.86, 0.84, 0.81, 0.8]}),
    Case("D148", "the best evaluation was luck",
         {**HACKED, "language.accuracy": [0.9, 0.7, 0.69, 0.66, 0.65]}),
    Case("D148", "both rise", {**HACKED, "language.accuracy": [0.5, 0.6, 0.7, 0.8, 0.9]}),
    Case("D148", "the return stands in for the accuracy",
         {"eval.return_mean": [0.9, 0.8, 0.7, 0.6, 0.5], "eval.return_std": 0.04,
          **rewards([0.3, 0.4, 0.5, 0.6, 0.7])}, 5),
    Case("D148", "since the best one",
         {**HACKED, "language.accuracy": [0.2, 0.5, 0.9, 0.8, 0.7, 0.6, 0.5],
          **rewards([0.3, 0.3, 0.3, 0.4, 0.5, 0.6, 0.7])}, 7),
    # D149
    Case("D149", "its evidence", {"language.sampler_gap": 0.06, "language.sampling_gap": 0.3}, 3,
         {"language.sampler_gap": 0.06}),
    # D150
    Case("D150", "two in ten", {NORM: [0.0] * 2 + [1.0] * 8, **STILL}, 10, {"of": 0.2}),
    Case("D150", "one in ten", {NORM: [0.0] + [1.0] * 19, **STILL}),
    Case("D150", "solved", {NORM: [1.0] * 5 + [0.0] * 10, **rewards([0.3] * 5, [0.9] * 10)}),
    Case("D150", "weights that stay",
         {"policy.update_ratio": [0.0] * 2 + [1.0] * 8, **STILL}, 10, {"policy.update_ratio": 0.0}),
    Case("D150", "skipped steps", {"language.skipped_share": [0.51] + [0.0] * 9, NORM: 1.0}, 10,
         {"language.skipped_share": 0.051}),
    Case("D150", "few skipped steps", {"language.skipped_share": [0.5] + [0.0] * 9, NORM: 1.0}),
    # D151 to D153
    Case("D151", "its evidence", {"language.mask_error": [0.1, 0.3]}, 2,
         {"language.mask_error": 0.3}),
    Case("D152", "far from the start", {KL: 0.021}, 5, {KL: 0.021}),
    Case("D152", "near", {KL: 0.02}),
    Case("D152", "it runs away", {KL: [0.04, 0.06, 0.081, 0.2, 0.3]}),
    Case("D152", "it moves on", {KL: [0.041, 0.06, 0.081, 0.2, 0.3]}, 5),
    Case("D153", "never any distance", {KL: 0.0, "policy.update_ratio": 0.01}, 10, {KL: 0.0}),
    Case("D153", "a little distance", {KL: 1.1e-9, "policy.update_ratio": 0.01}),
    Case("D153", "nothing moves", {KL: 0.0, "policy.update_ratio": 0.0}),
    Case("D153", "less than a hundredth of a step", {KL: 9e-5, "policy.kl": 0.01}, 10),
    Case("D153", "more than a hundredth of a step", {KL: 1.1e-4, "policy.kl": 0.01}),
    Case("D153", "nine updates", {KL: [*gone(1), *[0.0] * 9], "policy.kl": 0.01}),
]  # fmt: skip
