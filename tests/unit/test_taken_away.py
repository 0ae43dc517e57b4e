"""What was trained, used: evaluated on fresh episodes, filmed, exported for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import onnxruntime
import pytest
import torch
from gymnasium import spaces
from safetensors.numpy import load_file

from steadyrl.cli.main import main
from steadyrl.core.errors import ExportFailed
from steadyrl.core.presets import parse_config
from steadyrl.environments.make import make_one
from steadyrl.experiments import exporting, playing
from steadyrl.experiments.evaluation import _alike, evaluate_policy
from steadyrl.run import train
from steadyrl.trained import load_policy

Output = pytest.CaptureFixture[str]
SMALL: dict[str, dict[str, Any]] = {
    "ppo": {
        "algorithm": "ppo",
        "environment": {"id": "CartPole-v1"},
        "normalize_observations": True,
        "rollout_length": 32,
        "minibatch_size": 16,
        "epochs": 1,
    },
    "ddpg": {
        "algorithm": "ddpg",
        "environment": {"id": "Pendulum-v1"},
        "learning_starts": 8,
        "batch_size": 4,
        "log_every": 16,
        "buffer_size": 64,
    },
}


@pytest.fixture(scope="module", params=SMALL)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    common = {"total_env_steps": 64, "evaluation": {"every": 32, "episodes": 1}}
    config = parse_config({**SMALL[request.param], **common, "hidden_sizes": [8]})
    return train(config, tmp_path_factory.mktemp(request.param) / "run")[1]


@pytest.fixture(scope="module")
def ppo_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = {**SMALL["ppo"], "total_env_steps": 64, "evaluation": {"every": 32, "episodes": 1}}
    return train(parse_config(values), tmp_path_factory.mktemp("one") / "run")[1]


def _acts(kind: str, folder: Path, rows: Any) -> Any:
    if kind == "onnx":
        session = onnxruntime.InferenceSession(folder / "model.onnx")
        return session.run(None, {"observations": rows})[0]
    loaded: Any = torch.jit
    return loaded.load(str(folder / "model.pt"))(torch.from_numpy(rows)).detach().numpy()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ["onnx", "torchscript"])
def test_an_exported_policy_acts_as_the_original(
    kind: str, run: Path, tmp_path: Path, capsys: Output
) -> None:
    folder = tmp_path / "model"
    assert main(["export", str(run), str(folder), "--format", kind, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["checked"] == 256
    assert told["observations"] == "met in its environment"
    assert told["largest_gap"] <= 1e-5
    policy = load_policy(run)
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(9, *policy.observation_space.shape)).astype(np.float32)  # type: ignore[misc]
    np.testing.assert_allclose(_acts(kind, folder, rows), policy.act(rows), atol=1e-5)
    checked = load_file(folder / "check.safetensors")
    found = _acts(kind, folder, checked["observations"])
    np.testing.assert_allclose(found, checked["actions"], atol=1e-5)
    text = (folder / "README.md").read_text()
    for said in (policy.config.task, "verdict", "best evaluation", "seed"):
        assert said in text


def test_plain_weights_make_the_same_actions_by_hand(ppo_run: Path, tmp_path: Path) -> None:
    assert main(["export", str(ppo_run), str(tmp_path / "m"), "--format", "safetensors"]) == 0
    weights = load_file(tmp_path / "m" / "model.safetensors")
    rows = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    seen = np.clip((rows - weights["mean"]) / weights["deviation"], -10, 10)
    for layer in (0, 2, 4):
        seen = seen @ weights[f"network.{layer}.weight"].T + weights[f"network.{layer}.bias"]
        seen = np.tanh(seen) if layer < 4 else seen
    np.testing.assert_array_equal(seen.argmax(axis=1), load_policy(ppo_run).act(rows))
    about = json.loads((tmp_path / "m" / "policy.json").read_text())
    assert about["normalised"] is True
    assert about["layers"][1] == "Tanh()"


def test_a_model_that_acts_otherwise_is_not_left_behind(
    ppo_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "_in_torch", lambda _module: lambda rows: np.ones(len(rows)) * 7)
    with pytest.raises(ExportFailed, match="does not act as the original"):
        exporting.export_policy(load_policy(ppo_run), tmp_path / "m", "safetensors")
    assert list(tmp_path.iterdir()) == []


def test_evaluation_plays_fresh_episodes_that_their_seeds_bring_back(
    run: Path, capsys: Output
) -> None:
    assert main(["evaluate", str(run), "--episodes", "11", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["episodes"] == len(told["by_seed"]) == 11
    returns = [episode["return"] for episode in told["by_seed"]]
    assert told["return_mean"] == pytest.approx(np.mean(returns))
    assert told["interval"][0] <= told["return_mean"] <= told["interval"][1]
    assert len({episode["seed"] for episode in told["by_seed"]}) == 11
    policy, last = load_policy(run), told["by_seed"][-1]
    env = make_one(policy.config.value_of("environment"))
    observation, _ = env.reset(seed=last["seed"])
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(policy.act(observation))
        total, over = total + float(reward), terminated or truncated
    env.close()
    assert total == pytest.approx(last["return"], rel=1e-4)


def test_more_episodes_make_the_mean_surer(ppo_run: Path) -> None:
    policy = load_policy(ppo_run)
    few, many = (evaluate_policy(policy, episodes=count, deterministic=False) for count in (5, 60))
    assert np.diff(many.interval) < np.diff(few.interval)
    assert evaluate_policy(policy, episodes=1).to_json()["interval"] is None


def test_evaluations_are_printed_for_every_run(ppo_run: Path, capsys: Output) -> None:
    assert main(["evaluate", str(ppo_run), str(ppo_run), "--episodes", "3", "--drawn"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("over 3 episodes of CartPole-v1") == 2
    assert "the best checkpoint that was kept" in printed.err


def test_a_run_that_cannot_be_evaluated_is_told_and_the_others_are_played(
    ppo_run: Path, tmp_path: Path, capsys: Output
) -> None:
    nowhere = tmp_path / "nowhere"
    assert main(["evaluate", str(nowhere), str(ppo_run), "--episodes", "1"]) == 2
    printed = capsys.readouterr()
    assert f"left out: {nowhere}: no run here" in printed.err
    assert f"{ppo_run}: return" in printed.out


def test_another_environment_must_have_the_same_spaces(ppo_run: Path, capsys: Output) -> None:
    assert main(["evaluate", str(ppo_run), "--environment", "Pendulum-v1"]) == 2
    said = capsys.readouterr().err
    assert "but this policy sees Box" in said
    assert "  " not in said  # NumPy's columns


@pytest.mark.parametrize(
    ("here", "there", "alike"),
    [
        (spaces.Discrete(2), spaces.Discrete(3), False),
        (spaces.Discrete(3), spaces.Discrete(3), True),
        (spaces.Box(-1, 1, (2,)), spaces.Box(-2, 2, (2,)), True),
        (spaces.MultiDiscrete([2, 3]), spaces.MultiDiscrete([3, 2]), False),
    ],
)
def test_actions_fit_if_they_are_as_many(here: Any, there: Any, alike: bool) -> None:
    assert _alike(here, there) == alike


@pytest.mark.parametrize("name", ["film.gif", "film.mp4"])
def test_a_film_is_made_without_a_screen(
    name: str, ppo_run: Path, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    file = tmp_path / name
    assert main(["play", str(ppo_run), "--video", str(file), "--most-steps", "5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["episodes"][0]["length"] == 5
    content = file.read_bytes()
    assert content[:3] == b"GIF" if name.endswith("gif") else b"ftyp" in content[:16]
    assert len(content) > 1000


def test_what_cannot_be_drawn_is_told_in_one_sentence(tmp_path: Path, capsys: Output) -> None:
    values = {
        **SMALL["ddpg"],
        "environment": {"id": "test/Countdown-v0"},
        "total_env_steps": 16,
        "evaluation": {"episodes": 0},
    }
    path = train(parse_config(values), tmp_path / "run")[1]
    assert main(["play", str(path), "--video", "film.avi"]) == 2
    assert "must end with .mp4 or .gif" in capsys.readouterr().err
    assert main(["play", str(path), "--video", str(tmp_path / "film.gif")]) == 2
    assert "cannot be drawn as 'rgb_array'" in capsys.readouterr().err
    assert gymnasium.registry  # nothing was torn down


def test_without_a_screen_a_film_is_offered(
    ppo_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "screen_at_hand", lambda: False)
    assert main(["play", str(ppo_run)]) == 2
    assert "there is no screen here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("platform", "known", "seen"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ""}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"SDL_VIDEODRIVER": "kmsdrm"}, True),
        ("linux", {"SDL_VIDEODRIVER": "dummy"}, False),
        ("darwin", {}, True),
    ],
)
def test_on_linux_somebody_must_say_where_the_screen_is(
    platform: str, known: dict[str, str], seen: bool
) -> None:
    assert playing.screen_at_hand(platform, known) == seen


@pytest.mark.parametrize("command", ["evaluate", "play", "export"])
def test_a_language_run_is_told_what_it_takes(command: str, tmp_path: Path, capsys: Output) -> None:
    values = {
        "algorithm": "language",
        "total_samples": 16,
        "model": {"layers": 1, "width": 16, "heads": 2},
        "problems": {"digits": 1, "max_new_tokens": 4},
        "prompts_per_update": 4,
        "samples_per_prompt": 4,
        "evaluation": {"episodes": 0},
    }
    path = train(parse_config(values), tmp_path / "run")[1]
    if command == "export":
        assert main([command, str(path)]) == 0
        assert (path / "transformers" / "config.json").is_file()
        assert "AutoModelForCausalLM" in (path / "transformers" / "README.md").read_text()
        assert main([command, str(path), "elsewhere", "--format", "onnx"]) == 2
        assert "a folder that transformers loads" in capsys.readouterr().err
    else:
        assert main([command, str(path)]) == 2
        assert "has no policy of actions" in capsys.readouterr().err
