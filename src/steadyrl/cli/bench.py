"""`steadyrl bench faults`: how well are injected faults caught, named and told from health?"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from steadyrl.cli.engine import add_engine_flags, engine

EPILOG = """\
Runs every declared fault in three severities, and healthy controls, then judges them all. Runs that
are on disk already are not made again; the judgement is always fresh.

examples:
  steadyrl bench faults --seeds 1 --healthy-seeds 2
  steadyrl bench faults --output runs/fault-bench --json
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Run the bench and print its figures."""
    parser.add_argument("what", choices=["faults"], help="which bench")
    parser.add_argument("--seeds", type=int, default=3, help="seeds per fault and severity")
    parser.add_argument("--healthy-seeds", type=int, default=2, help="seeds per healthy variant")
    parser.add_argument(
        "--suite",
        choices=["ddpg", "on-policy", "cloning", "language"],
        default="ddpg",
        help="whose faults",
    )
    add_engine_flags(parser)
    parser.add_argument("--output", type=Path, help="folder (default: runs/fault-bench-SUITE)")
    parser.add_argument("--repair", action="store_true", help="also re-run with the remedies")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON on stdout")
    arguments = parser.parse_args(argv)
    from steadyrl.experiments.fault_bench import SUITES
    from steadyrl.experiments.fault_bench.bench import run_bench, summarise, write_results
    from steadyrl.experiments.fault_bench.repair import harm_rate, repair_rates
    from steadyrl.report.results import write_result

    folder_of_runs = arguments.output or Path("runs") / f"fault-bench-{arguments.suite}"
    executor = engine(arguments)
    judged = run_bench(
        SUITES[arguments.suite],
        folder_of_runs,
        seeds=arguments.seeds,
        healthy_seeds=arguments.healthy_seeds,
        executor=executor,
        say=_tell,
    )
    results = summarise(judged)
    if arguments.repair:
        folder = folder_of_runs / "repair"
        results["repair"] = repair_rates(
            judged, folder, seeds=arguments.seeds, executor=executor, say=_tell
        )
        results["harm"] = harm_rate(judged, folder, executor=executor, say=_tell)
    write_results({"benchmark": arguments.suite, **results}, folder_of_runs / "faults.json")
    report = write_result(folder_of_runs, "faults")
    if arguments.json:
        sys.stdout.write(json.dumps(results) + "\n")
    else:
        _print(results)
        sys.stdout.write(f"report  {report}\n")
    return 0


def _tell(line: str) -> None:
    sys.stderr.write(line + "\n")


def _print(results: dict[str, Any]) -> None:
    from rich.markup import escape

    from steadyrl.report.console import PlainConsole
    from steadyrl.report.fitting import print_table

    console, parts = PlainConsole(highlight=False), ("development", "test", "all")
    figures = [
        (name.replace("_", " "), *(escape(_cell(results[part][name])) for part in parts))
        for name in results["all"]
    ]
    print_table(console, ("figure", *parts), figures)
    console.print()
    faults = []
    for name, row in results["by_fault"].items():
        answers = ", ".join(f"{cause} {count}" for cause, count in row["answers"].items())
        counts = (str(row[key]) for key in ("runs", "effective", "caught", "top_1"))
        faults.append((name, *counts, answers))
    titles = ("fault", "runs", "effective", "caught", "named first", "answers")
    print_table(console, titles, faults)
    for arm, rate in results.get("repair", {}).items():
        if isinstance(rate, dict):
            console.print(f"repaired by {arm}: {_cell(rate)}")


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        if value["share"] is None:
            return "-"
        return f"{value['share']:.2f} [{value['low']:.2f}, {value['high']:.2f}] of {value['of']}"
    return f"{value:.2f}" if isinstance(value, float) else str(value)
