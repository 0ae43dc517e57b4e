"""The fault bench: injected faults and healthy controls, by kind of trainer."""

from __future__ import annotations

from steadyrl.experiments.fault_bench import (
    faults_cloning,
    faults_ddpg,
    faults_language,
    faults_on_policy,
)
from steadyrl.experiments.fault_bench.suite import Suite

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (
        faults_ddpg.SUITE,
        faults_on_policy.SUITE,
        faults_cloning.SUITE,
        faults_language.SUITE,
    )
}
