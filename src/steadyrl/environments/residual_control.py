"""Residual control: a weak PD controller holds an unstable plant, a learned correction helps it.

The plant is an inverted pendulum that must track a sine while gusts push it. The action, scaled by
`delta_scale_max`, is added to the controller's torque. Every step costs something, even a perfect
one (`alive_cost`); an episode ends early when the tracking error passes `termination_error`.

With the default settings ending early is free while living on costs: the best an agent can do is
to fall over at once. That is a property of the task, not of the learner, and it is what makes this
environment a good patient. `termination_penalty` (in units of one step's `cost_scale`) cures it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from steadyrl.core.errors import EnvironmentFault

Floats = NDArray[np.float64]

STEP_SECONDS = 0.02
PLANT_STIFFNESS = 10.0  # gravity over length: the plant falls over by itself
PLANT_DAMPING = 0.3
PROPORTIONAL_GAIN = 9.0  # below the stiffness: on its own the controller loses the plant
DERIVATIVE_GAIN = 1.0
CORRECTION_TORQUE = 6.0  # torque of a full action at delta_scale_max = 1
REFERENCE_AMPLITUDE = 0.3
REFERENCE_RATE = 2.0 * np.pi * 0.25
ERROR_SCALE = 0.8
LONGEST_EPISODE = 4010
OBSERVATION_BOUND = 1e6  # never reached: the controller pulls back harder the farther it is off


@dataclass(frozen=True, kw_only=True)
class Task:
    """The settings of the task."""

    delta_scale_max: float = 3.0
    episode_length: int = 1000
    termination_error: float = 0.4
    termination_penalty: float = 0.0
    cost_scale: float = 2000.0
    alive_cost: float = 0.5
    gust: float = 1.0

    def __post_init__(self) -> None:
        """Refuse values that make no task."""
        if not 1 <= self.episode_length <= LONGEST_EPISODE:
            self._refuse("episode_length", f"use 1 to {LONGEST_EPISODE}")
        for name in ("delta_scale_max", "termination_error", "cost_scale"):
            if not getattr(self, name) > 0:
                self._refuse(name, "use a number above 0")
        for name in ("termination_penalty", "alive_cost", "gust"):
            if not getattr(self, name) >= 0:
                self._refuse(name, "use 0 or more")

    def _refuse(self, name: str, advice: str) -> None:
        raise EnvironmentFault(f"ResidualControl: {name} = {getattr(self, name)!r}: {advice}.")


class Simulation:
    """The physics of `count` plants at once, all arithmetic on arrays of that length."""

    def __init__(self, count: int, task: Task) -> None:
        self.task = task
        self.angle, self.velocity, self.phase = np.zeros((3, count))
        self.time = np.zeros(count, dtype=np.int64)
        self.gusts = np.zeros((3, count))  # amplitude, rate, phase of the disturbance
        self._measure()

    def start(self, index: int, generator: np.random.Generator) -> None:
        """Begin an episode of one plant. All its randomness is drawn here, none while stepping."""
        gust, turn = self.task.gust, 2.0 * np.pi
        self.time[index] = 0
        self.phase[index] = generator.uniform(0.0, turn)
        self.gusts[:, index] = generator.uniform([0.3 * gust, 1.0, 0.0], [gust, 4.0, turn])
        offset, self.velocity[index] = generator.uniform(-0.05, 0.05, size=2)
        self.angle[index] = REFERENCE_AMPLITUDE * np.sin(self.phase[index]) + offset
        self._measure()

    def advance(self, actions: Floats) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
        """One step with actions in -1..1: rewards, terminated, truncated."""
        task, actions = self.task, np.clip(actions, -1.0, 1.0)
        amplitude, rate, phase = self.gusts
        torque = PROPORTIONAL_GAIN * self.error + DERIVATIVE_GAIN * self.error_rate
        torque += (task.delta_scale_max * CORRECTION_TORQUE) * actions
        torque += amplitude * np.sin(rate * STEP_SECONDS * self.time + phase)
        torque += PLANT_STIFFNESS * np.sin(self.angle) - PLANT_DAMPING * self.velocity
        self.velocity += STEP_SECONDS * torque
        self.angle += STEP_SECONDS * self.velocity
        self.time += 1
        self._measure()
        cost = task.alive_cost + (self.error / ERROR_SCALE) ** 2
        cost += 0.01 * (self.error_rate**2 + actions**2)
        terminated = np.abs(self.error) > task.termination_error
        cost += task.termination_penalty * terminated
        truncated = ~terminated & (self.time >= task.episode_length)
        return -task.cost_scale * cost, terminated, truncated

    def observe(self) -> NDArray[np.float32]:
        """What the agent sees of each plant: errors, plant state, phase of the reference."""
        return self._observation.astype(np.float32)

    def _measure(self) -> None:
        """Tracking errors and observation, once per step: three readers use them."""
        swing = (REFERENCE_RATE * STEP_SECONDS) * self.time + self.phase
        sine, cosine = np.sin(swing), np.cos(swing)
        self.error = REFERENCE_AMPLITUDE * sine - self.angle
        self.error_rate = (REFERENCE_AMPLITUDE * REFERENCE_RATE) * cosine - self.velocity
        columns = (self.error, self.error_rate, self.angle, self.velocity, sine, cosine)
        self._observation = np.stack(columns, axis=1)

    def state_dict(self) -> dict[str, Any]:
        """Every number that the next step depends on."""
        names = ("angle", "velocity", "time", "phase", "gusts")
        return {name: getattr(self, name).copy() for name in names}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        for name, value in state.items():
            getattr(self, name)[...] = value
        self._measure()


def _spaces() -> tuple[gymnasium.spaces.Box, gymnasium.spaces.Box]:
    return (
        gymnasium.spaces.Box(-OBSERVATION_BOUND, OBSERVATION_BOUND, (6,), dtype=np.float32),
        gymnasium.spaces.Box(-1.0, 1.0, (1,), dtype=np.float32),
    )


class ResidualControlEnv(gymnasium.Env[NDArray[Any], NDArray[Any]]):
    """One plant, as an ordinary Gymnasium environment."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own type

    def __init__(self, *, render_mode: None = None, **settings: Any) -> None:
        self.task = Task(**settings)
        self.render_mode = render_mode
        self.observation_space, self.action_space = _spaces()
        self._simulation = Simulation(1, self.task)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed, options=options)
        self._simulation.start(0, self.np_random)
        return self._simulation.observe()[0], {}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """One step of 20 ms."""
        actions = np.asarray(action, dtype=np.float64).reshape(1)
        rewards, terminated, truncated = self._simulation.advance(actions)
        observation = self._simulation.observe()[0]
        return observation, float(rewards[0]), bool(terminated[0]), bool(truncated[0]), {}


