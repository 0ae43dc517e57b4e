"""Weights & Biases: the Steps of a run as they come, under the same tags as in TensorBoard.

Where it goes is W&B's own matter: WANDB_PROJECT, WANDB_MODE=offline and the like are theirs.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from steadyrl.core.errors import ConfigError
from steadyrl.core.records import Finding, Intervention, RunSummary, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.core.signals import CATALOGUE
from steadyrl.guarding import Observers

PROJECT = "steadyrl"
IDENTITY = "wandb-id"  # in the run's folder: a resumed run goes on with its own page


class WandbMirror:
    """Sends what a run produces. It only looks: a run is the same with and without it."""

    def __init__(self, path: Path, config: RunConfig) -> None:
        try:
            import wandb
        except ImportError:
            raise ConfigError(
                "--log wandb needs the package wandb: pip install 'steadyrl[wandb]'."
            ) from None
        self._unit = config.unit.many
        self._wandb, self._path, self._config = wandb, path, config
        self._run: Any = None

    def watching(self, others: Observers) -> Observers:
        """Observers that tell the others first, and then W&B."""
        return replace(
            others,
            step=_both(others.step, self.step),
            finding=_both(others.finding, self.finding),
            action=_both(others.action, self.action),
        )

    def step(self, step: Step) -> None:
        """All signals of a Step; a run that goes back to an earlier Step draws a second line."""
        run = self._begun()
        tags = {CATALOGUE[name].tag: value for name, value in step.signals.items()}
        run.log({self._unit: step.taken, **tags})

    def finding(self, finding: Finding) -> None:
        """As an alert, which W&B can send on."""
        level = "ERROR" if finding.alarming else "WARN"
        self._begun().alert(
            title=f"{finding.rule} {finding.name}", text=finding.message, level=level
        )

    def action(self, intervention: Intervention) -> None:
        """What the guard did by itself."""
        self._begun().alert(title="steadyrl acted", text=intervention.told, level="WARN")

    def close(self, summary: RunSummary | None = None) -> None:
        """Say how it ended, and send what is left."""
        if self._run is None:
            return
        if summary is not None:
            self._run.summary.update({"status": summary.status, "best_return": summary.best_return})
        self._run.finish(exit_code=0 if summary is not None else 1)

    def _begun(self) -> Any:
        """The page is made with the first Step: by then the run has its folder."""
        if self._run is None:
            self._run = self._wandb.init(
                project=os.environ.get("WANDB_PROJECT", PROJECT),
                name=self._path.name,
                id=self._identity(),
                resume="allow",
                config=self._config.plain(),
                dir=os.environ.get("WANDB_DIR", str(self._path)),
            )
            self._run.define_metric("*", step_metric=self._unit)
        return self._run

    def _identity(self) -> str:
        file = self._path / IDENTITY
        if not file.exists():
            file.write_text(uuid.uuid4().hex, encoding="ascii")
        return file.read_text(encoding="ascii").strip()


def _both(first: Callable[[Any], None], second: Callable[[Any], None]) -> Callable[[Any], None]:
    def tell(what: Any) -> None:
        first(what)
        second(what)

    return tell
