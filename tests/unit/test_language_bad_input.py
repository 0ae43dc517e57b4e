"""Bad input of language training through the command line: one sentence, exit 2, no run begun."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import (
    AutoTokenizer,
    GPT2Config,
    LlamaConfig,
    PretrainedConfig,
    Qwen2Config,
)

from steadyrl.algorithms.language.config import LanguageConfig
from steadyrl.cli.main import main
from steadyrl.core.presets import load_config
from steadyrl.environments.language.models import save_model, tiny_model
from steadyrl.environments.language.policy import LanguagePolicy
from steadyrl.environments.language.tokenizer import character_tokenizer
from steadyrl.store.reader import RunReader

Output = pytest.CaptureFixture[str]

SETTINGS = {
    "model.layers": 1,
    "model.width": 16,
    "model.heads": 2,
    "problems.digits": 1,
    "warm-start.enabled": "false",
    "total-samples": 48,
    "prompts-per-update": 4,
    "samples-per-prompt": 4,
    "minibatch-size": "null",
    "micro-batch-size": "null",
    "evaluation.every": 1000,
    "evaluation.episodes": 4,
    "checkpoints.every": 1000,
}
SUMS = [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a in range(10) for b in range(10)]
SCORERS = """
calls = 0

def late(completion, answer):
    global calls
    calls += 1
    if calls > 2 + 2 * 4 + 16 + 5:  # two tries, the evaluation before, an update and a bit
        raise KeyError("two\\nlines")
    return 0.5

def raising(completion, answer):
    raise KeyError("two\\nlines")

def nan(completion, answer):
    return float("nan")

def word(completion, answer):
    return "good"

def of_one_text(completion):
    return 1.0
