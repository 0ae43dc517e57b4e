"""What `import steadyrl` offers."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import steadyrl
from steadyrl import api, judging, trained
from steadyrl.core import presets
from steadyrl.core.errors import ConfigError

SMALL = {
    "algorithm": "ppo",
    "total_env_steps": 64,
    "rollout_length": 32,
    "minibatch_size": 16,
    "hidden_sizes": [4],
    "epochs": 1,
    "environment": {"id": "CartPole-v1"},
    "evaluation": {"every": 32, "episodes": 1},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> steadyrl.Run:
    return steadyrl.train(SMALL, str(tmp_path_factory.mktemp("runs") / "run"))


def test_a_run_can_be_asked_for_everything(run: steadyrl.Run, tmp_path: Path) -> None:
    summary, path = run
    assert summary.status == "finished"
    assert run.policy().act([0.0] * 4) in (0, 1)
    assert run.diagnose().run == str(path)
    assert len(run.evaluate(3).episodes) == 3
    assert run.report(str(tmp_path / "page.html")).is_file()


def test_a_config_may_be_a_name_a_file_settings_or_a_config(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(api.config_from(SMALL).to_yaml())
    expected = api.config_from(SMALL, {"seed": 5})
    for given in (SMALL, str(file), file, api.config_from(SMALL)):
        assert api.config_from(given, {"seed": 5}) == expected
    assert api.config_from("ppo/cartpole").algorithm == "ppo"


def test_a_misspelt_choice_is_refused_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="guard = 'Act' is not one of: off, watch, act, stop"):
        steadyrl.train(SMALL, tmp_path / "run", guard="Act")  # type: ignore[arg-type]
    assert not (tmp_path / "run").exists()


def test_dir_shows_the_api_and_nothing_else() -> None:
    assert dir(steadyrl) == sorted(steadyrl.__all__)


@pytest.mark.parametrize("module", [api, presets, trained, judging])
def test_the_examples_in_the_docstrings_run(module: Any, run: steadyrl.Run) -> None:
    found = doctest.testmod(module, extraglobs={"steadyrl": steadyrl, "run": run.path})
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.slow
def test_a_fresh_project_sees_our_types(tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(
        "import steadyrl\n"
        "run = steadyrl.train('ppo/cartpole')\n"
        "reveal_type(run.policy())\n"
        "reveal_type(run.summary.status)\n"
        "steadyrl.train(3)\n"
    )
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert "steadyrl.trained.TrainedPolicy" in found.stdout
    assert 'Argument 1 to "train" has incompatible type "int"' in found.stdout
    assert "Found 1 error" in found.stdout
