"""Environments of one's own: found, handed over, wrapped, told when broken."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import steadyrl
from steadyrl.cli.main import main
from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.core.presets import load_config, parse_config
from steadyrl.core.run_config import RunConfig
from steadyrl.environments.contract import ContractWarning
from steadyrl.environments.envs import Envs
from steadyrl.experiments.preflight import preflight
from steadyrl.run import default_name
from tests.conftest import Countdown

Output = pytest.CaptureFixture[str]
MODULE = """
    import gymnasium, numpy as np

    class Mine(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        action_space = gymnasium.spaces.Discrete(2)

        def __init__(self, length=6):
            self.length = length

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.left = self.length
            return self.observe(), {}

        def step(self, action):
            self.left -= 1
            return self.observe(), float(action), self.left == 0, False, {}

        def observe(self):
            return self.np_random.uniform(-1, 1, 2).astype(np.float32)

    class Negated(gymnasium.ObservationWrapper):
        def observation(self, observation):
            return -observation

    def make(length=4):
        return Mine(length)

    gymnasium.register("NAME-v0", entry_point=Mine)
"""
CONFIG = """
    algorithm: ppo
    total_env_steps: 32
    rollout_length: 16
    minibatch_size: 8
    hidden_sizes: [4]
    epochs: 1
    environment: {id: "ID"}
    evaluation: {every: 16, episodes: 1}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Path]]:
    """Writes a module of this test's own name and a config beside it."""
    before, known = list(sys.path), set(sys.modules)

    def write(id_: str, *, name: str, text: str = MODULE, folder: str = "mine") -> Path:
        home = tmp_path / folder
        home.mkdir(exist_ok=True)
        (home / f"{name}.py").write_text(textwrap.dedent(text).replace("NAME", name))
        (home / "config.yaml").write_text(textwrap.dedent(CONFIG).replace("ID", id_))
        return home / "config.yaml"

    yield write
    sys.path[:] = before
    for name in [name for name in sys.modules if name not in known and name.startswith("own_")]:
        del sys.modules[name]
        gymnasium.registry.pop(f"{name}-v0", None)


