"""What is written from our own classes says what they say, wherever it is read."""

from __future__ import annotations

import json

import pydantic
import pytest

from steadyrl.cli.main import main
from steadyrl.core.registry import ALGORITHMS, config_class
from steadyrl.stability.explain import texts_of_rules
from steadyrl.stability.rule_texts import rule_texts
from website.measured import from_results, with_rows
from website.staging import ROOT
from website.written import from_classes

# Schemas are worded by pydantic, each version a little otherwise.
PINNED = f"pydantic=={pydantic.VERSION}" in (ROOT / "constraints.txt").read_text("utf-8").split()


@pytest.mark.parametrize("name", list(from_classes()))
def test_a_written_file_is_what_the_classes_say(name: str) -> None:
    if "schemas" in name and not PINNED:
        pytest.skip("another version of pydantic words schemas otherwise")
    assert (ROOT / name).read_text("utf-8") == from_classes()[name], "run 'make docs'"


@pytest.mark.parametrize("name", list(from_results(ROOT)))
def test_what_was_measured_is_told_as_it_was(name: str) -> None:
    assert (ROOT / name).read_text("utf-8") == from_results(ROOT)[name], "run 'make docs'"


def test_a_row_that_is_not_there_is_missed() -> None:
    assert with_rows("| a | 1 |\n| b | 2 |\n", {"a": "3"}) == "| a | 3 |\n| b | 2 |\n"
    with pytest.raises(ValueError, match="one row"):
        with_rows("| a | 1 |\n", {"b": "3"})


def test_rules_are_told_as_they_are() -> None:
    assert rule_texts() == texts_of_rules()


@pytest.mark.parametrize("algorithm", list(ALGORITHMS))
def test_a_schema_is_told_with_every_setting_of_the_config(
    algorithm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", algorithm]) == 0
    told = json.loads(capsys.readouterr().out)["properties"]
    assert list(told) == list(config_class(algorithm).model_fields)
