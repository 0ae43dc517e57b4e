"""What passes by tells whether actions reach a world, when, and whether its reward is noise."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from steadyrl.environments.witness import ENOUGH, KEPT, Account, Witness

STEPS = 1500


class Point:
    """A mass on a spring that actions push about; one thing about it may be wrong."""

    def __init__(self, *, push: float = 1.0, delay: int = 0, noise: float = 0.0) -> None:
        self.rng = np.random.default_rng(0)
        self.push, self.noise = push, noise
        self.waiting = deque([0.0] * delay)
        self.at, self.speed, self.age = 0.5, 0.0, 0

    def step(self, action: float) -> tuple[float, bool]:
        self.waiting.append(action)
        force = self.push * self.waiting.popleft()
        self.speed += 0.1 * force - 0.1 * self.at - 0.02 * self.speed
        self.at += 0.1 * self.speed + 0.01 * self.rng.normal()
        self.age += 1
        over = self.age % 50 == 0
        if over:
            self.at, self.speed = self.rng.normal(), 0.0
        return self.at + self.noise * self.rng.normal(), over

    @property
    def seen(self) -> Any:
        return np.array([[self.at, self.speed]])


def told(
    *, choices: int | None = None, steps: int = STEPS, policy: float = 0.0, **broken: Any
) -> Account | None:
    """What a witness says of random actions, or of some that follow what is seen."""
    world, witness, rng = Point(**broken), Witness(choices), np.random.default_rng(1)
    for _ in range(steps):
        seen = world.seen
        if choices is None:
            action = float(np.clip(rng.normal() - policy * seen[0].sum(), -2.0, 2.0))
            given: Any = np.array([[action]])
        else:
            chosen = int(rng.integers(choices))
            action, given = chosen - (choices - 1) / 2, np.array([chosen])
        reward, over = world.step(action)
        witness.add(seen, given, [reward], [over])
    return witness.ask()


@pytest.mark.parametrize("policy", [0.0, 3.0])
@pytest.mark.parametrize("choices", [None, 3])
def test_actions_that_reach_the_world_show_at_once(choices: int | None, policy: float) -> None:
    found = told(choices=choices, policy=policy)
    assert found is not None
    assert found.lag == 0.0
    assert found.effect > 0.5


@pytest.mark.parametrize("steps", [ENOUGH, KEPT])
@pytest.mark.parametrize("choices", [None, 3])
def test_actions_that_are_lost_explain_nothing(choices: int | None, steps: int) -> None:
    found = told(choices=choices, steps=steps, push=0.0)
    assert found is not None
    assert found.effect < 0.005
    assert "environment.action_lag" not in found.signals


@pytest.mark.parametrize("delay", [1, 2, 4])
def test_a_delay_is_told_in_steps(delay: int) -> None:
    found = told(delay=delay, policy=1.0)
    assert found is not None
    assert found.lag == delay


@pytest.mark.parametrize(("noise", "low", "high"), [(0.0, 0.0, 0.05), (10.0, 0.9, 1.2)])
def test_noise_in_the_reward_is_told_from_what_like_transitions_earn(
    noise: float, low: float, high: float
) -> None:
    found = told(noise=noise)
    assert found is not None
    assert low <= found.noise <= high


def test_a_position_that_is_paid_by_how_a_price_moves_is_an_effect() -> None:
    rng, witness, price = np.random.default_rng(0), Witness(), 0.0
    for _ in range(STEPS):
        action, before = rng.uniform(-1, 1), price
        price = 0.9 * price + rng.normal()
        witness.add(np.array([[before]]), [[action]], [action * (price - before)], [False])
    found = witness.ask()
    assert found is not None
    assert found.effect > 0.5
    assert found.lag == 0.0


def test_actions_that_never_vary_say_nothing() -> None:
    world, witness = Point(), Witness()
    for _ in range(STEPS):
        seen = world.seen
        reward, over = world.step(2.0)
        witness.add(seen, np.array([[2.0]]), [reward], [over])
    found = witness.ask()
    assert found is not None
    assert not {"environment.action_effect", "environment.action_lag"} & found.signals.keys()


def test_an_action_that_is_paid_at_once_and_moves_late_comes_late() -> None:
    world, witness, rng = Point(delay=4), Witness(), np.random.default_rng(1)
    for _ in range(STEPS):
        seen, action = world.seen, float(rng.normal())
        _, over = world.step(action)
        witness.add(seen, np.array([[action]]), [-(action**2) + seen[0, 0]], [over])
    found = witness.ask()
    assert found is not None
    assert found.lag == 4.0


def test_a_constant_reward_has_no_noise_to_speak_of() -> None:
    witness = Witness(2)
    for number in range(STEPS):
        witness.add(np.array([[np.sin(number)]]), [number % 2], [-1.0], [False])
    found = witness.ask()
    assert found is not None
    assert "environment.reward_noise" not in found.signals


@pytest.mark.parametrize(
    "seen", [np.zeros((1, 4, 4), np.uint8), np.zeros((1, 200)), np.array([None]), {"a": 1.0}]
)
def test_what_cannot_be_fitted_is_not_looked_at(seen: Any) -> None:
    witness = Witness(2)
    for _ in range(STEPS):
        witness.add(seen, [0], [0.0], [False])
    assert witness.ask() is None


def test_observations_that_change_their_shape_are_not_looked_at() -> None:
    witness = Witness(2)
    for number in range(STEPS):
        witness.add(np.zeros((1, 3 if number == 700 else 2)), [number % 2], [0.0], [False])
    assert witness.ask() is None


def test_a_few_transitions_and_numbers_that_are_none_tell_nothing() -> None:
    assert told(steps=ENOUGH - 1) is None
    witness = Witness(2)
    for number in range(STEPS):
        witness.add(np.array([[float(number)]]), [number % 2], [np.nan], [False])
    assert witness.ask() is None


def test_episodes_shorter_than_the_lags_tell_nothing() -> None:
    witness = Witness(2)
    for number in range(STEPS):
        witness.add(np.array([[float(number)]]), [number % 2], [0.0], [number % 3 == 0])
    assert witness.ask() is None


def test_what_is_kept_is_bounded() -> None:
    witness = Witness(2)
    for number in range(2 * KEPT):
        witness.add(np.array([[np.sin(number)]]), [number % 2], [0.0], [False])
    found = witness.ask()
    assert found is not None
    assert found.transitions < KEPT
    assert witness.ask() is None
