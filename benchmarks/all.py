"""All benches in their order, and one table: ours against every peer, and what got worse.

    python benchmarks/all.py            keeps what it measured; on an idle machine speed takes two
                                        hours, language and learning perhaps as long again
    python benchmarks/all.py --quick    about ten minutes; keeps nothing

Figures are compared with the kept results (`benchmarks/results`) as they were before. A ratio got
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

HERE = Path(__file__).resolve().parent
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
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="benches whose name contains it")
    arguments = parser.parse_args()
    kept = kept_figures(HERE / "results")
    rows: list[tuple[Figure, Figure | None]] = []
    failed = []
    for script, flags in BENCHES:
        title = " ".join([script, *flags])
        if arguments.only and not any(text in title for text in arguments.only):
            continue
        began = time.monotonic()
        record = measured(script, flags, quick=arguments.quick)
        told = "failed" if record is None else "done"
        sys.stderr.write(f"{title}: {told} in {time.monotonic() - began:.0f} s\n")
        if record is None:
            failed.append(title)
            continue
        rows += [(figure, kept.get(figure.name)) for figure in figures(record)]
    sys.stdout.writelines(f"{line}\n" for line in table(rows))
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


def kept_figures(folder: Path) -> dict[str, Figure]:
    """All figures of the kept results, by name."""
    records = [json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))]
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
