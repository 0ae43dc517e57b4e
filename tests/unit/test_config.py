from __future__ import annotations

from typing import Any

import pytest
import yaml

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.algorithms.on_policy.config import PPOConfig
from steadyrl.core import yaml_text
from steadyrl.core.config import LiveConfig
from steadyrl.core.errors import ConfigError
from steadyrl.core.foreign_config import ForeignConfig, as_ours
from steadyrl.core.package_files import preset_names, preset_text
from steadyrl.core.presets import load_config, parse_config
from steadyrl.core.registry import ALGORITHMS, config_class
from steadyrl.core.yaml_text import parse_scalar, read_yaml
from steadyrl.stability.check import check_config


def _ddpg() -> DDPGConfig:
    return DDPGConfig.parse({"environment": {"id": "Pendulum-v1"}})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"batchsize": 64}, "unknown setting 'batchsize'. Did you mean 'batch_size'?"),
        ({"batch_size": "many"}, "batch_size = 'many' is not allowed"),
        ({"batch_size": 1.5}, "batch_size = 1.5 is not allowed"),
        ({"twin_critics": 1}, "twin_critics = 1 is not allowed"),
        ({"tau": 2.0}, "tau = 2.0 is not allowed: it must be 1 or less"),
        ({"gamma": float("nan")}, "gamma = nan is not allowed"),
        ({"environment": {"ids": "X"}}, "'environment.ids'. Did you mean 'environment.id'?"),
        ({"batch_size": 512, "buffer_size": 256}, "buffer_size = 256 is smaller than batch_size"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_name_and_value(
    values: dict[str, object], said: str
) -> None:
    values = {"environment": {"id": "X-v0"}, **values}
    with pytest.raises(ConfigError) as caught:
        parse_config({"algorithm": "ddpg", **values}, source="my.yaml")
    assert said in str(caught.value)
    assert str(caught.value).startswith("my.yaml: ")


def test_an_unknown_algorithm_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="algorithm = 'dqn' is not one of: ddpg"):
        parse_config({"algorithm": "dqn"})


