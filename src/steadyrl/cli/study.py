"""`steadyrl study`: one of the documents' claims, put to the test."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steadyrl.cli.engine import add_engine_flags, engine
from steadyrl.cli.folder import claimed_folder
from steadyrl.core.errors import ConfigError

EPILOG = """\
Question, runs and rule are declared beforehand; the verdict is confirmed, refuted, depends on, or
not decided where chance cannot be excluded. Writes study.json, page.md and report.html. Run it
again with the same --output and it goes on.

examples:
  steadyrl study                      list them
  steadyrl study C1
  steadyrl study C3 --seeds 10 --output runs/c3
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Run a study and print its verdict, or list them all."""
    parser.add_argument("study", nargs="?", help="C1, C2, ...")
    parser.add_argument("--seeds", type=int, help="instead of the study's own number")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work: only a try-out")
    parser.add_argument("--output", type=Path, help="folder (default: runs/study-...)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
    add_engine_flags(parser)
    arguments = parser.parse_args(argv)
    from steadyrl.cli.progress import timed_lines
    from steadyrl.experiments.studies import STUDIES
    from steadyrl.experiments.studies.study import page

    if arguments.study is None:
        for listed in STUDIES.values():
            sys.stdout.write(f"{listed.id}  {listed.claim}\n")
        return 0
    study = STUDIES.get(arguments.study.upper())
    if study is None:
        raise ConfigError(f"no study '{arguments.study}'. Use one of: {', '.join(STUDIES)}.")
    seeds = study.seeds if arguments.seeds is None else arguments.seeds
    if seeds < 1:
        raise ConfigError(f"seeds = {seeds}: use 1 or more.")
    size = "-quick" if arguments.quick else ""
    folder = arguments.output or Path("runs") / f"study-{study.id.lower()}{size}"
    about = f"study: {study.id}\nquick: {str(arguments.quick).lower()}\n"
    with claimed_folder(folder, about, what="study of another kind"):
        found = study.run(folder, seeds, arguments.quick, engine(arguments), timed_lines())
    record = {
        **asdict(found),
        "study": study.id,
        "seeds": seeds,
        "quick": arguments.quick,
        **_here(),
    }
    text = page(study, record)
    from steadyrl.report.results import write_result
    from steadyrl.store.files import write_atomically, write_json

    declared = {name: getattr(study, name) for name in ("claim", "question", "setup", "rule")}
    write_json(folder / "study.json", {**record, "declared": declared})
    write_atomically(folder / "page.md", text.encode())
    write_result(folder, "study")
    if arguments.json:
        sys.stdout.write(json.dumps(record) + "\n")
    else:
        from rich.markdown import Markdown

        from steadyrl.report.console import PlainConsole

        PlainConsole().print(Markdown(text))
    return 0


def _here() -> dict[str, Any]:
    from steadyrl.core.machine import commit, describe_machine

    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": describe_machine(),
        "commit": commit(),
    }
