from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from steadyrl.algorithms import ddpg
from steadyrl.algorithms.training import prepare
from steadyrl.core.configs.ddpg import DDPGConfig
from steadyrl.core.networks import Adam, DenseNetwork
from steadyrl.experience.replay import ReplayBuffer
from steadyrl.experiments.fault_bench.bench import Result, is_effective, share, summarise
from steadyrl.experiments.fault_bench.faults import (
    DEVELOPMENT_FAMILIES,
    FAULTS,
    Case,
    faulty_cases,
    healthy_cases,
)
from steadyrl.experiments.fault_bench.substitutions import SUBSTITUTIONS
from steadyrl.experiments.trials import Outcome
from steadyrl.stability.causes import CAUSES
from steadyrl.stability.monitor import Monitor

Make = Callable[..., DDPGConfig]


def test_the_declared_list_is_large_enough_and_split() -> None:
    assert len(FAULTS) >= 12
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert len(list(healthy_cases(2))) >= 60
    families = {fault.family for fault in FAULTS}
    assert set(DEVELOPMENT_FAMILIES) < families
    held_out = {c.fault.family for c in faulty_cases(1) if c.fault and not c.development}
    assert held_out == families, "the test environment meets every family"
    known = {cause.id for cause in CAUSES}
    assert all(set(fault.causes) <= known for fault in FAULTS)


def test_every_case_is_a_valid_config_and_names_are_unique() -> None:
    cases = [*healthy_cases(1), *faulty_cases(1)]
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        assert case.config().seed == case.seed


@pytest.mark.parametrize("name", SUBSTITUTIONS)
def test_a_substitution_ends_with_its_block(name: str) -> None:
    def functions() -> list[object]:
        return [
            ddpg.td_targets,
            ddpg.follow,
            ddpg.ends_of_future,
            DenseNetwork.backward,
            Adam.step,
            ReplayBuffer.add,
        ]

    before = functions()
    with SUBSTITUTIONS[name](1.0):
        changed = [now is not then for now, then in zip(functions(), before, strict=True)]
        assert sum(changed) == 1
    assert functions() == before


@pytest.mark.parametrize(
    ("name", "rule", "cause"),
    [
        ("target-not-updated", "D012", "C204"),
        ("optimiser-detached", "D002", "C212"),
        ("successors-misaligned", "D020", "C215"),
        ("truncation-as-termination", "D019", "C207"),
        ("terminal-mask-missing", "D018", "C206"),
        ("actor-sign-flipped", "D021", "C211"),
    ],
)
def test_a_code_fault_is_caught_and_named_in_a_real_run(
    small_config: Make, name: str, rule: str, cause: str
) -> None:
    config = small_config(
        environment__id="test/Countdown-v0" if name.startswith("t") else "Pendulum-v1",
        environment__settings={"length": 25, "truncate": name.startswith("tru")}
        if name.startswith("t")
        else {},
        evaluation__episodes=0,
        total_env_steps=400,
        reward_scale=1.0,
    )
    monitor = Monitor(config)
    with SUBSTITUTIONS[name](1.0):
        for step in prepare(config).steps:
            monitor.observe(step)
    assert rule in {finding.rule for finding in monitor.findings}
    assert monitor.diagnose()[0].cause == cause
    healthy = Monitor(config)
    for step in prepare(config).steps:
        healthy.observe(step)
    assert rule not in {finding.rule for finding in healthy.findings}


def _result(case: Case, total: float, length: float = 100.0) -> Result:
    outcome = Outcome(case.name, Path("x"), "finished", (), total, length, 100)
    return Result(case, outcome, (), ())


def test_a_fault_counts_only_if_it_hurts(monkeypatch: pytest.MonkeyPatch) -> None:
    from steadyrl.experiments.fault_bench import bench

    monkeypatch.setattr(bench, "_start", lambda _: -1000.0)
    peers = [_result(Case(patient="pendulum", seed=s), -150.0 - s) for s in range(3)]
    case = next(c for c in faulty_cases(1) if c.patient == "pendulum")
    assert not is_effective(_result(case, -200.0), peers)
    assert is_effective(_result(case, -600.0), peers)
    figures = summarise([*peers, _result(case, -600.0), _result(case, -200.0)])["all"]
    assert (figures["effective_faults"], figures["latent_faults"]) == (1, 1)
    assert figures["recall"]["share"] == 0.0


def test_wilson_intervals_hold_the_share_and_stay_within_bounds() -> None:
    for count, total in ((0, 62), (62, 62), (5, 10)):
        found = share(count, total)
        assert 0.0 <= found["low"] <= count / total <= found["high"] <= 1.0
    assert share(0, 62)["high"] == pytest.approx(0.058, abs=0.001)
    assert share(0, 0)["share"] is None
    assert np.isclose(share(8, 10)["low"], 0.490, atol=0.002)
