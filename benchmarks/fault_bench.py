"""The fault bench with its figures kept under results/: recall, false alarms, causes, repair.

The runs are kept in --output, so that a second start only makes what is missing; the judgement is
always made afresh with the rules as they are.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from common import conclude

from steadyrl.experiments.executor import LocalExecutor
from steadyrl.experiments.fault_bench import SUITES
from steadyrl.experiments.fault_bench.bench import run_bench, summarise
from steadyrl.experiments.fault_bench.repair import harm_rate, repair_rates
from steadyrl.experiments.fault_bench.suite import Suite


def main() -> None:
    """Run, judge, repair, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="judge what is there, keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--healthy-seeds", type=int, default=2)
    parser.add_argument("--repair-seeds", type=int, default=1, help="of each fault, to repair")
    parser.add_argument(
        "--repair-skip", type=int, default=0, help="leave out so many of the first seeds"
    )
    parser.add_argument("--suite", choices=sorted(SUITES), default="ddpg")
    parser.add_argument(
        "--family", help="only this family's faults, and plain healthy runs of their patients"
    )
    parser.add_argument(
        "--severity", type=int, choices=(0, 1, 2), help="only faults of this severity"
    )
    parser.add_argument("--first-seed", type=int, help="of the faults (default: the suite's)")
    parser.add_argument("--first-healthy-seed", type=int, help="of the controls, likewise")
    parser.add_argument("--name", default="", help="what the kept result's name ends in")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, help="folder (default: runs/fault-bench-SUITE)")
    arguments = parser.parse_args()
    if arguments.seeds and not arguments.healthy_seeds:
        parser.error("--healthy-seeds 0: what faults cost is told beside healthy runs")

    def say(line: str) -> None:
        if not arguments.json:
            sys.stderr.write(line + "\n")

    folder_of_runs = arguments.output or Path("runs") / f"fault-bench-{arguments.suite}"
    executor = LocalExecutor(workers=arguments.workers)
    suite = chosen_suite(arguments)
    judged = run_bench(
        suite,
        folder_of_runs,
        seeds=0 if arguments.quick else arguments.seeds,
        healthy_seeds=1 if arguments.quick else arguments.healthy_seeds,
        executor=executor,
        say=say,
    )
    results = summarise(judged)
    if not arguments.quick:
        folder = folder_of_runs / "repair"
        results["repair"] = repair_rates(
            judged,
            folder,
            seeds=arguments.repair_seeds,
            skip=arguments.repair_skip,
            executor=executor,
            say=say,
        )
        results["harm"] = harm_rate(judged, folder, executor=executor, say=say)
    results["seeds"] = {"faults": arguments.seeds, "healthy": arguments.healthy_seeds}
    results["seeds"] |= {"repaired": arguments.repair_seeds, "skipped": arguments.repair_skip}
    first = {"faults": suite.first_faulty_seed, "healthy": suite.first_healthy_seed}
    results["first_seeds"] = first
    results["severities"] = suite.severities
    parts = ("fault_bench", arguments.suite, arguments.family, arguments.name)
    name = "_".join(part for part in parts if part)
    conclude(name.replace("-", "_"), results, keep=not arguments.quick)


def chosen_suite(arguments: argparse.Namespace) -> Suite:
    """The cases that are asked for."""
    suite = SUITES[arguments.suite]
    if arguments.family:
        suite = suite.of_family(arguments.family)
    if arguments.severity is not None:
        suite = replace(suite, severities=(arguments.severity,))
    return suite.on_seeds(arguments.first_seed, arguments.first_healthy_seed)


if __name__ == "__main__":
    main()
