"""`steadyrl replay`: go through the last moments of a failed run again, Step by small Step."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from steadyrl.core.errors import TrainingDiverged
from steadyrl.core.printable import printable

EPILOG = """\
Continues from the run's last checkpoint in a folder of its own (runs are exact, so the same failure
happens again), recording as often as its trainer can until a number is not finite: DDPG after every
step of its environments, behaviour cloning after every gradient step, PPO and TRPO after every
update.

example:
  steadyrl replay runs/ddpg-pendulum-v1-seed0
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Replay and say where the first bad number appears."""
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    arguments = parser.parse_args(argv)
    from steadyrl.run import fork
    from steadyrl.store.reader import RunReader
    from steadyrl.store.writer import claim_run_path

    store = RunReader.open(arguments.run)
    step, _, _ = store.checkpoints.load_latest()
    folder = claim_run_path(arguments.run / "blackbox" / "replay")
    changes: dict[str, int] = {"evaluation.episodes": 0}
    if store.config.has("log_every"):  # as finely as it can be recorded
        changes["log_every"] = store.config.value_of("environment.count", 1)
    try:
        fork(arguments.run, step, changes, folder)
    except TrainingDiverged as error:
        sys.stderr.write(printable(f"{error}\n"))
    found, unit = _first_bad(folder), store.config.unit
    if arguments.json:
        sys.stdout.write(json.dumps({"replay": str(folder), **found}) + "\n")
    elif found["first_bad_tensor"]:
        sys.stdout.write(
            f"first bad tensor: {found['first_bad_tensor']}, after {unit.one} "
            f"{found['taken']:,}\nrecorded in {folder}\n"
        )
    else:
        sys.stdout.write(f"nothing went wrong up to {unit.one} {found['taken']:,}\n")
    return 0


def _first_bad(folder: Path) -> dict[str, object]:
    from steadyrl.store.reader import RunReader

    store = RunReader.open(folder)
    last = max((step.taken for step in store.steps()), default=0)
    boxes = [event for event in store.events() if event["event"] == "black box"]
    tensor = boxes[0]["first_bad_tensor"] if boxes else None
    return {"first_bad_tensor": tensor, "taken": last}