"""


def _command(*verb: str, **changes: Any) -> list[str]:
    settings = {
        **SETTINGS,
        **{name.replace("__", ".").replace("_", "-"): v for name, v in changes.items()},
    }
    flags = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    return [*verb, "language/tiny", *flags]


def _train(**changes: Any) -> list[str]:
    return [*_command("train", **changes), "--quiet", "--runs", "runs"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "scorers_of_this_test", raising=False)
    (tmp_path / "scorers_of_this_test.py").write_text(SCORERS, encoding="utf-8")
    _write(tmp_path / "sums.jsonl", *SUMS)
    return tmp_path


def _write(path: Path, *entries: Any) -> None:
    lines = [entry if isinstance(entry, str) else json.dumps(entry) for entry in entries]
    path.write_text("\n".join(lines), encoding="utf-8")


def _saved(folder: Path) -> Path:
    """A whole model with a context of 12 tokens."""
    tokenizer = character_tokenizer("0123456789+=")
    model = tiny_model(tokenizer, layers=1, width=16, heads=2, context=12)
    save_model(LanguagePolicy(model), tokenizer, folder)
    return folder


def _refused(arguments: list[str], output: Output) -> str:
    assert main(arguments) == 2
    written = output.readouterr()
    assert written.out == ""
    assert written.err.startswith("error: ")
    assert written.err.count("\n") == 1
    assert not Path("runs").exists()
    return written.err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"micro-batch-size": 17}, "micro_batch_size = 17 is more than the 16 completions"),
        ({"minibatch-size": 5}, "minibatch_size = 5 does not divide the 16"),
        (
            {"minibatch-size": 2, "advantage": "group"},
            "minibatch_size = 2 is no multiple of samples_per_prompt = 4",
        ),
        ({"advantage": "group", "samples-per-prompt": 1}, "Use at least 2"),
        ({"kl": "loss", "kl-weight": 0.0}, "kl = loss and kl_weight = 0"),
        ({"kl": "loss", "kl-kind": "k1"}, "zero on average"),
        ({"problems__name": "jsonl"}, "needs problems.path"),
    ],
)
def test_settings_that_make_no_sense_together_are_refused_by_train_and_check(
    changes: dict[str, Any], said: str, here: Path, capsys: Output
) -> None:
    assert said in _refused(_train(**changes), capsys)
    assert said in _refused(_command("check", **changes), capsys)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "holds no problems"),
        ([*SUMS[:2], {"prompt": "1+1="}], "line 3 has no answer"),
        ([*SUMS[:3], '{"prompt": '], "line 4 is no JSON"),
        (SUMS[:1], "too few to set 0.1 of them apart"),
        (None, "No such file"),
    ],
)
def test_problems_that_cannot_be_used_are_refused(
    lines: list[Any] | None, said: str, here: Path, capsys: Output
) -> None:
    if lines is not None:
        _write(here / "problems.jsonl", *lines)
    command = _train(problems__name="jsonl", problems__path="problems.jsonl")
    assert said in _refused(command, capsys)


@pytest.mark.parametrize(
    ("scorer", "said"),
    [
        ("scorers_of_this_test:raising", "on completion '' (answer '0') raised KeyError"),
        ("scorers_of_this_test:nan", "returned nan. A scorer must return a finite number."),
        ("scorers_of_this_test:word", "returned 'good'"),
        ("scorers_of_this_test:of_one_text", "takes 1 positional argument"),
        ("scorers_of_this_test:missing", "has no attribute 'missing'"),
        ("no_such_module_at_all:score", "No module named"),
        ("best", "Use exact, last-number, boxed, math-verify"),
    ],
)
def test_a_scorer_that_cannot_work_is_found_out_before_training(
    scorer: str, said: str, here: Path, capsys: Output
) -> None:
    command = _train(problems__name="jsonl", problems__path="sums.jsonl", problems__scorer=scorer)
    assert said in _refused(command, capsys)


@pytest.mark.parametrize(
    ("package", "changes", "extra"),
    [
        (
            "math_verify",
            {
                "problems.name": "jsonl",
                "problems.path": "sums.jsonl",
                "problems.scorer": "math_verify",
            },
            "extra 'math'",
        ),
        ("peft", {"model.lora-rank": 2}, "extra 'lora'"),
    ],
)
def test_a_package_that_is_not_installed_names_its_extra(
    package: str,
    changes: dict[str, Any],
    extra: str,
    here: Path,
    capsys: Output,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert extra in _refused(_train(**changes), capsys)


def test_a_model_that_is_not_whole_is_refused(here: Path, capsys: Output) -> None:
    assert "there is no language model in it" in _refused(_train(model__path="nowhere"), capsys)
    folder = _saved(here / "model")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.pad_token = None
    tokenizer.save_pretrained(folder)
    assert "no padding token" in _refused(_train(model__path="model"), capsys)
    (folder / "tokenizer.json").write_text("{", encoding="utf-8")
    said = _refused(_train(model__path="model"), capsys)
    assert "its tokenizer (tokenizer.json) cannot be read" in said


@pytest.mark.parametrize("family", [LlamaConfig, GPT2Config, Qwen2Config])
def test_a_model_without_its_tokenizer_is_refused(
    family: type[PretrainedConfig], here: Path, capsys: Output
) -> None:
    # For GPT-2 and Qwen transformers makes one that knows no word, and complains of nothing.
    folder = here / "model"
    family(vocab_size=8, bos_token_id=0, eos_token_id=1).save_pretrained(folder)
    (folder / "model.safetensors").touch()
    said = _refused(_train(model__path="model"), capsys)
    assert "its tokenizer (tokenizer.json) is missing" in said


def test_a_prompt_that_leaves_no_room_is_refused_before_it_comes_up(
    here: Path, capsys: Output
) -> None:
    _saved(here / "model")
    _write(here / "problems.jsonl", *SUMS, {"prompt": "1+1+1+1=", "answer": "4"})
    command = _train(
        model__path="model",
        problems__name="jsonl",
        problems__path="problems.jsonl",
        problems__max_new_tokens=4,
    )
    assert "a prompt of 9 tokens ('1+1+1+1=') and max_new_tokens = 4 exceed" in _refused(
        command, capsys
    )


def test_a_scorer_that_fails_midway_leaves_a_checkpoint_and_the_way_to_go_on(
    here: Path, capsys: Output
) -> None:
    command = _train(
        problems__name="jsonl",
        problems__path="sums.jsonl",
        problems__scorer="scorers_of_this_test:late",
    )
    assert main([*command, "--name", "run"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("error: scorer 'scorers_of_this_test:late' on completion")
    assert second.endswith("continue with: steadyrl train --resume runs/run")
    assert RunReader.open(Path("runs/run")).checkpoints.steps()[-1] == 1
    (here / "scorers_of_this_test.py").write_text(
        "def late(completion, answer):\n    return 0.5\n", encoding="utf-8"
    )
    del sys.modules["scorers_of_this_test"]
    assert main(["train", "--resume", "runs/run", "--quiet"]) == 0
    summary = RunReader.open(Path("runs/run")).summary()
    assert summary is not None
    assert summary["taken"] == 48


# recipes


@pytest.mark.parametrize("name", ["justrl", "small-1.5b", "large-7b"])
def test_a_recipe_says_what_is_to_be_given(name: str, here: Path, capsys: Output) -> None:
    train = ["train", f"language/{name}", "--quiet", "--runs", "runs"]
    assert "model.path is yours to give: the folder of a model" in _refused(train, capsys)
    said = _refused([*train, "--model.path", "somewhere"], capsys)
    assert "problems.path is yours to give: a file of problems" in said
    assert main(["check", f"language/{name}", "--strict"]) == 0


def test_the_recipes_hold_the_published_numbers() -> None:
    def recipe(name: str) -> LanguageConfig:
        config = load_config(f"language/{name}")
        assert isinstance(config, LanguageConfig)
        return config

    just = recipe("justrl")
    assert (just.advantage, just.kl, just.entropy_weight) == ("group", "none", 0.0)
    assert (just.clip_low, just.clip_high, just.dual_clip) == (0.2, 0.28, 10.0)
    assert (just.prompts_per_update, just.samples_per_prompt) == (256, 8)
    assert (just.minibatch_size, just.epochs, just.total_samples) == (512, 1, 4_380 * 2_048)
    assert (just.learning_rate, just.warm_up, just.weight_decay) == (1e-6, 10, 0.1)
    assert (just.gradient_clip, just.temperature, just.top_p) == (1.0, 1.0, 1.0)
    small, large = recipe("small-1.5b"), recipe("large-7b")
    for config in (small, large):
        assert (config.advantage, config.epochs, config.clip_low, config.clip_high) == (
            "gae",
            4,
            0.2,
            0.2,
        )
        assert (config.kl, config.learning_rate_schedule) == ("loss", "constant")
    assert (small.learning_rate, small.samples_per_update) == (1e-6, 512)
    assert (small.kl_weight, small.gradient_clip) == (0.05, 1.0)
    assert (large.learning_rate, large.samples_per_update) == (5e-7, 256)
    assert (large.kl_weight, large.gradient_clip) == (0.1, 0.5)
    assert large.micro_batch_size == 256 // 16
    assert recipe("unstable").samples_per_update == 64
