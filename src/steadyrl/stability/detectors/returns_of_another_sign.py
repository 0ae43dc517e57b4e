"""D050: returns have the sign that this environment never gives."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.numbers import amount
from steadyrl.stability.references import sign_of
from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import TRAINING_RETURN, Window

RETURNS = ("eval.return_mean", TRAINING_RETURN)


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """All returns so far are above zero where they are always below, or the other way round."""
    sign = sign_of(window.environment)
    for name in RETURNS:
        if not sign or window.count(name) < limits["values"]:
            continue
        if sign * window.highest(name) < 0 and sign * window.lowest(name) < 0:
            usual = "positive" if sign > 0 else "negative"
            return Sighting(
                f"the return is {amount(window.latest(name))}; in {window.environment} every "
                f"return from a random policy's to the best known is {usual}",
                {name: window.latest(name)},
            )
    return None


RULE = Detector(
    id="D050",
    name="returns-of-another-sign",
    severity="warning",
    symptom="In a known environment all returns have the sign that its rewards cannot have.",
    why="The reward is negated or replaced on its way: the better the policy gets at it, the worse "
    "it gets at the task.",
    false_alarms="Rewards replaced or shifted on purpose, under the environment's own id.",
    reads=(),
    any_of=RETURNS,
    limits={"values": 5},
    calibrated_on="a fact of environments in which a random policy and the best known one have "
    "returns of one sign (CartPole, Pendulum, Acrobot, MountainCar), not a statistic",
    detect=detect,
    traits=("acts",),
)
