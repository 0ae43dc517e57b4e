"""The checklist of language models: before, early, middle and late.

Bands of entropy and distance hold for one model and one task only, so the run is held against
itself. With `limits: document` the document's own bands are asked as well.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from steadyrl.maths.robust import Floats, median, trend
from steadyrl.stability.checklist_record import NOT_REACHED, Answer, Ask, Item, Record

REWARD, CHANCE = "rollout.return_mean", "language.reward_error"
ENTROPY, DISTANCE, HELD_OUT = "policy.entropy", "language.reference_kl", "eval.return_mean"
FEW = 5  # values that make up a level
BEYOND_CHANCE = 2.0  # standard errors
COMPLETIONS = 256
Question = Callable[[Record], Answer | None]


def _of_language(question: Question) -> Ask:
    """Asked of language models only."""

    def ask(record: Record) -> Answer | None:
        return question(record) if record.config.is_a("language") else None

    return ask


def _of_the_document(name: str, low: float, high: float) -> Ask:
    """A band of the document, for those who want it."""

    def ask(record: Record) -> Answer | None:
        values = record.values(name)
        if record.config.limits != "document" or not record.config.is_a("language"):
            return None
        if not len(values):
            return NOT_REACHED if not record.reached else None
        middle = median(values)
        return Answer(low <= middle <= high, f"median {middle:.3g} nats")

    return ask


def _large_batch(record: Record) -> Answer | None:
    samples = record.config.samples_per_update
    if not samples:
        return None
    return Answer(samples >= COMPLETIONS, f"{samples} completions per update")


def _as_trained(record: Record) -> Answer | None:
    config = record.config
    temperature, top_p = config.value_of("temperature"), config.value_of("top_p")
    if temperature is None or top_p is None:
        return None
    said = f"temperature {temperature:g}, top_p {top_p:g}"
    return Answer(temperature == 1.0 and top_p == 1.0, said)


def _starts_at_reference(record: Record) -> Answer | None:
    values = record.values(DISTANCE)
    if not len(values):
        return record.not_measured(DISTANCE)
    return Answer(bool(values[0] <= 0.02), f"{values[0]:.3g} nats in the first update")


def _entropy_kept(share: float) -> Question:
    """The phase ends with so much of the entropy it began with, or more."""

    def ask(record: Record) -> Answer | None:
        values = record.values(ENTROPY)
        if len(values) < 2:
            return record.not_measured(ENTROPY) if not len(values) else NOT_REACHED
        first, last = float(values[0]), median(values[-FEW:])
        return Answer(last >= share * first, f"{first:.3g} to {last:.3g} nats per token")

    return ask


def _entropy_smooth(record: Record) -> Answer | None:
    values = record.values(ENTROPY)
    if len(values) < 2:
        return record.not_measured(ENTROPY) if not len(values) else NOT_REACHED
    falls = values[:-1] / np.maximum(values[1:], 1e-12)
    return Answer(bool(falls.max() < 2.0), f"at most {falls.max():.2g} times lower in one update")


def _reward_does_not_fall(record: Record) -> Answer | None:
    values = record.values(REWARD)
    if len(values) < FEW:
        return record.not_measured(REWARD) if not len(values) else _too_few(values)
    course = trend(values)
    falls = course.slope < 0 and course.p_value < 0.05
    return Answer(not falls, f"{values[0]:.3g} to {values[-1]:.3g}")


def _reward_goes_on(record: Record) -> Answer | None:
    """At the end of the phase the reward is above where the run began, beyond chance."""
    values, before = record.values(REWARD), record.values(REWARD, earlier=True)
    if len(values) < FEW or not len(before):
        return record.not_measured(REWARD) if not len(values) else _too_few(values)
    first, last = median(before[:FEW]), median(values[-FEW:])
    errors = record.values(CHANCE)
    noise = median(errors) if len(errors) else 0.0
    seen = f"{first:.3g} at first, {last:.3g} at the phase's end"
    return Answer(last - first > BEYOND_CHANCE * noise, seen)


def _held_out_keeps_up(record: Record) -> Answer | None:
    """Held-out problems are answered no worse than before, but for chance."""
    values, before = record.values(HELD_OUT), record.values(HELD_OUT, earlier=True)
    if not record.reached:
        return NOT_REACHED
    if not len(values) or not len(before):
        return Answer(None, f"{len(values)} evaluations: too few to tell")
    errors = record.values("eval.return_std")
    noise = median(errors) if len(errors) else 0.0
    early, late = median(before), median(values[-3:])
    worse = early - late > BEYOND_CHANCE * noise
    return Answer(not worse, f"{early:.3g} before, {late:.3g} at the phase's end")


def _values_err_little(record: Record) -> Answer | None:
    """A loss in reward^2 grows with the rewards' spread, which is largest at half of them right."""
    losses, spreads = record.values("value.loss"), record.values("language.reward_std")
    if len(losses) < FEW or not len(spreads):
        return record.not_measured("value.loss") if not len(losses) else _too_few(losses)
    spread = median(spreads[-FEW:]) ** 2
    loss = median(losses[-FEW:])
    return Answer(loss <= 1.5 * spread, f"a loss of {loss:.3g}, a variance of {spread:.3g}")


