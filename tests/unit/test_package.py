from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

import steadyrl
from tests.wheel.sizes import closure

ROOT = Path(__file__).resolve().parents[2]


def test_exported_names_exist_and_nothing_else_does() -> None:
    assert {name for name in steadyrl.__all__ if getattr(steadyrl, name)} == {
        "CheckedEnv",
        "Run",
        "SteadyError",
        "Watch",
        "__version__",
        "diagnose",
        "load_config",
        "load_policy",
        "rescue",
        "resume",
        "train",
    }
    with pytest.raises(AttributeError, match="nothing"):
        _ = steadyrl.nothing


def test_importing_makes_openmp_wait_passively_unless_told_otherwise() -> None:
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    script = f"import os, steadyrl; print(*(os.environ.get(name) for name in {names}))"
    clean = {name: value for name, value in os.environ.items() if name not in names}
    for given, expected in (
        ({}, "passive 10000"),
        ({"GOMP_SPINCOUNT": "5"}, "passive 5"),
        ({"OMP_WAIT_POLICY": "active"}, "active None"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={**clean, **given},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected


def test_what_only_reads_comes_without_what_trains() -> None:
    names = {canonicalize_name(package.name) for package in closure("")}
    assert names >= {"numpy", "rich", "pydantic", "pydantic-core"}
    assert not names & {"torch", "gymnasium", "scipy", "safetensors", "tensorboard"}


def test_an_extra_that_trains_brings_the_trainers_along() -> None:
    names = {canonicalize_name(package.name) for package in closure("atari")}
    assert names >= {"ale-py", "torch", "gymnasium", "scipy", "numpy", "rich"}
