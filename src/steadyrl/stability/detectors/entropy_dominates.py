"""D113: the entropy bonus decides where the policy goes."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.maths.robust import median
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """A pull that rivals the surrogate's, or a large weight and a policy that stays random."""
    steps, weight = int(limits["steps"]), window.latest("setting.entropy_weight")
    held = _held_back(window, limits)
    if held is not None:
        return held
    if not weight >= limits["weight"] or window.count("setting.entropy_weight") < 2 * steps:
        return None
    pulls = window.last("trpo.entropy_pull", steps)
    if len(pulls) == steps and median(pulls) > limits["pull"]:
        pull = median(pulls)
        return Sighting(
            f"the entropy bonus pulls {pull:.2g} times as hard as the surrogate",
            {"trpo.entropy_pull": pull, "setting.entropy_weight": weight},
        )
    shares = window.last("policy.entropy_share", steps)
    late = window.progress >= limits["progress"]
    if late and len(shares) == steps and float(shares.min()) > limits["share"]:
        share = median(shares)
        return Sighting(
            f"with an entropy weight of {weight:g} the policy keeps {share:.0%} of the largest "
            "possible entropy",
            {"policy.entropy_share": share, "setting.entropy_weight": weight},
        )
    return None


def _held_back(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """Whatever the weight: the bonus pulls half as hard or more, and the policy is still random."""
    few = int(limits["few"])
    pulls, shares = window.last("trpo.entropy_pull", few), window.last("policy.entropy_share", few)
    if len(pulls) < few or len(shares) < few or not float(shares.min()) > limits["random"]:
        return None
    pull = median(pulls)
    if not pull > limits["hard"]:
        return None
    return Sighting(
        f"the entropy bonus pulls {pull:.2g} times as hard as the surrogate, and the policy keeps "
        f"{float(shares[-1]):.0%} of the largest possible entropy",
        {"trpo.entropy_pull": pull, "policy.entropy_share": float(shares[-1])},
    )


RULE = Detector(
    id="D113",
    name="entropy-dominates",
    severity="warning",
    symptom="The entropy bonus pulls about as hard as the reward, or keeps the policy random.",
    why="What is bought with entropy is not earned from the task.",
    false_alarms="A bonus that is meant to be strong at first and decays.",
    reads=("setting.entropy_weight",),
    limits={
        "weight": 0.1,
        "pull": 0.25,
        "share": 0.85,
        "steps": 10,
        "progress": 0.5,
        "hard": 0.5,
        "random": 0.9,
        "few": 8,
    },
    calibrated_on="healthy bench runs with a weight of 0.005 (seed 2000): a pull of 0.01 to 0.04. "
    "Weights of 0.3 and more: 0.3 to 200. With a weight of 0.05 healthy runs of trpo/v2 (CartPole, "
    "Acrobot, seeds 900 and 901) pull 0.4 at most while random; trpo/v2-breakout (seed 0), which "
    "hardly learns, 0.7",
    detect=detect,
    traits=("acts", "on_policy"),
)
