"""Every study can name all of its runs: settings that it gives exist and fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from steadyrl.experiments.studies import STUDIES
from steadyrl.experiments.trials import Trial


class Listed(Exception):
    """What a study wanted to run."""

    def __init__(self, trials: list[Trial]) -> None:
        super().__init__(f"{len(trials)} trials")
        self.trials = trials


class Lister:
    """An executor that runs nothing."""

    def each(self, _function: Callable[[Any], Any], items: Iterable[Trial]) -> Any:
        raise Listed(list(items))


@pytest.mark.parametrize("name", list(STUDIES))
def test_a_study_names_its_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "steadyrl.experiments.studies.small_language.warm_model", lambda *_, **__: tmp_path
    )
    study = STUDIES[name]
    lister: Any = Lister()
    with pytest.raises(Listed) as listed:
        study.run(tmp_path, 2, False, lister, lambda _line: None)
    trials = listed.value.trials
    assert len({trial.directory for trial in trials}) == len(trials) >= 2
