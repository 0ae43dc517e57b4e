"""All benches in their order, and one table: ours against every peer, and what got worse.

    python benchmarks/all.py            keeps what it measured; run it on an idle machine
    python benchmarks/all.py --resume   goes on where this commit was left
    python benchmarks/all.py --quick    about ten minutes; keeps nothing

Figures are compared with the kept results (`benchmarks/results`) as they are committed. A ratio got
worse if it lies below the range of the kept one's rounds (or 10 % below it, where no range was
kept), a cost if it lies above its range, a time if it is 10 % longer, a difference of scores if it
left the kept interval downwards.
Exit code 1 if a bench failed; getting worse is for people to judge.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steadyrl.core.machine import commit

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SLACK = 0.1  # of a figure whose spread is not known
SPREADS = {"ratio": "ratio_range", "difference": "interval", "cost": "cost_range"}
# In order: first what is quick to tell that something is wrong.
BENCHES: Sequence[tuple[str, tuple[str, ...]]] = (
    ("commands.py", ()),
    ("speed_ddpg.py", ()),
    ("speed_ddpg.py", ("--algorithm", "td3")),
    ("on_policy.py", ("speed",)),
    ("cloning.py", ()),
    ("replay_speed.py", ()),
    ("acting.py", ()),
    ("read_events.py", ()),
    ("overhead_watch.py", ()),
    ("overhead_callback.py", ()),
    ("executor.py", ()),
    ("on_policy.py", ("breakout",)),
    ("language.py", ()),
    ("learning_ddpg.py", ()),
    ("on_policy.py", ("learning",)),
)


@dataclass(frozen=True)
class Figure:
    """One number of a bench, where it lies by chance, and whether more of it is better."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    more_is_better: bool = True

    def got_worse(self, before: Figure) -> bool:
        """Whether it is beyond what the figure before allows for."""
        slack = SLACK * abs(before.value)
        if self.more_is_better:
            return self.value < (before.value - slack if before.low is None else before.low)
        return self.value > (before.value + slack if before.high is None else before.high)


