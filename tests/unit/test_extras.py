"""What is there without torch, and what an error says where it is needed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl.cli.main import COMMANDS
from steadyrl.core.extras import EXTRAS, missing
from steadyrl.integrations.watch import Watch

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = """
import sys

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "gymnasium", "scipy", "transformers", "safetensors"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Gone())
"""


def _without_torch(script: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + script]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    watch = Watch(path, family="ppo", total_env_steps=2000, say=lambda _line: None)
    for number in range(1, 15):
        watch.log(100 * number, {"policy.kl": 0.01, "rollout.return_mean": float(number)})
    watch.close()
    return path


READS = [
    "check ppo/cartpole",
    "diagnose LOG",
    "checklist LOG",
    "report LOG",
    "milestones LOG",
    "rules",
    "explain D101",
    "presets",
    "schema ppo",
    "signals",
    "demos inspect DEMOS",
]
NEEDS = {
    "check ppo/cartpole --preflight": "train",
    "check --environment CartPole-v1": "train",
    "train ppo/cartpole": "train",
    "rescue ppo/cartpole": "train",
    "ladder ppo/cartpole --batch-sizes 64,128": "train",
    "compare ppo/cartpole ppo/pendulum": "train",
    "study C1": "train",
    "noise LOG": "train",
    "bench faults": "train",
    "evaluate LOG": "train",
    "play LOG": "train",
    "export LOG": "train",
    "replay LOG": "train",
    "demos make OUT": "train",
    "language ask LOG hello": "language",
    "language fetch smollm2": "language",
}
EACH = """
import contextlib, io, json
from steadyrl.cli.main import main

def tried(line):
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = main(line.split())
    return code, said.getvalue()
"""


@pytest.fixture(scope="module")
def without(log: Path) -> dict[str, Any]:
    """Exit code and complaint of every command, in a process that has no torch."""
    demos = log.parent / "demos.npz"
    np.savez(demos, observations=np.zeros((2, 5, 3)), actions=np.zeros((2, 5, 1)))
    places = {"LOG": log, "DEMOS": demos, "OUT": log.parent / "new.npz"}
    asked = {}
    for line in (*READS, *NEEDS):
        asked[line] = " ".join(str(places.get(part, part)) for part in line.split())
    told = f"print(json.dumps({{k: tried(line) for k, line in {asked!r}.items()}}))"
    done = _without_torch(EACH + told)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("line", READS)
def test_what_only_reads_works_without_torch(line: str, without: dict[str, Any]) -> None:
    code, said = without[line]
    assert code == 0, said


@pytest.mark.parametrize("line", NEEDS)
def test_what_trains_names_its_extra(line: str, without: dict[str, Any]) -> None:
    code, said = without[line]
    assert code == 2
    assert said.startswith(f"error: 'steadyrl {line.split()[0]}' needs ")
    assert f"pip install 'steadyrl[{NEEDS[line]}]'" in said
    assert said.count("\n") == 1


def test_the_page_says_of_every_command_whether_it_needs_torch() -> None:
    page = (ROOT / "docs" / "journey.md").read_text("utf-8")
    table = page.partition("## Without torch")[2]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    said = {name: answer for names, answer in rows for name in re.findall("`([a-z-]+)`", names)}
    assert said.keys() == COMMANDS.keys()
    reads = {line.split()[0] for line in READS} - {"demos"}
    assert {name for name, answer in said.items() if "yes" in answer} == {*reads, "dashboard"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("import steadyrl; steadyrl.diagnose; steadyrl.Watch; steadyrl.train", "steadyrl[train]"),
        ("import steadyrl.integrations.sb3", "steadyrl[sb3]"),
        ("import steadyrl.integrations.trl", "steadyrl[trl]"),
    ],
)
def test_so_does_the_python_api(line: str, told: str) -> None:
    assert f"pip install '{told}'" in _without_torch(line).stderr.splitlines()[-1]


def _project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def test_every_extra_that_errors_name_exists_and_brings_the_package() -> None:
    extras = _project()["optional-dependencies"]
    for package, extra in EXTRAS.items():
        name = {"PIL": "pillow"}.get(package, package.replace("_", "-"))
        assert any(line.startswith(name) for line in extras[extra]), (package, extra)
    assert missing(ModuleNotFoundError("x", name="their_own"), "it") is None


def test_the_version_is_one_and_the_readme_names_every_extra() -> None:
    import steadyrl

    project = _project()
    assert project["version"] == steadyrl.__version__
    for readme in ("README.md", "README.zh.md"):
        text = (ROOT / readme).read_text("utf-8")
        for extra in project["optional-dependencies"]:
            assert extra == "dev" or f"`{extra}`" in text, (readme, extra)
