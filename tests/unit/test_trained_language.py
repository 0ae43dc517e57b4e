"""A trained language model, asked and taken elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from steadyrl.cli.main import main
from steadyrl.core.errors import ConfigError
from steadyrl.core.presets import parse_config
from steadyrl.environments.language.models import load_model
from steadyrl.environments.language.policy import LanguagePolicy
from steadyrl.experiments.trained_language import ask, load_trained
from steadyrl.run import train
from steadyrl.store.reader import RunReader

Output = pytest.CaptureFixture[str]
QUESTIONS = ["1+2=", "7+5=", "9+0=", "4+4="]


def _trained(folder: Path, **settings: Any) -> Path:
    values = {
        "algorithm": "language",
        "total_samples": 64,
        "model": {"layers": 1, "width": 16, "heads": 2},
        "problems": {"digits": 1, "max_new_tokens": 4},
        "prompts_per_update": 4,
        "samples_per_prompt": 4,
        "learning_rate": 1e-2,
        "entropy_weight": 0.1,  # something to learn even if no answer is right
        "evaluation": {"every": 16, "episodes": 8},
        "checkpoints": {"every": 16, "keep": 5},
    }
    dotted = {name.replace("__", "."): value for name, value in settings.items()}
    return train(parse_config(values, overrides=dotted), folder)[1]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _trained(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _trained(tmp_path_factory.mktemp("runs") / "adapted", model__lora_rank=2)


def _greedy(model: Any, tokenizer: Any, question: str) -> str:
    encoded = tokenizer(question, return_tensors="pt", return_token_type_ids=False)
    found = model.generate(**encoded, do_sample=False, max_new_tokens=4)
    spoken = found[0, encoded["input_ids"].shape[1] :]
    return str(tokenizer.decode(spoken, skip_special_tokens=True))


@pytest.mark.parametrize("kind", ["run", "adapted"])
def test_an_exported_model_says_the_same_in_plain_transformers(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, capsys: Output
) -> None:
    path, folder = request.getfixturevalue(kind), tmp_path / "new" / "model"
    assert main(["language", "export", str(path), str(folder), "--checkpoint", "last"]) == 0
    written = capsys.readouterr()
    assert written.out == f"{folder}\n"
    assert "value head is left out" in written.err
    assert sorted(entry.name for entry in folder.parent.iterdir()) == ["model"]
    assert not (folder / "value_head.safetensors").exists()
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    answers = ask(load_trained(path, "last"), QUESTIONS).text
    assert [_greedy(model, tokenizer, question) for question in QUESTIONS] == list(answers)
    start = load_trained(path, "0").learner
    moved = load_trained(path, "last").learner.weights.moved_since(start.weights.snapshot())
    assert moved > 1e-3  # or the export might be of any checkpoint
    load_model(folder)  # and it can be trained on


# peft's own call, under a name that transformers 5.23 deprecates.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
def test_an_adapter_can_be_kept_apart(tmp_path: Path, adapted: Path) -> None:
    from peft import PeftModel

    folder = tmp_path / "adapter"
    assert main(["language", "export", str(adapted), str(folder), "--adapter"]) == 0
    assert (folder / "adapter_model.safetensors").is_file()
    assert not (folder / "model.safetensors").exists()
    start = load_trained(adapted, "0").learner.policy.language_model.get_base_model()
    trained = load_trained(adapted)
    # What the run began as, and the adapter on top of it, are the policy.
    plain = {n.replace(".base_layer", ""): w for n, w in start.state_dict().items()}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    fresh = AutoModelForCausalLM.from_config(start.config, attn_implementation="eager")
    fresh.load_state_dict({n: w for n, w in plain.items() if "lora_" not in n})
    model = PeftModel.from_pretrained(fresh, folder)
    tokens = torch.tensor([tokenizer("7+5=")["input_ids"]])
    expected = trained.learner.policy.language_model(input_ids=tokens).logits
    torch.testing.assert_close(model(input_ids=tokens).logits, expected)


def test_a_question_is_answered_and_told_as_json(run: Path, capsys: Output) -> None:
    answers = ask(load_trained(run), QUESTIONS[:2]).text
    assert main(["language", "ask", str(run), *QUESTIONS[:2]]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.removesuffix("  (cut off)") for line in lines] == [
        question + answer for question, answer in zip(QUESTIONS, answers, strict=False)
    ]
    assert main(["language", "ask", str(run), "1+2=", "--json", "--checkpoint", "last"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["step"] == 4
    assert told["answers"][0]["prompt"] == "1+2="
    assert told["answers"][0]["log_prob"] < 0


def test_samples_differ_and_a_seed_fixes_them(run: Path, capsys: Output) -> None:
    flags = ["--temperature", "5", "--samples", "6"]
    shown = []
    for seed in ("1", "1", "2"):
        assert main(["language", "ask", str(run), "1+2=", *flags, "--seed", seed]) == 0
        shown.append(capsys.readouterr().out.splitlines())
    assert shown[0] == shown[1] != shown[2]
    assert len(shown[0]) == 6
    assert len(set(shown[0])) > 1


def test_a_question_gets_the_examples_of_its_task(tmp_path: Path) -> None:
    path = _trained(tmp_path / "run", problems__shots=2, total_samples=16)
    trained = load_trained(path)
    found = ask(trained, ["1+2="])
    text = trained.learner.tokenizer.decode(found.tokens[0][found.attention[0]])
    assert text.startswith(f"<bos>{trained.learner.task.train[0].prompt.rpartition(chr(10))[0]}\n")


def test_the_best_checkpoint_is_the_one_evaluated_best(run: Path) -> None:
    store = RunReader.open(run)
    found = {s.index: s.signals["eval.return_mean"] for s in store.steps()}
    kept = [step for step in store.checkpoints.steps() if step in found]
    best = max(kept, key=lambda step: (found[step], step))
    trained = load_trained(run, "best")
    assert trained.step == best
    assert f"update {best}, evaluated at" in trained.chosen


def test_weights_that_were_better_but_not_kept_are_told(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = list(RunReader.open(run).steps())
    for number, step in enumerate(steps):
        step.signals["eval.return_mean"] = 1.0 - 0.1 * number  # type: ignore[index]
    monkeypatch.setattr(RunReader, "steps", lambda _: iter(steps))
    monkeypatch.setattr(type(RunReader.open(run).checkpoints), "steps", lambda _: [2, 4])
    trained = load_trained(run)
    assert trained.step == 2
    assert "update 1 reached 1, but its weights were not kept" in trained.chosen


def test_the_scorer_of_a_run_is_not_needed_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scorer_that_goes_away.py").write_text(
        "def score(completion, answer):\n    return 0.5\n", encoding="utf-8"
    )
    lines = [json.dumps({"prompt": f"{n}=", "answer": str(n)}) for n in range(40)]
    (tmp_path / "problems.jsonl").write_text("\n".join(lines), encoding="utf-8")
    settings = {
        "problems.name": "jsonl",
        "problems.path": "problems.jsonl",
        "problems.scorer": "scorer_that_goes_away:score",
    }
    path = _trained(tmp_path / "run", total_samples=16, **settings)
    (tmp_path / "scorer_that_goes_away.py").unlink()
    monkeypatch.delitem(sys.modules, "scorer_that_goes_away")
    assert len(ask(load_trained(path), ["7="])) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ask", "RUN", ""], "is empty"),
        (["ask", "RUN", "1 plus 2"], "single characters, and not ' ', 'p', 'l', 'u', 's'"),
        (["ask", "RUN", "1+" * 50], "exceed the model's context"),
        (["ask", "RUN", "1+2=", "--temperature", "0"], "must be above 0"),
        (["ask", "RUN", "1+2=", "--samples", "3"], "--temperature with more than 1"),
        (["ask", "RUN", "1+2=", "--max-new-tokens", "0"], "must be 1 or more"),
        (["ask", "RUN", "1+2=", "--checkpoint", "17"], "were kept: 0, 1, 2, 3, 4"),
        (["ask", "RUN", "1+2=", "--checkpoint", "newest"], "use best, last"),
        (["ask", "nowhere", "1+2="], "nowhere: no run here"),
        (["export", "RUN", "RUN"], "is not empty"),
        (["export", "RUN", "new", "--adapter"], "there is no adapter"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(
    arguments: list[str],
    said: str,
    run: Path,
    capsys: Output,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    filled = [str(run) if argument == "RUN" else argument for argument in arguments]
    assert main(["language", *filled]) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert written.err.startswith("error: ")
    assert written.err.count("\n") == 1
    assert said in written.err
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_something_else_has_no_model(small_config: Any, tmp_path: Path) -> None:
    path = train(small_config(), tmp_path / "ddpg")[1]
    with pytest.raises(ConfigError, match="a run of ddpg has trained no language model"):
        load_trained(path)


def test_the_exported_policy_has_the_probabilities_of_the_trained_one(
    run: Path, tmp_path: Path
) -> None:
    assert main(["language", "export", str(run), str(tmp_path / "model")]) == 0
    trained = load_trained(run)
    found = ask(trained, QUESTIONS)
    again = LanguagePolicy(load_model(tmp_path / "model", attention="eager")[0])
    with torch.no_grad():
        outputs = [
            policy(found.tokens, found.attention, found.mask).log_probs
            for policy in (trained.learner.policy, again)
        ]
    torch.testing.assert_close(outputs[0], outputs[1])