def main() -> None:
    """Run them, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ten minutes; keep nothing")
    parser.add_argument("--json", action="store_true", help="the table as JSON on the last line")
    parser.add_argument("--resume", action="store_true", help="leave out what this commit has")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="benches whose name contains it")
    arguments = parser.parse_args()
    kept = kept_figures(committed(RESULTS))
    took = Took(RESULTS / "all.json", keep=not arguments.quick)
    benches = {" ".join([script, *flags]): (script, flags) for script, flags in BENCHES}
    wanted = [t for t in benches if not arguments.only or any(o in t for o in arguments.only)]
    rows: list[tuple[Figure, Figure | None]] = []
    failed = []
    for number, title in enumerate(wanted, 1):
        if arguments.resume and (record := took.result(title)) is not None:
            rows += [(figure, kept.get(figure.name)) for figure in figures(record)]
            continue
        sys.stderr.write(f"{number} of {len(wanted)}  {title}{took.left(wanted[number - 1 :])}\n")
        began = time.monotonic()
        try:
            record = measured(*benches[title], quick=arguments.quick)
        except KeyboardInterrupt:
            how = "" if arguments.quick else ": python benchmarks/all.py --resume goes on from here"
            sys.stderr.write(f"stopped{how}\n")
            sys.exit(130)
        if record is None:
            failed.append(title)
            continue
        took.note(title, time.monotonic() - began, str(record["benchmark"]))
        rows += [(figure, kept.get(figure.name)) for figure in figures(record)]
    sys.stdout.writelines(f"{line}\n" for line in table(rows))
    sys.stderr.write(f"{took.total():.0f} minutes in all\n")
    sys.stdout.writelines(f"FAILED  {title}\n" for title in failed)
    if arguments.json:
        sys.stdout.write(json.dumps({"figures": _records(rows), "failed": failed}) + "\n")
    sys.exit(bool(failed))


def measured(script: str, flags: Sequence[str], *, quick: bool) -> dict[str, Any] | None:
    """What a bench said on its last line, or None if it failed."""
    command = [sys.executable, str(HERE / script), *flags, "--json", *(["--quick"] * quick)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    try:
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return None
    return found if done.returncode == 0 else None


class Took:
    """How long each bench took, and at which commit: for estimates, and to go on after a stop."""

    def __init__(self, file: Path, *, keep: bool) -> None:
        self._file, self._keep = file, keep
        self._known: dict[str, dict[str, Any]] = {}
        if keep and file.is_file():
            self._known = json.loads(file.read_text("utf-8"))["took"]

    def left(self, titles: Sequence[str]) -> str:
        """How long these take, if that is known of all."""
        if any(title not in self._known for title in titles):
            return ""
        minutes = sum(self._known[title]["minutes"] for title in titles)
        return f"  (about {minutes:.0f} minutes left)"

    def note(self, title: str, seconds: float, name: str) -> None:
        """A bench is done; at once on the disk, for the next may be stopped."""
        told = {"minutes": round(seconds / 60, 1), "result": name, "commit": commit()}
        self._known[title] = told
        sys.stderr.write(f"{title}: done in {told['minutes']} minutes\n")
        if self._keep:
            record = {"benchmark": "all", "took": self._known}
            self._file.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")

    def result(self, title: str) -> dict[str, Any] | None:
        """What a bench found at this very commit, if it was run."""
        known = self._known.get(title)
        if known is None or known["commit"] != commit():
            return None
        file = self._file.with_name(f"{known['result']}.json")
        found: dict[str, Any] = json.loads(file.read_text("utf-8"))
        return found

    def total(self) -> float:
        """Minutes of all that is known."""
        return sum(known["minutes"] for known in self._known.values())


def committed(folder: Path) -> list[dict[str, Any]]:
    """The results as they are in the last commit, or as they lie here if they are in none."""
    texts = []
    for file in sorted(folder.glob("*.json")):
        command = ["git", "-C", str(folder), "show", f"HEAD:./{file.name}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        texts.append(done.stdout if done.returncode == 0 else file.read_text("utf-8"))
    return [json.loads(text) for text in texts]


def kept_figures(records: Sequence[dict[str, Any]]) -> dict[str, Figure]:
    """All figures of kept results, by name."""
    return {f.name: f for record in records if "benchmark" in record for f in figures(record)}


def figures(record: dict[str, Any]) -> Iterator[Figure]:
    """Ratios, differences of scores, costs and times, wherever they are in a result."""
    yield from _figures(record, str(record["benchmark"]))


def _figures(found: Any, name: str) -> Iterator[Figure]:
    if not isinstance(found, dict):
        return
    for key, spread in SPREADS.items():
        if isinstance(found.get(key), int | float):
            low, high = found.get(spread) or (None, None)
            yield Figure(f"{name}: {key}", float(found[key]), low, high, key != "cost")
    if isinstance(found.get("seconds"), int | float):
        yield Figure(f"{name}: seconds", float(found["seconds"]), more_is_better=False)
    for key, value in found.items():
        if key not in ("machine", "scores"):
            yield from _figures(value, f"{name} {key}")


def table(rows: Sequence[tuple[Figure, Figure | None]]) -> Iterator[str]:
    """A line for each figure: now, its range, what was kept, and a mark."""
    width = max((len(figure.name) for figure, _ in rows), default=0)
    yield f"{'figure':{width}}  {'now':>9}  {'range':>17}  {'kept':>9}"
    for now, before in rows:
        spread = f"{now.low:.3g} to {now.high:.3g}" if now.low is not None else ""
        old = f"{before.value:9.4g}" if before else f"{'-':>9}"
        mark = "  WORSE" if before and now.got_worse(before) else ""
        yield f"{now.name:{width}}  {now.value:9.4g}  {spread:>17}  {old}{mark}"
    worse = sum(before is not None and now.got_worse(before) for now, before in rows)
    yield f"{len(rows)} figures, {worse} got worse"


def _records(rows: Sequence[tuple[Figure, Figure | None]]) -> list[dict[str, Any]]:
    return [
        {
            "figure": now.name,
            "value": now.value,
            "kept": before.value if before else None,
            "worse": bool(before and now.got_worse(before)),
        }
        for now, before in rows
    ]


if __name__ == "__main__":
    main()
