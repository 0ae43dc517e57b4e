"""TRL's GRPO and RLOO trainers, watched from inside.

    from steadyrl.integrations.trl import SteadyCallback
    GRPOTrainer(..., callbacks=[SteadyCallback("runs/mine")])

Everything TRL logs is taken as it is logged (every `logging_steps`); the number of the optimiser
step stands for environment steps. The trainer's own checkpoints stay the trainer's business: the
callback remembers which of them was written while nothing severe had been found.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from steadyrl.core.choices import one_of
from steadyrl.core.extras import missing
from steadyrl.core.records import Finding
from steadyrl.integrations.about import (
    LOWER,
    LOWERINGS,
    About,
    OnSevere,
    say_on_stderr,
)
from steadyrl.integrations.watch import Watch
from steadyrl.store.foreign.mapping import load_table

try:
    from transformers import (
        TrainerCallback,
        TrainerControl,
        TrainerState,
        TrainingArguments,
    )
except ModuleNotFoundError as error:
    raise ImportError(str(missing(error, __name__, "trl") or error)) from None


class SteadyCallback(TrainerCallback):
    """Watches a trainer's log; on something severe reports, stops or slows it down."""

    def __init__(
        self,
        path: str | Path = "runs/trl",
        *,
        on_severe: OnSevere = "report",
        say: Callable[[str], None] = say_on_stderr,
    ) -> None:
        """Watch a trainer.

        Args:
            path: folder of the record ('steadyrl diagnose' and 'steadyrl report' open it).
            on_severe: report: only say so; stop: end training after this step;
                lower_learning_rate: to a third from here on, at most three times.
            say: who is told of findings, a line each.
        """
        self._path, self._tell = Path(path), say
        self._on_severe = one_of("on_severe", on_severe, OnSevere)
        self._lowered = 0
        self._stopped, self._alone = "", True
        self.watch: Watch | None = None
        self.last_good: Path | None = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Begin the record, in the process that logs."""
        self._stopped, self._alone = "", args.world_size == 1
        if not state.is_world_process_zero:
            return
        if not self._alone and self._on_severe != "report":
            self._tell("several processes train together: severe findings are only reported")
        self.watch = Watch(
            self._path,
            names=load_table("trl"),
            about=About(
                family="grpo",
                total_env_steps=int(state.max_steps),
                settings=vars(args),
                seed=args.seed,
                source=f"TRL {version('trl')}",
            ),
            say=self._tell,
        )

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **objects: Any,
    ) -> None:
        """Judge what the trainer has just logged."""
        if self.watch is None or not logs or "train_runtime" in logs:
            return
        findings = self.watch.log(state.global_step, logs)
        severe = [finding for finding in findings if finding.alarming]
        if severe:
            self._respond(severe[0], control, objects)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Remember a checkpoint that was written in good health."""
        if self.watch is not None and not self.watch.sick:
            self.last_good = Path(str(args.output_dir)) / f"checkpoint-{state.global_step}"
            self.watch.note("checkpoint", good=True, path=str(self.last_good))

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        """Close the record."""
        if self.watch is not None:
            self.watch.close("stopped" if self._stopped else "finished", self._stopped)

    def _respond(self, finding: Finding, control: TrainerControl, objects: dict[str, Any]) -> None:
        assert self.watch is not None
        because = f"{finding.rule} {finding.name}: {finding.message}"
        if self.last_good is not None:
            self._tell(f"the last good checkpoint: {self.last_good}")
        if not self._alone:  # one process alone must not stop while the others wait for it
            return
        if self._on_severe == "stop":
            control.should_training_stop = True
            self._stopped = because
            self.watch.note("stopped", because=because)
        scheduler: Any = objects.get("lr_scheduler")
        if self._on_severe != "lower_learning_rate" or self._lowered >= LOWERINGS:
            return
        if not hasattr(scheduler, "base_lrs"):
            self._tell("this learning-rate schedule cannot be lowered from outside")
        else:
            self._lowered += 1
            before = scheduler.get_last_lr()[0]
            # The schedule multiplies these, so the change outlives its next step.
            scheduler.base_lrs = [rate * LOWER for rate in scheduler.base_lrs]
            for group in objects["optimizer"].param_groups:
                group["lr"] *= LOWER
            self.watch.changed("learning_rate", before, before * LOWER, because)
            self._tell(f"learning rate lowered from {before:.3g} to {before * LOWER:.3g}")