def test_yaml_exponents_without_a_dot_are_numbers() -> None:
    assert read_yaml("learning_rate: 1e-3\nx: -2E+5\n", source="t") == {
        "learning_rate": 1e-3,
        "x": -2e5,
    }
    assert parse_scalar("1e-3") == 1e-3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1, 2", "line 1, column 9"),
        ("a: 1\na: 2\n", "line 2: 'a' is given twice"),
        ("- 1\n- 2\n", "found list"),
        ("a: 1\n[1, 2]: 3\n", "line 2: [1, 2] cannot be a name. Names are words, such as"),
        ("a: {? {b: 1} : 2}\n", "line 1: {'b': 1} cannot be a name"),
        ("just words", "found str"),
    ],
)
def test_unreadable_yaml_names_the_place(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_yaml(text, source="broken.yaml")
    assert said in str(caught.value)


def test_yaml_cannot_make_python_objects() -> None:
    with pytest.raises(ConfigError):
        read_yaml("a: !!python/object/apply:os.system ['true']\n", source="evil.yaml")


@pytest.mark.parametrize("name", list(preset_names()))
def test_a_preset_survives_the_round_trip_and_has_a_header(name: str) -> None:
    config = load_config(name)
    assert parse_config(yaml.safe_load(config.to_yaml())) == config
    assert preset_text(name).startswith("# ")
    assert name.partition("/")[0] == config.algorithm


def test_the_documented_stages_have_the_documented_numbers() -> None:
    def numbers(name: str) -> tuple[object, ...]:
        config = load_config(f"ddpg/{name}")
        assert isinstance(config, DDPGConfig)
        scale = config.value_of("environment.settings")["delta_scale_max"]
        return (config.batch_size, config.buffer_size, config.tau, config.noise_std, scale)

    assert numbers("stage1")[:4] == (1024, 200_000, 0.005, 0.2)
    assert numbers("stage2")[:3] == (2048, 300_000, 0.003)
    assert numbers("stage3")[:3] == (4096, 500_000, 0.001)
    assert numbers("fallback") == (512, 200_000, 0.003, 0.15, 1.5)
    assert load_config("ddpg/stage3").plain()["learning_rate"] == 3e-4


def test_a_misspelt_name_is_told_before_what_is_missing_for_it() -> None:
    said = r"2 things are wrong:\n  unknown setting 'enviroment'. Did you mean"
    with pytest.raises(ConfigError, match=said):
        parse_config({"algorithm": "ppo", "enviroment": {"id": "CartPole-v1"}})


def test_a_misspelt_preset_is_suggested() -> None:
    with pytest.raises(ConfigError, match=r"neither a config file nor a preset. Did you mean"):
        load_config("ddpg/stage")


def test_overrides_reach_into_groups_and_into_the_environment() -> None:
    config = load_config(
        "ddpg/stage1", {"environment.settings.gust": 2.0, "compute.threads": 2, "tau": 0.1}
    )
    assert config.value_of("environment.settings")["gust"] == 2.0
    assert config.compute.threads == 2


def test_a_mapping_for_a_group_changes_what_it_names_and_nothing_else() -> None:
    plain = load_config("ppo/cartpole")
    for overrides in ({"environment": {"count": 2}}, {"environment.count": 2}):
        config = load_config("ppo/cartpole", overrides)
        assert plain.differences(config) == {"environment.count": (8, 2)}
        assert plain.replaced(overrides) == config


def test_the_environments_own_settings_are_one_value_unless_one_is_named() -> None:
    standing = load_config("ddpg/stage1").value_of("environment.settings")
    assert len(standing) > 1
    whole: list[dict[str, Any]] = [
        {"environment": {"settings": {"gust": 2.0}}},
        {"environment.settings": {"gust": 2.0}},
    ]
    for overrides in whole:
        config = load_config("ddpg/stage1", overrides)
        assert config.value_of("environment.settings") == {"gust": 2.0}
        assert config.value_of("environment.id") == "steadyrl/ResidualControl-v0"
    one: list[dict[str, Any]] = [
        {"environment": {"settings.gust": 2.0}},
        {"environment.settings.gust": 2.0},
    ]
    for overrides in one:
        config = load_config("ddpg/stage1", overrides)
        assert config.value_of("environment.settings") == {**standing, "gust": 2.0}


def test_overrides_may_name_another_algorithm() -> None:
    values = {"algorithm": "bc", "environment": {"id": "CartPole-v1"}}
    config = parse_config(values, overrides={"algorithm": "ppo", "environment": {"count": 3}})
    assert (config.algorithm, config.value_of("environment.count")) == ("ppo", 3)
    assert config.value_of("environment.id") == "CartPole-v1"


@pytest.mark.parametrize("algorithm", ["ddpg", "ppo", "trpo"])
@pytest.mark.parametrize("values", [{}, {"environment": {"count": 2}}])
def test_no_environment_is_assumed(algorithm: str, values: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config({"algorithm": algorithm, **values}, source="my.yaml")
    said = "my.yaml: 'environment.id' is missing. Add it: Gymnasium environment id, such as"
    assert str(caught.value).startswith(said)


def test_a_clone_needs_an_environment_only_to_be_tried_in_it() -> None:
    config = parse_config({"algorithm": "bc"})
    assert config.value_of("environment.id") == "none"
    with pytest.raises(ConfigError, match=r"evaluation.episodes = 3 needs an environment.id"):
        config.replaced({"evaluation.episodes": 3})
    config.replaced({"evaluation.episodes": 3, "environment.id": "CartPole-v1"})


def test_another_programs_run_is_read_as_ours_of_its_kind() -> None:
    foreign = ForeignConfig.parse({"family": "ppo", "known": {"learning_rate": 0.5}})
    ours = as_ours(foreign, {"clip_range": 0.4})
    assert isinstance(ours, PPOConfig)
    assert (ours.environment.id, ours.learning_rate, ours.clip_range) == ("unknown", 0.5, 0.4)


def test_a_live_change_is_validated_audited_and_restorable() -> None:
    live = LiveConfig(_ddpg())
    before = live.now
    live.change("learning_rate", 1e-4, step=7, because="loss spiked")
    assert (before.learning_rate, live.now.learning_rate) == (1e-3, 1e-4)
    with pytest.raises(ConfigError, match="tau = 3"):
        live.change("tau", 3, step=8, because="typo")
    assert [(c.name, c.before, c.after, c.step) for c in live.changes] == [
        ("learning_rate", 1e-3, 1e-4, 7)
    ]
    other = LiveConfig(_ddpg())
    other.load_state_dict(live.state_dict())
    assert other.now == live.now
    assert other.changes == live.changes


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_every_setting_has_a_meaning_in_the_schema(algorithm: str) -> None:
    schema = config_class(algorithm).model_json_schema()
    for name, described in schema["properties"].items():
        assert described.get("description"), name


def test_everything_that_is_wrong_is_told_at_once_in_our_words() -> None:
    values = {
        "algorithm": "ppo",
        "environment": {"id": "CartPole-v1", "count": 0},
        "epochs": "many",
        "gamma": 2,
        "activation": "gelu",
        "minibatchsize": 8,
    }
    with pytest.raises(ConfigError) as told:
        parse_config(values, source="mine.yaml")
    lines = str(told.value).splitlines()
    assert lines[0] == "mine.yaml: 5 things are wrong:"
    said = "\n".join(lines[1:])
    for part in (
        "environment.count = 0 is not allowed: it must be 1 or more.",
        "epochs = 'many' is not allowed: a whole number is needed.",
        "gamma = 2 is not allowed: it must be 1 or less.",
        "activation = 'gelu' is not allowed: use 'tanh' or 'relu'.",
        "unknown setting 'minibatchsize'. Did you mean 'minibatch_size'?",
    ):
        assert part in said


def test_a_million_may_be_written_as_1e6_but_half_a_step_is_refused() -> None:
    values = {"algorithm": "ddpg", "environment": {"id": "Pendulum-v1", "count": 2.0}}
    config = parse_config(values, overrides={"total_env_steps": 1e6, "checkpoints.every": 1e4})
    assert config.value_of("total_env_steps") == 1_000_000
    assert type(config.value_of("total_env_steps")) is int
    assert config.value_of("checkpoints.every") == 10_000
    with pytest.raises(ConfigError, match=r"1\.5 is not allowed: a whole number is needed"):
        parse_config(values, overrides={"total_env_steps": 1.5})


def test_the_default_ddpg_passes_its_own_checks() -> None:
    config = parse_config({"algorithm": "ddpg", "environment": {"id": "Pendulum-v1"}})
    assert "S001" not in {concern.rule for concern in check_config(config)}


@pytest.mark.parametrize(
    "text",
    [
        "a: 1e-3\nb: {c: [1, 2.5, null], d: 'x'}\n",
        "a: !!binary aGVsbG8=\nb: 2020-01-01\n",
        "a: &x [1]\nb: *x\n",
        "a:\n  - b: yes\n    c: 0x10\n  - ~\n",
        'a: |\n  two\n  lines\nb: "\\u00e9"\n',
    ],
)
def test_both_readers_of_yaml_say_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = read_yaml(text, source="t")
    monkeypatch.setattr(yaml_text, "DEEPEST", -1)
    assert read_yaml(text, source="t") == fast
