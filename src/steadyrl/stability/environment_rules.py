"""Questions to an environment, answered before any training from what random actions show.

Each is a small rule: what it asks, why that matters, what to do, and when it may be wrong. They
look at an `Examined`: plain numbers, gathered by whoever could step the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from steadyrl.core.records import Severity
from steadyrl.stability import environment_answers as answers
from steadyrl.stability.check import Concern
from steadyrl.stability.environment_answers import Examined
from steadyrl.stability.rules import Sighting


@dataclass(frozen=True, kw_only=True)
class Question:
    """One rule about environments."""

    id: str
    name: str
    severity: Severity
    asks: str
    why: str
    remedy: str
    false_alarms: str
    answer: Callable[[Examined], Sighting | None]


def _question(
    identity: str,
    name: str,
    severity: Severity,
    *texts: str,
    answer: Callable[[Examined], Sighting | None],
) -> Question:
    """A rule, declared in one breath: what it asks, why, what to do, when it may be wrong."""
    asks, why, remedy, false_alarms = texts
    return Question(
        id=identity, name=name, severity=severity, asks=asks, why=why, remedy=remedy,
        false_alarms=false_alarms, answer=answer,
    )  # fmt: skip


QUESTIONS: Sequence[Question] = (
    _question(
        "E001", "promise-broken", "severe",
        "Are observations, rewards and flags what the spaces and Gymnasium promise?",
        "Algorithms trust them: a number out of its range or not finite is learned from.",
        "Mend the environment; CheckedEnv raises where it happens.",
        "None: these are promises.",
        answer=answers.broken_promise,
    ),
    _question(
        "E002", "actions-without-effect", "severe",
        "Do actions reach the world? (same seed, one action changed)",
        "Nothing can be learned where no action changes anything.",
        "See what step() does with its argument, and what wrappers pass on.",
        "A world in which random actions have no effect for many steps.",
        answer=answers.no_effect,
    ),
    _question(
        "E003", "actions-arrive-late", "warning",
        "After how many steps does an action show?",
        "An observation that does not hold the actions under way is no state: credit goes wrong.",
        "Apply actions at once, or add the last actions to the observation.",
        "Worlds with a delay that is part of the task.",
        answer=answers.late,
    ),
    _question(
        "E004", "not-reproducible", "warning",
        "Do the same seed and actions lead to the same episode?",
        "Runs cannot be repeated, compared or resumed exactly.",
        "Draw all randomness from self.np_random, seeded by super().reset(seed=seed).",
        "Simulators that run by the clock.",
        answer=answers.not_reproducible,
    ),
    _question(
        "E005", "reward-noise", "warning",
        "How much of the reward is noise?",
        "Noise of the size of the signal costs many times the samples.",
        "Take the noise out of the reward, or average it.",
        "Rewards of real measurements.",
        answer=answers.noisy_reward,
    ),
    _question(
        "E006", "early-end-pays", "warning",
        "Does it pay to end an episode early?",
        "Where every step costs, an agent learns to fail soon.",
        "Let failing cost more than going on, or reward each step lived.",
        "Tasks whose goal ends the episode (MountainCar): ending soon is what is wanted there.",
        answer=answers.early_end,
    ),
    _question(
        "E007", "scales-apart", "warning",
        "Are the components of observations of one size?",
        "Networks see the large ones only.",
        "Normalise observations (VecNormalize, normalize_observations).",
        "Random actions may not show what a trained policy sees.",
        answer=answers.scales,
    ),
    _question(
        "E008", "component-constant", "note",
        "Does every component of the observation change?",
        "A component that never changes tells nothing, or should change and does not.",
        "Leave it out, or see why it stands still.",
        "What only changes after a success.",
        answer=answers.constant,
    ),
    _question(
        "E009", "component-twice", "note",
        "Is any component there twice?",
        "A copy tells nothing new; often one of the two was meant to be something else.",
        "See which of the two is meant.",
        "Components that part later.",
        answer=answers.duplicated,
    ),
    _question(
        "E010", "time-limit-in-disguise", "warning",
        "Are time limits reported as such?",
        "A limit reported as termination teaches that the world ends there.",
        "Return truncated=True at the limit (gymnasium.wrappers.TimeLimit does).",
        "Tasks that end after a fixed number of steps by their nature.",
        answer=answers.time_limit,
    ),
    _question(
        "E011", "reward-constant", "note",
        "Do random actions ever see another reward?",
        "Until they do there is nothing to learn from.",
        "Shape the reward, begin nearer to the goal, or explore on purpose.",
        "A few random episodes are few: a rare reward may have been missed.",
        answer=answers.no_reward,
    ),
    _question(
        "E012", "rewards-large", "note",
        "Are rewards of a size that networks can hold?",
        "Value losses grow with their square and drown the policy's gradient.",
        "Scale or normalise rewards.",
        "Algorithms that normalise them anyway.",
        answer=answers.large_reward,
    ),
    _question(
        "E013", "flags-contradict", "warning",
        "Does an episode end in one way only?",
        "What is bootstrapped at an end depends on it: terminated means that nothing follows, "
        "truncated that the world goes on.",
        "Set terminated at the task's own end and truncated at a limit, never both for one 'done'.",
        "Tasks whose own end lies at their time limit.",
        answer=answers.contradiction,
    ),
)  # fmt: skip


def asked(seen: Examined, questions: Sequence[Question] = QUESTIONS) -> list[Concern]:
    """What the questions find fault with, most severe first."""
    found = []
    for rule in questions:
        sighting = rule.answer(seen)
        if sighting is not None:
            severity = sighting.severity or rule.severity
            found.append(
                Concern(rule.id, rule.name, severity, sighting.message, rule.why, rule.remedy)
            )
    order = ("severe", "warning", "note")
    return sorted(found, key=lambda concern: order.index(concern.severity))
