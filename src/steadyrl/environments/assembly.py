"""A small assembly task with a scripted expert, so that demonstrations exist without any download.

A tool with a gripper picks a part up, carries it to its place and pushes it in. Seven actions, as
robot arms have: three of translation, three of rotation, and the gripper, open (1) or shut (-1).
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

Vector = NDArray[np.float32]

REACH = 0.02  # how near is there
PACE = 0.0085  # of the expert, per step: an episode takes about 400
GRIP_STEPS = 12
OBSERVED = 18  # tool, angles, gripper, part, place, held, time in hand, way to the part
HEIGHT = 0.3


class AssemblyEnv(gymnasium.Env[Any, Any]):
    """Positions within a cube of side 2; each step moves the tool by at most 0.05."""

    def __init__(self, episode_length: int = 418) -> None:
        self.observation_space = Box(-2.0, 2.0, (OBSERVED,), dtype=np.float32)
        self.action_space = Box(-1.0, 1.0, (7,), dtype=np.float32)
        self._length = episode_length
        self.tool = self.angles = self.part = self.place = np.zeros(3)
        self.gripper, self.held, self.gripping, self.time = 1.0, False, 0, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Vector, dict[str, Any]]:
        """A part and its place lie somewhere on the table."""
        super().reset(seed=seed, options=options)
        draw = self.np_random.uniform
        self.tool = np.array([draw(-0.5, 0.5), draw(-0.5, 0.5), 0.6])
        self.angles = draw(-0.3, 0.3, size=3)
        self.part = np.array([draw(-0.8, -0.3), draw(-0.6, 0.6), 0.0])
        self.place = np.array([draw(0.3, 0.8), draw(-0.6, 0.6), 0.0])
        self.gripper, self.held, self.gripping, self.time = 1.0, False, 0, 0
        return self.observe(), {}

    def step(self, action: Any) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Move, turn, grip. The reward is the part's nearness to its place; 1 when it is in."""
        wanted = np.clip(np.asarray(action, dtype=np.float64), -1.0, 1.0)
        self.tool = np.clip(self.tool + 0.05 * wanted[:3], -1.5, 1.5)
        self.angles = np.clip(self.angles + 0.05 * wanted[3:6], -1.0, 1.0)
        self.gripper += 0.2 * (np.sign(wanted[6]) - self.gripper)
        near = float(np.linalg.norm(self.tool - self.part)) < 2 * REACH
        shut = self.gripper < -0.5
        self.held = shut and (self.held or near)
        self.gripping = self.gripping + 1 if self.held else 0
        if self.held:
            self.part = self.tool.copy()
        self.time += 1
        distance = float(np.linalg.norm(self.part - self.place))
        reward = 1.0 if distance < 2 * REACH else max(0.0, 1.0 - distance) * 0.5
        return self.observe(), reward, False, self.time >= self._length, {"distance": distance}

    def observe(self) -> Vector:
        """What the policy sees."""
        waited = min(1.0, self.gripping / GRIP_STEPS)
        parts = (self.tool, self.angles, [self.gripper], self.part, self.place)
        flags = ([float(self.held)], [waited], self.part - self.tool)
        return np.concatenate((*parts, *flags)).astype(np.float32)


def expert(env: AssemblyEnv, noise: NDArray[np.float64]) -> Vector:
    """What a patient operator would do now: above, down, grip, up, across, down, hold."""
    above_part = env.part + np.array([0.0, 0.0, HEIGHT])
    above_place = env.place + np.array([0.0, 0.0, HEIGHT])
    grip = 1.0
    across = env.tool[:2] - env.part[:2]
    if not env.held:
        over = float(np.linalg.norm(across)) < REACH
        goal = env.part if over else above_part
        grip = -1.0 if float(np.linalg.norm(env.tool - env.part)) < REACH else 1.0
    else:
        grip = -1.0
        there = float(np.linalg.norm(env.tool[:2] - env.place[:2])) < REACH
        if env.gripping < GRIP_STEPS:
            goal = env.tool
        elif there:
            goal = env.place
        elif env.tool[2] < HEIGHT - REACH and not there:
            goal = np.array([env.tool[0], env.tool[1], HEIGHT])
        else:
            goal = above_place
    push = goal - env.tool
    distance = float(np.linalg.norm(push))
    pace = push / distance * min(PACE, 0.3 * distance) / 0.05 if distance > 1e-9 else push
    turn = -0.5 * env.angles
    action = np.concatenate((pace + 0.02 * noise[:3], turn + 0.01 * noise[3:6], [grip]))
    return np.clip(action, -1.0, 1.0).astype(np.float32)
