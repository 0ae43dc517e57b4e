"""Scorers: from a completion and the right answer to a number, by name or by import path."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from steadyrl.core.errors import ConfigError

Scorer = Callable[[str, str], float]

_NUMBER = re.compile(r"-?(?:\d[\d,]*\.?\d*|\.\d+)")


def find_scorer(name: str) -> Scorer:
    """`exact`, `last-number`, `math-verify`, or a function of yours as `module:function`."""
    if name == "math-verify":
        return _math_verify()
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    if ":" in name:
        return _imported(name)
    raise ConfigError(
        f"scorer = '{name}' is not known. Use exact, last-number, math-verify, or a Python "
        "function of (completion, answer) as 'module:function'."
    )


def exact(completion: str, answer: str) -> float:
    """1 if the completion is the answer, apart from white space at its ends."""
    return float(completion.strip() == answer.strip())


def last_number(completion: str, answer: str) -> float:
    """1 if the last number of the completion equals the last number of the answer."""
    found, wanted = _last_number(completion), _last_number(answer)
    return float(found is not None and found == wanted)


def _last_number(text: str) -> Decimal | None:
    numbers = _NUMBER.findall(text)
    return Decimal(numbers[-1].replace(",", "")) if numbers else None


def _math_verify() -> Scorer:
    try:
        import math_verify
    except ImportError:
        raise ConfigError(
            "scorer = 'math-verify' needs the package math-verify: install steadyrl with its extra "
            "'math', or use scorer = 'last-number'."
        ) from None

    def equivalent(completion: str, answer: str) -> float:
        return float(math_verify.verify(math_verify.parse(answer), math_verify.parse(completion)))

    return equivalent


def _imported(name: str) -> Scorer:
    module_name, _, function_name = name.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)  # a console script does not see the folder it is started in
    try:
        function: Any = getattr(importlib.import_module(module_name), function_name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"scorer = '{name}' cannot be imported: {error}. It must name a Python function of "
            "(completion, answer) as 'module:function'."
        ) from None
    finally:
        sys.path.remove(here)
    if not callable(function):
        raise ConfigError(
            f"scorer = '{name}' is no function but a {type(function).__name__}. It must name a "
            "Python function of (completion, answer)."
        )
    return function  # type: ignore[no-any-return]


_BUILT_IN: dict[str, Scorer] = {"exact": exact, "last-number": last_number}