class ResidualControlVectorEnv(VectorEnv[NDArray[Any], NDArray[Any], NDArray[Any]]):
    """Many plants stepped as arrays. The caller resets (`reset_mask`): no hidden autoreset."""

    metadata: dict[str, Any] = {  # noqa: RUF012 - Gymnasium's own type
        "render_modes": [],
        "autoreset_mode": AutoresetMode.DISABLED,
    }

    def __init__(self, num_envs: int = 1, *, render_mode: None = None, **settings: Any) -> None:
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.single_observation_space, self.single_action_space = _spaces()
        batch = gymnasium.vector.utils.batch_space
        self.observation_space = batch(self.single_observation_space, num_envs)
        self.action_space = batch(self.single_action_space, num_envs)
        self._simulation = Simulation(num_envs, Task(**settings))
        self._generators = [np.random.default_rng() for _ in range(num_envs)]

    def reset(
        self,
        *,
        seed: int | list[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode in every plant, or in those that `options["reset_mask"]` names."""
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        mask = (options or {}).get("reset_mask", np.ones(self.num_envs, dtype=bool))
        for index in np.flatnonzero(mask):
            if seeds is not None and seeds[index] is not None:
                # The generator that Gymnasium's Env.reset(seed) makes, so both classes agree.
                self._generators[index] = gymnasium.utils.seeding.np_random(seeds[index])[0]
            self._simulation.start(int(index), self._generators[index])
        return self._simulation.observe(), {}

    def step(
        self, actions: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], Floats, NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step of 20 ms in every plant."""
        flat = np.asarray(actions, dtype=np.float64).reshape(self.num_envs)
        rewards, terminated, truncated = self._simulation.advance(flat)
        return self._simulation.observe(), rewards, terminated, truncated, {}

    def observe(self) -> NDArray[np.float32]:
        """What the agent sees now, without stepping."""
        return self._simulation.observe()

    def state_dict(self) -> dict[str, Any]:
        """The plants and their generators."""
        streams = [generator.bit_generator.state for generator in self._generators]
        return {"simulation": self._simulation.state_dict(), "generators": streams}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Back to a recorded state."""
        self._simulation.load_state_dict(state["simulation"])
        for generator, stream in zip(self._generators, state["generators"], strict=True):
            generator.bit_generator.state = stream
