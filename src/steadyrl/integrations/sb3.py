"""Stable-Baselines3 runs, watched from inside.

    from steadyrl.integrations.sb3 import SteadyCallback
    model.learn(100_000, callback=SteadyCallback("runs/mine"))

Adds what Stable-Baselines3 does not log: gradient norms before clipping, Q-values and their bound,
KL of the whole update and of its first epoch, ratios before the first step, whether truncation is
learned as termination, and more. It draws no random number of the run's own and changes no weight:
with on_severe="report" a run trains exactly as it would without it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from steadyrl.core.choices import Family, one_of
from steadyrl.core.extras import missing
from steadyrl.core.records import Finding
from steadyrl.integrations.about import (
    LOWER,
    LOWERINGS,
    About,
    OnSevere,
    say_on_stderr,
)

try:
    from stable_baselines3 import __version__ as sb3_version
    from stable_baselines3.common.callbacks import BaseCallback, EventCallback
    from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
except ModuleNotFoundError as error:
    raise ImportError(str(missing(error, __name__, "sb3") or error)) from None

from steadyrl.integrations.sb3_common import Slower
from steadyrl.integrations.sb3_model import (
    Episodes,
    environment_of,
    evaluators_in,
    new_evaluations,
    not_finite,
    recent_episodes,
    settings_of,
    train_values,
)
from steadyrl.integrations.sb3_off_policy import OffPolicyMeter, can_be_looked_into
from steadyrl.integrations.sb3_on_policy import OnPolicyMeter
from steadyrl.integrations.sb3_world import World
from steadyrl.integrations.watch import Watch
from steadyrl.store.foreign.mapping import load_table

FAMILIES: dict[str, Family] = {
    "PPO": "ppo",
    "RecurrentPPO": "ppo",
    "MaskablePPO": "ppo",
    "TRPO": "trpo",
    "A2C": "a2c",
    "DDPG": "ddpg",
    "TD3": "td3",
    "SAC": "sac",
    "TQC": "sac",
    "DQN": "dqn",
    "QRDQN": "dqn",
}
STEPS, LONGEST = 50, 1000  # Steps of a run, unless each would take more env steps than that
EPISODES_TOLD = 200  # moments at which episodes are told of between Steps, at most


class SteadyCallback(BaseCallback):
    """Watches a model while it learns; on something severe reports, stops or slows it down."""

    def __init__(
        self,
        path: str | Path = "runs/sb3",
        *,
        on_severe: OnSevere = "report",
        save_last_good: bool = True,
        every: int | None = None,
        say: Callable[[str], None] = say_on_stderr,
    ) -> None:
        """Watch a model.

        Args:
            path: folder of the record ('steadyrl diagnose' and 'steadyrl report' open it).
            on_severe: report: only say so; stop: end learn() at the next step;
                lower_learning_rate: to a third, at most three times.
            save_last_good: keep last_good.zip (and its VecNormalize) in that folder, newest as of
                the last Step at which nothing severe had been found. Replay buffers are not kept.
            every: env steps between two Steps, at least; by default a fiftieth of learn()'s
                budget, up to 1,000. PPO, TRPO and A2C have them where an update ends.
            say: who is told of findings, a line each.
        """
        super().__init__()
        self._path, self._save = Path(path), save_last_good
        self._on_severe = one_of("on_severe", on_severe, OnSevere)
        self._asked_every, self._tell = every, say
        self._stopping = self._broken = self._poisoned = False
        self._lowered = 0
        self._watch: Watch | None = None
        self._meter: OnPolicyMeter | OffPolicyMeter | None = None
        self._seams: list[int] = []
        self._evaluated: dict[int, int] = {}

    @property
    def watch(self) -> Watch:
        """The record: its path, findings and diagnosis. There is none before learn()."""
        if self._watch is None:
            raise RuntimeError("nothing has been watched yet: pass the callback to learn() first")
        return self._watch

    def _new_meter(self) -> OnPolicyMeter | OffPolicyMeter | None:
        """The closest look there is for this kind of model; none for one that is not known."""
        model = self.model
        if isinstance(model, OnPolicyAlgorithm):
            return OnPolicyMeter(model, self._safely)
        if can_be_looked_into(model):
            buffer = model.replay_buffer
            if buffer is not None:
                self._seams.append((buffer.pos - 1) % buffer.buffer_size)
            return OffPolicyMeter(model, self._safely, self._seams)
        return None

    def _on_training_start(self) -> None:
        within = getattr(self, "parent", None)
        if isinstance(within, EventCallback):
            self._broken, name = True, type(within).__name__
            self._tell(
                f"nothing is watched: {name} hands on few steps and no updates. Pass this callback "
                f"to learn() itself: learn(..., callback=[SteadyCallback(...), {name}(...)])"
            )
        self._safely(self._begin)

    def _begin(self) -> None:
        model = self.model
        table = load_table("sb3")
        total = int(self.locals.get("total_timesteps", 0))
        self._let_go()  # of a learn() that was broken off
        self._stopping = self._poisoned = False
        self._meter = self._new_meter()
        names = [type(model).__name__, *(parent.__name__ for parent in type(model).__mro__)]
        self._table = table
        plain = isinstance(self._meter, OffPolicyMeter) or bool(self._meter and self._meter.plain)
        self._evaluators = list(evaluators_in(self.locals.get("callback")))[:1]
        self._episodes, self._world = Episodes(model), World(model)
        self._logged: dict[str, float] = {}
        self._at, self._clock = model.num_timesteps, time.perf_counter()
        self._saved_at = self._told_at = model.num_timesteps
        self._between = max(1, (total - model.num_timesteps) // EPISODES_TOLD)
        planned = total - model.num_timesteps
        # Rules want dozens of Steps to look at, of a short run too.
        self._every = self._asked_every or max(1, min(LONGEST, planned // STEPS))
        self._save_every = max(self._every, planned // 20)
        if self._watch is not None and self.locals.get("reset_num_timesteps") is False:
            self._watch.resume(total)
            return
        self._watch = Watch(
            self._path,
            about=About(
                weaker={} if plain else table.weaker(table.signals),
                family=next((FAMILIES[name] for name in names if name in FAMILIES), "unknown"),
                total_env_steps=total,
                settings=settings_of(model, table.settings),
                environment=environment_of(model),
                seed=model.seed or 0,
                source=f"Stable-Baselines3 {sb3_version}",
            ),
            say=self._tell,
        )

    def _safely(self, work: Callable[[], None]) -> None:
        """Watching never takes the training down: after an error of its own it looks away.

        Its hooks come through here too, so that they do nothing from then on; to take one away
        while it runs would be an error of torch's.
        """
        if self._broken or (self._watch is not None and self._watch.broken):
            return
        try:
            work()
        except Exception as error:  # the training matters more than its record
            self._broken = True
            kind = type(error).__name__
            self._tell(f"watching has ended with an error of its own ({kind}: {error})")
            if self._watch is not None:
                self._watch.close("interrupted", "watching ended with an error of its own")

    def _on_rollout_start(self) -> None:
        self._safely(self._update_over)

    def _update_over(self) -> None:
        # For PPO and its kin an update has just ended.
        if isinstance(self._meter, OnPolicyMeter) and self._meter.pending:
            self._step()

    def _on_step(self) -> bool:
        self._safely(self._played)
        return not self._stopping

    def _played(self) -> None:
        bad = None if self._poisoned else not_finite(self.locals)
        if bad is not None:  # told once, and before Stable-Baselines3 itself gives up on it
            self._poisoned = True
            self._respond(self.watch.not_finite(self.model.num_timesteps, *bad))
        self._episodes.add(self.locals)
        for concern in self._world.add(self.locals):
            self.watch.remark(self.model.num_timesteps, concern)
        in_rollouts = isinstance(self._meter, OnPolicyMeter)  # its Steps are where updates end
        if not in_rollouts:
            self._logged |= train_values(self.model)  # another callback may empty the logger
        if isinstance(self._meter, OffPolicyMeter):
            self._meter.add(self.locals)
        if self._due and not in_rollouts:
            self._step()
        elif self.model.num_timesteps - self._told_at >= self._between:
            self._tell_episodes()

    def _tell_episodes(self) -> None:
        """Episodes between two Steps: a dozen Steps must not hide a hundred of them."""
        ended = self._episodes.ended()
        if ended:
            self._told_at = self.model.num_timesteps
            self._respond(self.watch.record(self._told_at, ended))

    @property
    def _due(self) -> bool:
        return self.model.num_timesteps - self._at >= self._every

    def _on_rollout_end(self) -> None:
        # Updates after a few steps each (A2C) are looked at now and then.
        if isinstance(self._meter, OnPolicyMeter) and self._due:
            self._safely(self._meter.rollout_ended)

    def _on_training_end(self) -> None:
        self._safely(self._finish)
        self._let_go()

    def _let_go(self) -> None:
        if self._meter is not None:
            self._meter.close()
            self._meter = None

    def _finish(self) -> None:
        if isinstance(self._meter, OnPolicyMeter):
            self._update_over()
        elif self.model.num_timesteps > self._at:
            self._step()
        severe = [finding for finding in self.watch.findings if finding.alarming]
        worst = severe[0] if severe else None
        stopped = f"{worst.rule} {worst.name}: {worst.message}" if worst and self._stopping else ""
        self.watch.close("stopped" if self._stopping else "finished", stopped)

    def _step(self) -> None:
        """One Step: what Stable-Baselines3 measured, what we measured, how episodes went."""
        model = self.model
        now, steps = time.perf_counter(), model.num_timesteps
        signals = self._table.translate(self._logged | train_values(model))
        self._logged = {}
        signals |= self._episodes.read() | recent_episodes(model)
        signals |= new_evaluations(self._evaluators, self._evaluated)
        signals |= self._meter.read() if self._meter is not None else {}
        entropy_weight = getattr(model, "ent_coef", None)
        if isinstance(entropy_weight, float) and "policy.kl" in signals:
            signals["setting.entropy_weight"] = entropy_weight
        elapsed = max(now - self._clock, 1e-9)
        signals["time.rate"] = (steps - self._at) / elapsed
        self._at, self._clock, self._told_at = steps, now, steps
        self._respond(self.watch.record(steps, signals))
        if not self.watch.sick and steps - self._saved_at >= self._save_every:
            self._keep()

    def _respond(self, findings: list[Finding]) -> None:
        severe = [finding for finding in findings if finding.alarming]
        if not severe:
            return
        good = self.watch.path / "last_good.zip"
        if good.exists():
            name = type(self.model).__name__
            self._tell(f"the last good model: {name}.load({str(good)!r})")
        because = f"{severe[0].rule} {severe[0].name}: {severe[0].message}"
        if self._on_severe == "stop":
            self._stopping = True
            self.watch.note("stopped", because=because)
        elif self._on_severe == "lower_learning_rate" and self._lowered < LOWERINGS:
            self._lowered += 1
            before = float(self.model.lr_schedule(self.model._current_progress_remaining))
            # Through the model's own setting, so that a saved model keeps it.
            self.model.learning_rate = Slower(self.model.lr_schedule)
            self.model._setup_lr_schedule()
            self.watch.changed("learning_rate", before, before * LOWER, because)
            self._tell(f"learning rate lowered from {before:.3g} to {before * LOWER:.3g}")

    def _keep(self) -> None:
        """The model as it is, for the case that it gets worse; never a half-written file."""
        self._saved_at = self.model.num_timesteps
        if not self._save:
            return
        folder = self.watch.path
        normalizer = self.model.get_vec_normalize_env()
        writers: list[tuple[str, Callable[[str], Any]]] = [("last_good.zip", self.model.save)]
        if normalizer is not None:
            writers.append(("last_good_vecnormalize.pkl", normalizer.save))
        try:
            for name, write in writers:
                scratch = folder / f"partial-{name}"
                write(str(scratch))
                os.replace(scratch, folder / name)  # noqa: PTH105 - atomic
        except (OSError, TypeError, AttributeError, ValueError) as error:
            self._save = False
            self._tell(f"the model cannot be saved ({error}); there will be no last_good.zip")