def _no_leap(record: Record) -> Answer | None:
    """No update moves the reward by more than chance and a third of all it ever earned."""
    values = record.values(REWARD)
    if len(values) < 2:
        return record.not_measured(REWARD) if not len(values) else _too_few(values)
    errors, known = record.values(CHANCE), record.values(REWARD, earlier=True)
    noise = median(errors) if len(errors) else 0.0
    scale = float(max(values.max(), known.max(initial=-np.inf)))
    least = max(5.0 * noise, abs(scale) / 3.0)
    leap = float(np.abs(np.diff(values)).max())
    return Answer(leap <= least, f"at most {leap:.3g} from one update to the next")


def _distance_settles(record: Record) -> Answer | None:
    values = record.values(DISTANCE)
    if len(values) < FEW:
        return record.not_measured(DISTANCE) if not len(values) else _too_few(values)
    first, last = median(values[:FEW]), median(values[-FEW:])
    return Answer(last <= max(2.0 * first, 0.05), f"{first:.3g} to {last:.3g} nats per token")


def _too_few(values: Floats) -> Answer:
    return Answer(None, f"{len(values)} updates: too few to tell")


LANGUAGE_ITEMS: tuple[Item, ...] = (
    Item("before", "An update rests on 256 completions or more", _of_language(_large_batch)),
    Item("before", "What is sampled is what is trained", _of_language(_as_trained)),
    Item("early", "The reference is where training begins", _of_language(_starts_at_reference)),
    Item("early", "Half of the entropy is kept", _of_language(_entropy_kept(0.5))),
    Item("early", "The reward does not fall", _of_language(_reward_does_not_fall)),
    Item("early", "Values err no more than rewards vary", _of_language(_values_err_little)),
    Item("early", "Entropy lies between 1.5 and 2 nats", _of_the_document(ENTROPY, 1.5, 2.0)),
    Item("early", "The reference is nearer than 0.1", _of_the_document(DISTANCE, 0.0, 0.1)),
    Item("middle", "The reward has risen", _of_language(_reward_goes_on)),
    Item("middle", "Entropy falls smoothly", _of_language(_entropy_smooth)),
    Item("middle", "The reward does not leap", _of_language(_no_leap)),
    Item("middle", "Held-out answers keep up", _of_language(_held_out_keeps_up)),
    Item("middle", "Entropy lies between 1 and 1.5 nats", _of_the_document(ENTROPY, 1.0, 1.5)),
    Item("late", "The reward does not fall", _of_language(_reward_does_not_fall)),
    Item("late", "Entropy settles", _of_language(_entropy_kept(0.3))),
    Item("late", "The distance from the reference settles", _of_language(_distance_settles)),
    Item("late", "Held-out answers keep up", _of_language(_held_out_keeps_up)),
    Item("late", "Entropy lies between 0.8 and 1.2 nats", _of_the_document(ENTROPY, 0.8, 1.2)),
    Item("late", "The reference is nearer than 0.1", _of_the_document(DISTANCE, 0.0, 0.1)),
)
