from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.environments.language.addition import addition
from steadyrl.environments.language.scorers import boxed, exact, find_scorer, last_number
from steadyrl.environments.language.sorting import sorting
from steadyrl.environments.language.tasks import (
    Problem,
    ProblemSet,
    alphabet,
    jsonl_task,
    read_problems,
    split,
)


def _written(path: Path, *entries: Any) -> Path:
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


# addition and sorting


@pytest.mark.parametrize("reverse", [False, True])
def test_every_answer_is_the_sum_of_its_prompt(reverse: bool) -> None:
    task = addition(3, reverse=reverse, pairs_per_level=400)
    for problem in (*task.train, *task.held_out):
        operands = problem.prompt.removesuffix("=").split("+")
        total = str(sum(map(int, operands)))
        assert problem.answer == (total[::-1] if reverse else total)
        assert problem.level == max(map(len, operands))
        assert task.score(f" {problem.answer}\n", problem.answer) == 1.0
        assert task.score(problem.answer + "0", problem.answer) == 0.0


def test_all_pairs_of_two_digits_are_there_once() -> None:
    task = addition(2)
    prompts = [problem.prompt for problem in (*task.train, *task.held_out)]
    assert sorted(prompts) == sorted(f"{a}+{b}=" for a in range(100) for b in range(100))
    assert 0.05 < len(task.held_out) / len(prompts) < 0.15


def test_operands_in_either_order_fall_on_the_same_side() -> None:
    task = addition(2)
    trained = {problem.prompt for problem in task.train}
    for problem in task.held_out:
        first, _, second = problem.prompt.removesuffix("=").partition("+")
        assert f"{second}+{first}=" not in trained


def test_levels_may_be_left_out_and_large_ones_are_drawn_from() -> None:
    task = addition(5, easiest=4, pairs_per_level=50)
    problems = [*task.train, *task.held_out]
    assert sorted(problem.level for problem in problems) == [4] * 50 + [5] * 50
    assert len({problem.prompt for problem in problems}) == 100


def test_a_seed_fixes_the_split_and_another_changes_it() -> None:
    assert addition(1, seed=3) == addition(1, seed=3)
    assert set(addition(1, seed=3).held_out) != set(addition(1, seed=4).held_out)


def test_no_held_out_answer_of_sorting_was_an_answer_in_training() -> None:
    task = sorting(4, strings_per_level=500)
    answers = {problem.answer for problem in task.train}
    assert task.held_out
    for problem in task.held_out:
        assert problem.answer == "".join(sorted(problem.prompt.removesuffix(">")))
        assert problem.answer not in answers


def test_examples_come_from_training_and_are_not_asked_for() -> None:
    plain, task = addition(2), addition(2, shots=3)
    lines = task.train[0].prompt.split("\n")
    assert len(lines) == 4
    solved = {problem.prompt + problem.answer: problem.key for problem in plain.train}
    shown = {solved[line] for line in lines[:3]}
    assert not shown & {problem.key for problem in (*task.train, *task.held_out)}
    assert {problem.prompt.rsplit("\n", 1)[0] for problem in (*task.train, *task.held_out)} == {
        "\n".join(lines[:3])
    }
    assert task.stop == "\n"


def test_the_alphabet_holds_every_character_and_no_other() -> None:
    assert alphabet(addition(1)) == "+0123456789="
    assert alphabet(sorting(2)) == "0123456789>"


@pytest.mark.parametrize("make", [lambda: addition(1, easiest=2), lambda: sorting(1, shortest=2)])
def test_a_task_without_problems_is_refused(make: Any) -> None:
    with pytest.raises(ConfigError, match="from 2 to 1 digits is empty"):
        make()


# scorers


@pytest.mark.parametrize(
    ("completion", "answer", "score"),
    [
        ("The answer is 42.", "42", 1.0),
        ("first 41, then 42", "42", 1.0),
        ("1,234.50 dollars", "#### 1234.5", 1.0),
        ("-7", "7", 0.0),
        ("42 or rather 43", "42", 0.0),
        ("none", "42", 0.0),
        ("none", "none", 0.0),
    ],
)
def test_the_last_number_decides(completion: str, answer: str, score: float) -> None:
    assert last_number(completion, answer) == score


@pytest.mark.parametrize(
    ("completion", "answer", "score"),
    [
        (r"so it is \boxed{42}.", "42", 1.0),
        (r"\boxed{41}, no: \boxed{42}", "42", 1.0),
        (r"\boxed{ \dfrac{1}{2} }", r"\frac{1}{2}", 1.0),
        (r"\boxed{1,234}", r"\boxed{1234}", 1.0),
        (r"\boxed{\left(1, 2\right)}", "(1,2)", 1.0),
        (r"\boxed{0.5}", r"\frac{1}{2}", 0.0),
        (r"\boxed{42", "42", 0.0),
        ("42", "42", 0.0),
        (r"\boxed{42}" + " and so on" * 40, "42", 0.0),
        ("", "42", 0.0),
    ],
)
def test_the_last_box_near_the_end_decides(completion: str, answer: str, score: float) -> None:
    assert boxed(completion, answer) == score


