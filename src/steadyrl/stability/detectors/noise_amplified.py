"""D114: the policy jumps on advantages that have nearly vanished."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """A large KL within a few updates of advantages that were a sliver of their largest size."""
    kl = window.latest("policy.kl")
    if not kl > limits["kl"] or not window.fresh("policy.kl"):
        return None
    recent = window.last("advantage.std", int(limits["steps"]))
    largest = window.highest("advantage.std")
    if not len(recent) or not float(recent.min()) < limits["share"] * largest:
        return None
    share = float(recent.min()) / largest
    return Sighting(
        f"the policy moved by {kl:.2g} nats after advantages had shrunk to {share:.1%} of their "
        "largest size",
        {"policy.kl": kl, "advantage.std": float(recent.min()), "largest": largest},
    )


RULE = Detector(
    id="D114",
    name="noise-amplified",
    severity="warning",
    symptom="A policy that does well suddenly moves far, while advantages are tiny.",
    why="Where every episode goes equally well, what is left of the advantages is the critic's "
    "error; normalised to variance 1 it drives the policy as hard as a real difference would.",
    false_alarms="Rewards whose size falls by orders of magnitude in the course of the run.",
    reads=("advantage.std", "policy.kl"),
    limits={"share": 0.02, "steps": 10, "kl": 0.1},
    calibrated_on="96 healthy PPO runs of the fault bench (seeds 4000 to 4002): at most 0.02 nats "
    "within ten updates of such advantages. CartPole-v1 with RL Zoo's settings, seed 6, which "
    "falls from 500 to 110 for good: 1.4",
    detect=detect,
    traits=("acts", "on_policy", "clipped"),
)
