"""What is wrong with a config, all of it, in our words."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, Protocol

from pydantic import ValidationError


class Known(Protocol):
    """A setting that there is."""

    name: str
    meaning: str
    needed: bool


def explain(known: Sequence[Known], error: ValidationError, source: str) -> str:
    """Everything that is wrong with the values of some settings."""
    # What is missing comes last: a misspelt name is why another seems to be.
    ordered = sorted(error.errors(), key=lambda problem: problem["type"] == "missing")
    problems = [_sentence(known, dict(problem)) for problem in ordered]
    if len(problems) == 1:
        return f"{source}: {problems[0]}"
    return "\n  ".join([f"{source}: {len(problems)} things are wrong:", *problems])


def _sentence(known: Sequence[Known], problem: dict[str, Any]) -> str:
    name = ".".join(str(part) for part in problem["loc"])
    kind, value = problem["type"], problem.get("input")
    if kind == "extra_forbidden":
        close = difflib.get_close_matches(name, [leaf.name for leaf in known], n=1, cutoff=0.6)
        hint = f" Did you mean '{close[0]}'?" if close else " 'steadyrl schema' lists them all."
        return f"unknown setting '{name}'.{hint}"
    if kind == "missing":
        needed = (leaf for leaf in known if leaf.needed)
        for leaf in needed:
            if leaf.name == name or leaf.name.startswith(f"{name}."):
                return f"'{leaf.name}' is missing. Add it: {leaf.meaning}."
        return f"setting '{name}' is missing."
    if kind == "value_error":
        return str(problem["ctx"]["error"])
    return f"{name} = {value!r} is not allowed: {_allowed(problem)}."


_NEEDED = {
    "int_type": "a whole number is needed",
    "int_from_float": "a whole number is needed",
    "float_type": "a number is needed",
    "bool_type": "true or false is needed",
    "string_type": "text is needed",
    "finite_number": "a finite number is needed",
    "tuple_type": "a list is needed, such as [64, 64]",
    "dict_type": "settings as 'name: value' are needed",
    "model_type": "settings as 'name: value' are needed",
    "too_short": "at least one is needed",
    "greater_than_equal": "it must be {ge:g} or more",
    "greater_than": "it must be above {gt:g}",
    "less_than_equal": "it must be {le:g} or less",
    "less_than": "it must be below {lt:g}",
    "literal_error": "use {expected}",
}


def _allowed(problem: dict[str, Any]) -> str:
    """What a setting takes, in our words; in the validator's where we have none."""
    ours = _NEEDED.get(problem["type"])
    if ours is None:
        theirs: str = problem["msg"]
        return theirs[0].lower() + theirs[1:]
    return ours.format(**problem.get("ctx", {}))