def test_the_verifier_knows_equal_values_in_other_words() -> None:
    verify = find_scorer("math-verify")
    assert verify(r"so it is \boxed{0.5}", r"$\frac{1}{2}$") == 1.0
    assert verify("46", "46") == 1.0
    assert verify("47", "46") == 0.0
    assert verify("", "46") == 0.0


def test_names_may_be_written_as_functions_are() -> None:
    assert find_scorer("last_number") is find_scorer("last-number") is last_number


def test_exact_ignores_white_space_at_the_ends_only() -> None:
    assert exact(" 4 2\n", "4 2") == 1.0
    assert exact("42", "4 2") == 0.0


def test_a_function_is_found_by_its_import_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_scorer_of_this_test.py").write_text(
        "def half(completion, answer):\n    return 0.5\n\nnumber = 3\n", encoding="utf-8"
    )
    assert find_scorer("own_scorer_of_this_test:half")("", "") == 0.5
    assert str(tmp_path) not in sys.path
    for name, reason in {
        "own_scorer_of_this_test:missing": "has no attribute 'missing'",
        "own_scorer_of_this_test:number": "is no function but a int",
        "no_such_module_at_all:half": "No module named",
        "sum of digits": "is not known",
    }.items():
        with pytest.raises(ConfigError, match=reason):
            find_scorer(name)


def test_a_verifier_that_is_not_installed_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "math_verify", None)
    with pytest.raises(ConfigError, match="extra 'math'"):
        find_scorer("math-verify")


def test_a_scorer_that_raises_or_returns_no_number_is_named_with_its_input() -> None:
    def scored_by(scorer: Any) -> float:
        return ProblemSet("mine", [], [], scorer, "mine:score").score("some text", "42")

    with pytest.raises(
        EnvironmentFault, match=r"'mine:score' on completion 'some text' .* KeyError"
    ):
        scored_by(lambda completion, answer: {}[completion])
    for odd in (math.nan, math.inf, None, "much"):
        with pytest.raises(EnvironmentFault, match="must return a finite number"):
            scored_by(lambda completion, answer, odd=odd: odd)
    assert scored_by(lambda completion, answer: True) == 1.0


# files


def test_a_file_of_problems_is_read_and_split(tmp_path: Path) -> None:
    entries = [{"prompt": f"{n}+1=", "answer": n + 1} for n in range(200)]
    task = jsonl_task(_written(tmp_path / "sums.jsonl", *entries), scorer="last-number")
    assert task.name == "sums"
    assert len(task.train) + len(task.held_out) == 200
    assert 5 <= len(task.held_out) <= 40
    assert {p.prompt: p.answer for p in (*task.train, *task.held_out)}["7+1="] == "8"


def test_the_side_of_a_problem_does_not_depend_on_the_others() -> None:
    problems = [Problem(str(n), "0", str(n)) for n in range(100)]
    _, held_out = split(problems, 0.3, seed=1)
    _, alone = split(reversed(problems[:50]), 0.3, seed=1)
    assert set(alone) == {problem for problem in held_out if int(problem.key) < 50}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "holds no problems"),
        ('{"prompt": "a", "answer": "b"}\n\n{"prompt": "c"}\n', "line 3 has no answer"),
        ('{"prompt": "", "answer": "b"}\n', "line 1 has prompt = ''"),
        ('{"prompt": "a", "answer": null}\n', "line 1 has answer = None"),
        ("[1]\n", "line 1 is no object"),
        ('{"prompt": \n', "line 1 is no JSON"),
    ],
)
def test_a_line_that_is_no_problem_is_named(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=reason):
        read_problems(path)


def test_a_missing_or_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.jsonl': No such file"):
        read_problems(tmp_path / "nowhere.jsonl")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not text in UTF-8"):
        read_problems(tmp_path / "binary")


def test_too_few_lines_to_hold_any_out_are_refused(tmp_path: Path) -> None:
    path = _written(tmp_path / "one.jsonl", {"prompt": "a", "answer": "b"})
    with pytest.raises(ConfigError, match="holds 1 problems, too few"):
        jsonl_task(path)


def test_held_out_problems_that_are_trained_on_are_refused(tmp_path: Path) -> None:
    train = _written(tmp_path / "train.jsonl", *({"prompt": p, "answer": "x"} for p in "abc"))
    apart = _written(tmp_path / "apart.jsonl", *({"prompt": p, "answer": "x"} for p in "cd"))
    with pytest.raises(ConfigError, match=r"holds 1 of the problems .* 'c'"):
        jsonl_task(train, held_out=apart)
    clean = _written(tmp_path / "clean.jsonl", {"prompt": "d", "answer": "x"})
    assert [problem.prompt for problem in jsonl_task(train, held_out=clean).held_out] == ["d"]
