"""What `import steadyrl` offers: the commands as functions, with objects of one's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from steadyrl import run as runs
from steadyrl.core.choices import one_of
from steadyrl.core.presets import load_config, parse_config, with_own_folder
from steadyrl.core.records import RunSummary
from steadyrl.core.run_config import RunConfig
from steadyrl.environments.given import Given, hand_over
from steadyrl.guarding import GuardMode, Observers
from steadyrl.judging import judge
from steadyrl.store.reader import RunReader
from steadyrl.trained import TrainedPolicy, load_policy
from steadyrl.verdict import Verdict

if TYPE_CHECKING:
    from steadyrl.experiments.evaluation import Evaluated
    from steadyrl.experiments.executor import Executor
    from steadyrl.experiments.rescue import Rescue

PathLike = str | os.PathLike[str]
Config = RunConfig | PathLike | Mapping[str, Any]


class Run(NamedTuple):
    """A run that was trained: how it ended, where it lies, and what can be done with it."""

    summary: RunSummary
    path: Path

    def policy(self, which: str | int = "best") -> TrainedPolicy:
        """What it learned: the best evaluated checkpoint, the "last", or that of a Step."""
        return load_policy(self.path, which)

    def diagnose(self) -> Verdict:
        """How it stands, and why."""
        return judge(self.path)

    def evaluate(self, episodes: int = 100, *, seed: int = 0) -> Evaluated:
        """The best checkpoint on episodes that it never met."""
        from steadyrl.experiments.evaluation import evaluate_policy

        return evaluate_policy(self.policy(), episodes=episodes, seed=seed)

    def report(self, output: PathLike | None = None) -> Path:
        """Write its page; returns where it is."""
        from steadyrl.report.html import write_report

        return write_report([RunReader.open(self.path)], None if output is None else Path(output))


def train(
    config: Config,
    directory: PathLike | None = None,
    *,
    environment: Given | str | None = None,
    overrides: Mapping[str, Any] | None = None,
    numbered: bool = False,
    guard: GuardMode = "watch",
    observers: Observers | None = None,
) -> Run:
    """Train from the beginning.

    Examples:
        >>> import steadyrl, tempfile
        >>> run = steadyrl.train(
        ...     "ppo/cartpole",
        ...     tempfile.mkdtemp() + "/run",
        ...     overrides={"total_env_steps": 2048, "evaluation.every": 1024},
        ... )
        >>> run.summary.status
        'finished'
        >>> run.policy().act([0.0, 0.0, 0.0, 0.0]) in (0, 1)
        True

    Args:
        config: a config, a preset's name, a YAML file, or settings as a dictionary.
        directory: the run's folder (default: under runs/, named by the config).
        environment: instead of the config's: an id, a gymnasium.Env, its class, or a function that
            makes one.
        overrides: settings to change, by their dotted names.
        numbered: if the directory is taken, directory-2, directory-3 ... is it.
        guard: "off", "watch" (report findings), "act" (on something severe go back to the last good
            checkpoint with an automatic remedy, or begin anew while nothing was learned), or
            "stop".
        observers: who else wants to see Steps, findings and actions as they happen.
    """
    return Run(
        *runs.train(
            config_from(config, overrides, environment),
            None if directory is None else Path(directory),
            numbered=numbered,
            guard=one_of("guard", guard, GuardMode),
            observers=observers,
        )
    )


def resume(
    directory: PathLike,
    *,
    environment: Given | None = None,
    overrides: Mapping[str, Any] | None = None,
    guard: GuardMode | None = None,
    observers: Observers | None = None,
) -> Run:
    """Continue a run from its newest intact checkpoint, exactly as if it had never stopped.

    `environment` hands over again what the run was begun with, if it cannot be imported.
    """
    path = Path(directory)
    if environment is not None:
        hand_over(environment)
    if guard is not None:
        one_of("guard", guard, GuardMode)
    return Run(
        runs.resume(path, overrides=overrides, guard=guard, observers=observers),
        path,
    )


def rescue(
    config: Config,
    folder: PathLike | None = None,
    *,
    seeds: int = 4,
    executor: Executor | None = None,
    also: Sequence[Mapping[str, Any]] = (),
    say: Callable[[str], None] = lambda _line: None,
) -> Rescue:
    """Find the cause of a collapse, try the remedies, prove the fix on fresh seeds.

    Run it again on the same folder (default: under runs/, named by the config) and it goes on where
    it stopped.
    """
    from steadyrl.experiments import rescue as rescues
    from steadyrl.experiments.executor import HERE

    original = config_from(config)
    return rescues.rescue(
        original,
        rescues.default_folder(original) if folder is None else Path(folder),
        seeds=seeds,
        executor=executor or HERE,
        also=also,
        say=say,
    )


def config_from(
    config: Config,
    overrides: Mapping[str, Any] | None = None,
    environment: Given | str | None = None,
) -> RunConfig:
    """A config from whatever names one, with settings changed and an environment handed over."""
    changes = {**(overrides or {}), **({} if environment is None else hand_over(environment))}
    if isinstance(config, RunConfig):
        return with_own_folder(config.replaced(changes) if changes else config)
    if isinstance(config, Mapping):
        return with_own_folder(parse_config(config, overrides=changes))
    return load_config(os.fspath(config), changes)
