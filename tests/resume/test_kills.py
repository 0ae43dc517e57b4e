"""A hundred kills over all algorithms and commands: slow, run by 'make test-slow'."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kills.py"


@pytest.mark.slow
def test_a_hundred_kills_leave_every_run_and_every_result_as_it_would_have_been() -> None:
    command = [sys.executable, str(SCRIPT), "--count", "100", "--seed", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["differences"] == []
    assert told["count"] == 100
    assert all(told["kills"].values())  # nobody was spared
