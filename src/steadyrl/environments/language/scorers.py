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

_BOX = "\\boxed{"
_BOX_WITHIN = 300  # characters from the end
_NUMBER = re.compile(r"-?(?:\d[\d,]*\.?\d*|\.\d+)")


def find_scorer(name: str) -> Scorer:
    """A built-in one, or a function of yours as `module:function`."""
    if ":" in name:
        return _imported(name)
    plain = name.replace("_", "-")  # as a Python function would be called
    if plain == "math-verify":
        return _math_verify()
    if plain in _BUILT_IN:
        return _BUILT_IN[plain]
    raise ConfigError(
        f"scorer = '{name}' is not known. Use {', '.join(_BUILT_IN)}, math-verify, or a Python "
        "function of (completion, answer) as 'module:function'."
    )


def exact(completion: str, answer: str) -> float:
    """1 if the completion is the answer, apart from white space at its ends."""
    return float(completion.strip() == answer.strip())


def last_number(completion: str, answer: str) -> float:
    """1 if the last number of the completion equals the last number of the answer."""
    found, wanted = _last_number(completion), _last_number(answer)
    return float(found is not None and found == wanted)


def boxed(completion: str, answer: str) -> float:
    r"""1 if the last \boxed{...} near the end of the completion holds the answer, as a string.

    Spelling that means nothing (spaces, dollars, kinds of fractions) is ignored. Nothing is worked
    out: 1/2 is not 0.5. JustRL trains with such a rule and found a more lenient one worse.
    """
    found = _in_box(completion[-_BOX_WITHIN:])
    return float(found is not None and _spelt(found) == _spelt(_in_box(answer) or answer))


def _in_box(text: str) -> str | None:
    """What the last box holds, up to the brace that closes it; None without one."""
    start = text.rfind(_BOX)
    if start < 0:
        return None
    depth = 1
    for place in range(start + len(_BOX), len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + len(_BOX) : place]
    return None


def _spelt(text: str) -> str:
    plain = text.replace("dfrac", "frac").replace("tfrac", "frac")
    for idle in ("\\left", "\\right", "\\!", "\\,", "$"):
        plain = plain.replace(idle, "")
    plain = "".join(plain.split()).rstrip(".")
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", plain)


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


_BUILT_IN: dict[str, Scorer] = {
    "exact": exact,
    "last-number": last_number,
    "boxed": boxed,
}