@pytest.mark.parametrize("name", ["own_a-v0", "Mine", "make"])
def test_a_module_beside_the_config_is_found_from_anywhere(
    name: str, place: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = place(f"own_a:{name}", name="own_a")
    monkeypatch.chdir(tmp_path)
    run = steadyrl.train(file, tmp_path / "run")
    assert run.summary.status == "finished"
    stored = (tmp_path / "run" / "config.yaml").read_text()
    assert str(tmp_path / "mine") in stored, "a resume must find it from anywhere"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    again = steadyrl.resume(run.path, overrides={"total_env_steps": 48})
    assert again.summary.taken == 48


def test_a_module_in_the_current_folder_is_found(
    place: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = place("own_b:own_b-v0", name="own_b")
    monkeypatch.chdir(file.parent)
    moved = tmp_path / "config.yaml"
    moved.write_text(file.read_text())
    assert steadyrl.train(str(moved), str(tmp_path / "run")).summary.taken == 32


def test_where_a_module_was_looked_for_is_told(
    place: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    file = place("own_missing:Mine-v0", name="own_c")
    monkeypatch.chdir(tmp_path)
    assert main(["train", str(file), "--runs", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "there is no module 'own_missing'" in said
    assert str(tmp_path) in said
    assert "beside the config" in said


def test_a_module_alone_does_not_say_what_is_meant(
    place: Callable[..., Path], tmp_path: Path, capsys: Output
) -> None:
    file = place("own_y:Mine", name="own_y")
    assert main(["train", str(file), "--network", "own_y", "--runs", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "network = 'own_y' names a module: say what in it, as 'own_y:name'. It has Mine" in said


def test_a_module_that_is_nowhere_is_told_with_every_place_that_was_looked_at(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "configs").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    file = tmp_path / "configs" / "mine.yaml"
    file.write_text("algorithm: ppo\nenvironment: {id: 'nowhere_env:Mine-v0'}\n")
    assert main(["train", str(file)]) == 2
    looked = f"Looked in {tmp_path / 'configs'} and {tmp_path / 'here'} and among"
    assert looked in capsys.readouterr().err


@pytest.mark.parametrize(
    ("id_", "text", "said"),
    [
        ("own_d:Other", MODULE, "has no 'Other'. It has Mine"),
        ("own_d:Mien", MODULE, "has no 'Mien'. Did you mean 'own_d:Mine'?"),
        ("own_d:Mine", "import nowhere_at_all", "imports 'nowhere_at_all', which is not installed"),
        ("own_d:Mine", "def oops(:", "own_d.py, line 1: invalid syntax"),
        ("own_d:Mine", "1 / 0", "importing own_d failed with ZeroDivisionError"),
        ("own_d:Mine", "Mine = dict", "made a dict, not a gymnasium.Env"),
        ("own_d:Mine", "def Mine():\n    raise RuntimeError('no licence')", "no licence"),
    ],
)
def test_a_module_that_does_not_serve_is_told_in_one_sentence(
    id_: str, text: str, said: str, place: Callable[..., Path], tmp_path: Path, capsys: Output
) -> None:
    file = place(id_, name="own_d", text=text)
    assert main(["train", str(file), "--runs", str(tmp_path)]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert said in printed
    assert printed.count("\n") == 1


def test_wrappers_are_put_around_it_by_import_path(place: Callable[..., Path]) -> None:
    file = place("own_e:make", name="own_e")
    plain = load_config(file)
    wrapped = load_config(file, {"environment.wrappers": ["own_e:Negated"]})
    seen = [
        Envs(config.value_of("environment"), seed=0).observations for config in (plain, wrapped)
    ]
    np.testing.assert_array_equal(seen[0], -seen[1])
    with pytest.raises(ConfigError, match=r"environment.wrappers = 'own_e:No'.* has no 'No'"):
        Envs(plain.replaced({"environment.wrappers": ["own_e:No"]}).value_of("environment"), seed=0)


def _config(**changes: Any) -> RunConfig:
    values = {
        "algorithm": "ppo",
        "total_env_steps": 32,
        "rollout_length": 16,
        "minibatch_size": 8,
        "hidden_sizes": [4],
        "epochs": 1,
        "environment": {"id": "CartPole-v1"},
        "evaluation": {"every": 16, "episodes": 1},
    }
    return parse_config(values, overrides=changes)


class Given(Countdown):
    """Something that can be imported."""


class Seen(Countdown):
    """With another observation space."""

    def __init__(self, space: Any) -> None:
        super().__init__(3)
        self.observation_space = space


@pytest.mark.parametrize(
    ("space", "told"),
    [
        (spaces.Sequence(spaces.Discrete(3)), "cannot be made an array of fixed size"),
        (spaces.Box(-1.0, 1.0, (0,)), "holds no number"),
        (spaces.OneOf([spaces.Discrete(2), spaces.Discrete(3)]), "a checkpoint cannot describe"),
    ],
    ids=["no size", "empty", "one of several"],
)
def test_observations_that_nothing_can_be_learned_from_are_refused_at_once(
    space: Any, told: str, tmp_path: Path
) -> None:
    with pytest.raises(EnvironmentFault, match=told):
        steadyrl.train(_config(), tmp_path / "run", environment=lambda: Seen(space))


def test_a_class_a_factory_or_an_object_can_be_handed_over(tmp_path: Path) -> None:
    class Local(Countdown):
        """Something that cannot."""

    handed: dict[str, tuple[Any, str]] = {
        "class": (Given, "tests.unit.test_own_environments:Given"),
        "local": (Local, "handed-over/Local"),
        "factory": (lambda: Countdown(3), "handed-over/lambda"),
        "object": (Countdown(4), "handed-over/Countdown"),
    }
    for name, (environment, id_) in handed.items():
        run = steadyrl.train(_config(), tmp_path / name, environment=environment)
        assert run.policy().config.task == id_
    lengths = steadyrl.load_policy(tmp_path / "object")
    assert lengths.observation_space.shape == (2,)
    with pytest.raises(ConfigError, match=r"give an id, a gymnasium\.Env, its class"):
        steadyrl.train(_config(), tmp_path / "x", environment=7)  # type: ignore[arg-type]


def test_what_was_handed_over_must_be_handed_over_again_to_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from steadyrl.environments import given

    make = lambda: Countdown(3)  # noqa: E731
    path = steadyrl.train(_config(), tmp_path / "run", environment=make).path
    monkeypatch.setattr(given, "_given", {})
    with pytest.raises(EnvironmentFault, match=r"Hand it over again: steadyrl.resume\(run, "):
        steadyrl.resume(path, overrides={"total_env_steps": 48})
    again = steadyrl.resume(path, environment=make, overrides={"total_env_steps": 48})
    assert again.summary.taken == 48


def test_a_run_folder_has_no_name_that_a_file_system_stumbles_over() -> None:
    named = {"my_env:MyEnv-v0": "myenv-v0", "handed-over/lambda": "lambda", "a/b:C d": "c-d"}
    for id_, plain in named.items():
        config = _config(**{"environment.id": id_})
        assert default_name(config) == f"ppo-{plain}-seed0"


# Broken contracts


class Broken(gymnasium.Env[Any, Any]):
    """Sound but for what it is told to do."""

    def __init__(self, how: str = "sound") -> None:
        self.how = how
        self.observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = spaces.Discrete(2)
        if how == "no space":
            del self.observation_space
        self.count = 0

    def reset(self, **kwargs: Any) -> Any:
        if self.how == "reset without seed":
            return self._reset_without_seed(**kwargs)
        super().reset(seed=kwargs.get("seed"))
        self.count = 0
        if self.how == "reset of None":
            return None
        if self.how == "reset raises":
            raise RuntimeError("the simulator is not running")
        seen = np.zeros(3, np.float32) if self.how == "first shape" else self._observe()
        return seen if self.how == "old reset" else (seen, {})

    def _reset_without_seed(self) -> Any:
        return self._observe(), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        seen = self._observe()
        reward: Any = {
            "array reward": np.array([1.0]),
            "text reward": "1.0",
            "reward of None": None,
            "nan reward": float("nan"),
        }.get(self.how, 1.0)
        strange = {
            "wrong shape": np.zeros((2, 1), np.float32),
            "None": None,
            "text": "left",
            "nan": np.array([0.0, np.nan], np.float32),
            "outside": np.array([0.0, 7.0], np.float32),
            "float64": seen.astype(np.float64),
            "dictionary": {"x": seen},
        }
        over: Any = self.count >= 5 and self.np_random.uniform() < 0.5
        if self.how == "four":
            return seen, reward, over, {}
        if self.how == "step of None":
            return None
        if self.how == "step raises":
            raise ValueError("joint limit")
        if self.how == "flag of 1":
            over = int(over)
        if self.how == "endless":
            over = False
        if self.how == "late shape" and self.count == 5:
            strange["late shape"] = np.zeros(5, np.float32)
        return strange.get(self.how, seen), reward, over, False, {}

    def _observe(self) -> Any:
        return self.np_random.uniform(-1.0, 1.0, 2).astype(np.float32)


gymnasium.register("test/Broken-v0", entry_point=lambda **settings: Broken(**settings))

SEVERE = {
    "no space": "observation_space is None: set it to a space of gymnasium.spaces",
    "reset without seed": "reset() does not take 'seed'",
    "reset of None": "reset() returned None, not (observation, info)",
    "reset raises": "reset() failed with RuntimeError: the simulator is not running",
    "first shape": "at reset the observation's shape is (3,), the space says (2,)",
    "old reset": "reset() returned an array of shape (2,), not (observation, info)",
    "array reward": "the reward is an array of shape (1,), no number",
    "text reward": "the reward is a str, no number",
    "reward of None": "the reward is None, no number",
    "nan reward": "returned reward = nan at environment step 1",
    "wrong shape": "the observation's shape is (2, 1), the space says (2,)",
    "None": "at step 1 the observation is None",
    "text": "at step 1 the observation is 'left'",
    "nan": "returned observation[1] = nan at environment step 1",
    "dictionary": "the observation is {'x'",
    "four": "step() returned a tuple of 4",
    "step of None": "step() returned None",
    "step raises": "step() failed with ValueError: joint limit",
    "late shape": "at step 5 the observation's shape is (5,)",
}
LIVED_WITH = {
    "outside": "component 1 of the observation is 7, outside [-1, 1]",
    "float64": "the observation is float64, the space says float32",
    "flag of 1": "terminated is 0; it must be True or False",
}


def test_the_page_on_environments_tells_of_each_what_it_is_told() -> None:
    page = (Path(__file__).parents[2] / "docs" / "environments.md").read_text("utf-8")
    told = [line.split("|") for line in page.splitlines() if line.startswith("| ")]
    said = "\n".join(row[2] for row in told)
    assert [text for text in (SEVERE | LIVED_WITH).values() if text not in said] == []


def _broken(how: str) -> RunConfig:
    return _config(**{"environment.id": "test/Broken-v0", "environment.settings": {"how": how}})


@pytest.mark.parametrize("how", SEVERE)
def test_a_broken_contract_ends_training_with_one_sentence(
    how: str, tmp_path: Path, capsys: Output
) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(_broken(how).to_yaml())
    assert main(["train", str(file), "--runs", str(tmp_path), "--quiet"]) == 2
    said = capsys.readouterr().err.splitlines()[0]
    assert said.startswith("error: environment 'test/Broken-v0'")
    assert SEVERE[how] in said


@pytest.mark.parametrize("how", SEVERE)
def test_preflight_names_a_broken_contract_and_exits_1(
    how: str, tmp_path: Path, capsys: Output
) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(_broken(how).to_yaml())
    assert main(["check", str(file), "--preflight", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    severe = [concern for concern in found if concern["severity"] == "severe"]
    assert SEVERE[how] in severe[0]["message"]


@pytest.mark.parametrize("how", LIVED_WITH)
def test_what_training_can_live_with_is_warned_of_once(how: str, tmp_path: Path) -> None:
    with pytest.warns(ContractWarning) as told:
        run = steadyrl.train(_broken(how), tmp_path / "run")
    assert run.summary.status == "finished"
    assert any(LIVED_WITH[how] in str(one.message) for one in told)
    concerns = [c for c in preflight(_broken(how)) if c.rule == "P004"]
    assert concerns[0].severity == "warning"
    assert LIVED_WITH[how] in concerns[0].message


def test_preflight_tells_each_thing_once_and_no_more(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "outside.yaml"
    file.write_text(_broken("outside").to_yaml())
    assert main(["check", str(file), "--preflight"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert printed.out.count(LIVED_WITH["outside"]) == 1


def test_preflight_warns_of_episodes_that_may_never_end() -> None:
    assert [c.severity for c in preflight(_broken("endless")) if c.rule == "P005"] == ["warning"]


def test_the_doctor_looks_for_modules_where_training_does(
    place: Callable[..., Path], capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place("own_x:Mine", name="own_x").parent)
    assert main(["check", "--environment", "own_x:Mine"]) == 0
    assert main(["check", "--environment", "nowhere_env:Mine"]) == 2
    assert "Looked in" in capsys.readouterr().err


def test_a_sound_environment_is_not_complained_about(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "sound.yaml"
    file.write_text(_broken("sound").to_yaml())
    assert main(["check", str(file), "--preflight"]) == 0
    assert "P004" not in capsys.readouterr().out
    assert steadyrl.train(file, tmp_path / "run").summary.status == "finished"
