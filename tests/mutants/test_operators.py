"""The faults that tests are asked to notice."""

from __future__ import annotations

import ast
import signal
from pathlib import Path

import numpy as np
import pytest

from steadyrl.maths import robust as statistics
from tests.mutants.graft import put_in_place
from tests.mutants.operators import mutants_of
from tests.mutants.run import _in_child


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("x = a < 3", ["x = a <= 3", "x = a < 4"]),
        ("x = a and b", ["x = a or b", "x = b", "x = a"]),
        ("x = not a", ["x = a"]),
        ("x = a @ b", ["x = a * b"]),
        ("x = a - 0.5", ["x = a + 0.5", "x = a - 0.75"]),
        ("x = [y for y in a if y]", ["x = [y for y in a if not y]", "x = [y for y in a]"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
        ("def f():\n    g(a)", ["def f():\n    pass"]),
        ("class A:\n    b: int = 3", []),
        ("x = 'text' + f'{a + 1}'", []),
        ("raise E(3)", ["pass"]),
        ("zip(a, b, strict=True)", ["pass"]),
    ],
)
def test_a_source_has_these_faults_and_no_others(source: str, faults: list[str]) -> None:
    assert [ast.unparse(mutant.tree(source)) for mutant in mutants_of(source)] == faults


def test_a_fault_is_felt_by_those_who_hold_the_function_already() -> None:
    file = Path(statistics.__file__)
    held, values = statistics.robust_z, np.array([1.0, 2.0, 3.0])

    def with_fault() -> bytes:
        text = file.read_text().replace("MAD_TO_SIGMA = 1.4826", "MAD_TO_SIGMA = 0.5")
        put_in_place(file, ast.parse(text.replace("(value - center)", "(value + center)")))
        return str(held(4.0, values)).encode()

    assert _in_child(with_fault) == (0, b"12.0")
    assert held(4.0, values) == pytest.approx(2.0 / 1.4826)


def test_a_fault_that_never_ends_is_ended_and_told_from_a_crash() -> None:
    def endless() -> bytes:
        while True:
            pass

    def crash() -> bytes:
        raise SystemExit

    assert _in_child(endless, 1) == (-signal.SIGPROF, b"")
    assert _in_child(crash) == (1, b"")
