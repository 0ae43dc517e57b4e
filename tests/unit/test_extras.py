"""What is there without torch, and what an error says where it is needed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from steadyrl.core.extras import EXTRAS, missing
from steadyrl.integrations.watch import Watch

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = """
import sys

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "gymnasium", "scipy", "transformers"):
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


@pytest.mark.parametrize(
    "command",
    [["presets"], ["check", "ppo/cartpole"], ["diagnose", "LOG"], ["report", "LOG"], ["rules"]],
)
def test_what_only_reads_works_without_torch(command: list[str], log: Path) -> None:
    arguments = [str(log) if part == "LOG" else part for part in command]
    done = _without_torch(f"from steadyrl.cli.main import main; sys.exit(main({arguments!r}))")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command",
    [["train", "ppo/cartpole"], ["rescue", "ppo/cartpole"], ["noise", "ppo/cartpole"]],
)
def test_what_trains_names_its_extra(command: list[str]) -> None:
    done = _without_torch(f"from steadyrl.cli.main import main; sys.exit(main({command!r}))")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: 'steadyrl {command[0]}' needs ")
    assert "pip install 'steadyrl[train]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_so_does_the_python_api() -> None:
    done = _without_torch("import steadyrl; steadyrl.diagnose; steadyrl.Watch; steadyrl.train")
    assert "steadyrl.train needs torch, which is not installed" in done.stderr.splitlines()[-1]


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
