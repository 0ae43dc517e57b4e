"""A trained policy at work: on the screen, or as a film that needs none."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.core.run_config import ATARI, EnvironmentConfig
from steadyrl.core.seeding import integer_seed
from steadyrl.environments.contract import explained
from steadyrl.environments.envs import Envs
from steadyrl.environments.make import make_one
from steadyrl.experiments.evaluation import acts_by_likelihood, environment_of
from steadyrl.store.files import disk_errors
from steadyrl.trained import TrainedPolicy

Frame = NDArray[np.uint8]
ENLARGED = 4  # what Atari policies see is small
# For films where there is no screen: SDL would look for one and complain.
OFF_SCREEN = ("SDL_VIDEODRIVER", "dummy")
USUAL_RATE = 30  # frames per second, where an environment does not say


@dataclass(frozen=True, slots=True)
class Shown:
    """An episode that was played for somebody to see."""

    seed: int
    total: float
    length: int
    ended: bool  # by itself, not by the limit of steps


def play(
    policy: TrainedPolicy,
    *,
    episodes: int = 1,
    seed: int = 0,
    deterministic: bool | None = None,
    video: Path | None = None,
    most_steps: int = 2000,
    say: Callable[[Shown], None] = lambda _shown: None,
) -> list[Shown]:
    """Play episodes on the screen, or into a film if one is named.

    Whether actions are drawn is the run's own setting unless said.
    """
    _refuse(video, episodes=episodes, most_steps=most_steps)
    deterministic = acts_by_likelihood(policy, deterministic)
    world, shown = environment_of(policy), []
    frames: list[Frame] = []
    rate = USUAL_RATE
    for number in range(episodes):
        if video is not None and not screen_at_hand():
            os.environ.setdefault(*OFF_SCREEN)
        scene = _scene(policy, world, "human" if video is None else "rgb_array")
        start = integer_seed(seed, "shown", number)
        policy.seed(start)
        with closing(scene):
            rate = scene.rate
            total, length, over = 0.0, 0, False
            observation = scene.begin(start)
            frames += scene.frames()
            while not over and length < most_steps:
                action = policy.act(observation, deterministic)
                observation, reward, over = scene.go_on(action)
                total, length = total + reward, length + 1
                frames += scene.frames()
        shown.append(Shown(start, total, length, over))
        say(shown[-1])
    if video is not None:
        write_film(frames, video, rate)
    return shown


def _refuse(video: Path | None, **counts: int) -> None:
    """What would only fail once all was played."""
    for name, count in counts.items():
        if count < 1:
            raise ConfigError(f"{name.replace('_', ' ')} = {count}: play 1 or more.")
    if video is None and not screen_at_hand():
        raise ConfigError(
            "there is no screen here (neither DISPLAY nor WAYLAND_DISPLAY is set): give --video "
            "out.mp4 for a film."
        )
    if video is not None:
        _writer(video)


def screen_at_hand(platform: str = sys.platform, known: Mapping[str, str] = os.environ) -> bool:
    """Whether a window would be seen: on Linux somebody must say where the screen is.

    Without one SDL, which draws most environments, plays on for nobody.
    """
    driver, off = OFF_SCREEN
    told = ("DISPLAY", "WAYLAND_DISPLAY", driver)
    return not platform.startswith("linux") or any((known.get(name) or off) != off for name in told)


class _Plain:
    """A Gymnasium environment that draws itself."""

    def __init__(self, world: EnvironmentConfig, mode: Literal["human", "rgb_array"]) -> None:
        self._id, self._mode = world.id, mode
        self._env = make_one(world, render_mode=mode)
        self.rate = int(self._env.metadata.get("render_fps") or USUAL_RATE)

    def begin(self, seed: int) -> Any:
        with self._told("reset()"):
            return self._env.reset(seed=seed)[0]

    def go_on(self, action: Any) -> tuple[Any, float, bool]:
        with self._told("step()"):
            observation, reward, terminated, truncated, _ = self._env.step(action)
            return observation, float(reward), bool(terminated or truncated)

    def frames(self) -> Iterator[Frame]:
        if self._mode != "rgb_array":
            return
        with self._told("render()"):
            drawn: Any = self._env.render()
        found = np.asarray(drawn)
        if found.dtype == object or found.ndim != 3 or found.shape[2] != 3:
            shape = f"an array of shape {found.shape}"
            kind = shape if isinstance(drawn, np.ndarray) else f"a {type(drawn).__name__}"
            raise EnvironmentFault(
                f"environment '{self._id}': render() returned {kind}, not a picture of (height, "
                "width, 3)."
            )
        yield found.astype(np.uint8)

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        """What fails in it, in one sentence."""
        try:
            yield
        except DependencyNotInstalled as error:
            raise ConfigError(
                f"environment '{self._id}' cannot be drawn: {error}. What Gymnasium's own "
                "environments draw with comes with pip install 'steadyrl[video]'."
            ) from None
        except Exception as error:
            raise explained(self._id, error, doing) from error

    def close(self) -> None:
        self._env.close()


class _Seen:
    """An environment whose observations are pictures: they are shown as the policy sees them."""

    rate = 15  # Atari's 60 frames per second, of which a policy acts on every fourth

    def __init__(self, world: EnvironmentConfig) -> None:
        self._world = world.copies(1)
        self._envs: Envs | None = None

    def begin(self, seed: int) -> Any:
        self._envs = Envs(self._world, seed=seed, purpose="shown")
        return self._envs.observations[0]

    def go_on(self, action: Any) -> tuple[Any, float, bool]:
        assert self._envs is not None
        result = self._envs.step(np.asarray(action)[None])
        return self._envs.observations[0], float(result.rewards[0]), bool(result.over[0])

    def frames(self) -> Iterator[Frame]:
        assert self._envs is not None
        newest = self._envs.observations[0][-1]
        large = newest.repeat(ENLARGED, axis=0).repeat(ENLARGED, axis=1)
        yield np.repeat(large[..., None], 3, axis=2)

    def close(self) -> None:
        if self._envs is not None:
            self._envs.close()


def _scene(
    policy: TrainedPolicy, world: EnvironmentConfig, mode: Literal["human", "rgb_array"]
) -> _Plain | _Seen:
    if world.id.startswith(ATARI):
        if mode == "human":
            raise ConfigError("Atari policies are shown as films: give --video out.mp4.")
        return _Seen(world)
    with closing(make_one(world)) as undrawn:
        modes = undrawn.metadata.get("render_modes") or []
    if mode not in modes:
        raise EnvironmentFault(
            f"environment '{world.id}' cannot be drawn as {mode!r}: its render modes are "
            f"{', '.join(map(str, modes)) or 'none'}. 'steadyrl evaluate {policy.path}' tells how "
            "it plays."
        )
    return _Plain(world, mode)


def write_film(frames: list[Frame], path: Path, rate: int) -> None:
    """Frames as a GIF or as an MP4 that any browser plays."""
    write = _writer(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(frames, path, rate)


def _writer(path: Path) -> Callable[[list[Frame], Path, int], None]:
    """What writes films of this kind, if it is installed."""
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise ConfigError(f"--video {path}: the name must end with {' or '.join(FORMATS)}.")
    package, write = FORMATS[kind]
    try:
        import_module(package)
    except ImportError:
        called = {"PIL": "pillow"}.get(package, package.replace("_", "-"))
        raise ConfigError(f"films need {called}: pip install 'steadyrl[video]'.") from None
    return write


def _write_gif(frames: list[Frame], path: Path, rate: int) -> None:
    from PIL import Image

    pictures = [Image.fromarray(frame) for frame in frames]
    first, rest = pictures[0], pictures[1:]
    first.save(path, save_all=True, append_images=rest, duration=1000 // rate, loop=0)


def _write_mp4(frames: list[Frame], path: Path, rate: int) -> None:
    from imageio_ffmpeg import write_frames

    height, width = (side - side % 2 for side in frames[0].shape[:2])  # the codec wants even ones
    writer = write_frames(
        str(path), (width, height), fps=rate, macro_block_size=2, ffmpeg_log_level="error"
    )
    with closing(writer):
        writer.send(None)
        for frame in frames:
            writer.send(np.ascontiguousarray(frame[:height, :width]))


# By the end of their names: the package that writes them, and how.
FORMATS = {".mp4": ("imageio_ffmpeg", _write_mp4), ".gif": ("PIL", _write_gif)}
