"""The wheel in empty environments outside the checkout: `python -m tests.wheel.run`.

Builds it, checks what an index would show of it, installs it without any extra (what only reads
must work without torch), then with the extras of the journey: an environment of one's own, trained,
judged, evaluated, filmed and exported. Needs a package index; takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ENVIRONMENT = """\
import gymnasium, numpy as np

class Balance(gymnasium.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}
    observation_space = gymnasium.spaces.Box(-2, 2, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.uniform(-0.5, 0.5, 2)
        return self.state.astype(np.float32), {}

    def step(self, action):
        place, speed = self.state
        speed += 0.05 * (action - 1) + 0.02 * place
        self.state = np.clip([place + 0.1 * speed, speed], -2, 2)
        lost = bool(abs(self.state[0]) > 1)
        return self.state.astype(np.float32), 1.0 - abs(place), lost, False, {}

    def render(self):
        frame = np.full((64, 128, 3), 255, np.uint8)
        at = int(64 + 60 * self.state[0] / 2)
        frame[24:40, max(0, at - 4) : at + 4] = (200, 40, 40)
        return frame

gymnasium.register("Balance-v0", entry_point=Balance, max_episode_steps=100)
"""
CONFIG = """\
algorithm: ppo
total_env_steps: 8192
rollout_length: 128
environment: {id: "my_env:Balance-v0", count: 4}
evaluation: {every: 2048, episodes: 5}
"""
COMPARE = """\
import json, numpy, onnxruntime, steadyrl
policy = steadyrl.load_policy("runs/mine")
rows = numpy.random.default_rng(0).uniform(-1, 1, (100, 2)).astype("float32")
session = onnxruntime.InferenceSession("runs/mine/onnx/model.onnx")
found = session.run(None, {"observations": rows})[0]
print(float(abs(found - policy.act(rows)).max()))
"""


def main() -> int:
    """All of it, in order; the first failure ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constraints", type=Path, default=ROOT / "constraints.txt")
    parser.add_argument("--only-base", action="store_true", help="without the journey")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="steadyrl-wheel-") as folder:
        place = Path(folder)
        wheel = built(place)
        base = _installed(place / "base", f"{wheel}", arguments.constraints)
        _reads_without_torch(base, place)
        if not arguments.only_base:
            _journey(place, wheel, arguments.constraints)
    return 0


def built(place: Path) -> Path:
    """The wheel, built and checked as an index would."""
    run([sys.executable, "-m", "build", "--outdir", str(place / "dist"), str(ROOT)], place)
    (wheel,) = (place / "dist").glob("*.whl")
    files = map(str, (place / "dist").iterdir())
    run([sys.executable, "-m", "twine", "check", "--strict", *files], place)
    return wheel


def _installed(folder: Path, what: str, constraints: Path) -> Path:
    venv.create(folder, with_pip=True)
    began = time.monotonic()
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "-c", str(constraints), what], folder)
    library = next((folder / "lib").glob("python*/site-packages"))
    size = sum(file.stat().st_size for file in library.rglob("*") if file.is_file())
    said = what.rpartition("/")[2]
    say(f"{said}: {size / 1e6:,.0f} MB installed in {time.monotonic() - began:.0f} s")
    return folder / "bin" / "steadyrl"


def _reads_without_torch(steadyrl: Path, place: Path) -> None:
    log = place / "losses.csv"
    rows = [f"{n * 100},{0.02 + 0.001 * (n % 7)},{float(n)}" for n in range(40)]
    log.write_text("\n".join(["global_step,losses/approx_kl,charts/episodic_return", *rows]) + "\n")
    for command in (
        ["--version"],
        ["presets"],
        ["check", "ppo/cartpole"],
        ["rules"],
        ["diagnose", str(log), "--json"],
        ["report", str(log), "--output", str(place / "report.html")],
    ):
        run([str(steadyrl), *command], place)
    refused = subprocess.run(
        [str(steadyrl), "train", "ppo/cartpole"],
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
    )
    assert refused.returncode == 2, refused
    assert "pip install 'steadyrl[train]'" in refused.stderr, refused.stderr
    say("without torch: reads, judges and reports; training names its extra")


def _journey(place: Path, wheel: Path, constraints: Path) -> None:
    steadyrl = _installed(place / "full", f"{wheel}[onnx,video]", constraints)
    home = place / "project"
    home.mkdir()
    (home / "my_env.py").write_text(ENVIRONMENT)
    (home / "mine.yaml").write_text(CONFIG)
    for command in (
        ["check", "mine.yaml", "--preflight"],
        ["train", "mine.yaml", "--name", "mine"],
        ["diagnose", "runs/mine"],
        ["evaluate", "runs/mine", "--episodes", "100"],
        ["play", "runs/mine", "--video", "mine.mp4"],
        ["export", "runs/mine", "--format", "onnx"],
    ):
        say(f"$ steadyrl {' '.join(command)}")
        say(run([str(steadyrl), *command], home).rstrip())
    gap = json.loads(run([str(steadyrl.parent / "python"), "-c", COMPARE], home))
    assert gap <= 1e-5, gap
    assert (home / "mine.mp4").stat().st_size > 1000
    say(f"ONNX acts as the original: largest difference {gap:g}")


def run(command: list[str], place: Path) -> str:
    """What a command prints; its failure ends all."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=place, env=clean
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def say(text: str) -> None:
    """A line, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
