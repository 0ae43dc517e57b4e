"""The tables of docs/fault-bench.md, printed from a suite's kept result."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

ROWS = {
    "healthy runs": "healthy_runs",
    "healthy runs with a severe finding": "severe_false_alarms",
    "healthy runs with a warning": "warned_healthy_runs",
    "effective faults": "effective_faults",
    "caught (warning or worse)": "recall",
    "right cause named first": "top_1_cause",
    "right cause among three": "top_3_cause",
    "median time to detection, share of budget": "median_time_to_detection",
    "latent faults": "latent_faults",
    "latent faults named right": "latent_named",
}


def main() -> None:
    """Print Markdown."""
    suite = sys.argv[1] if len(sys.argv) > 1 else "ddpg"
    file = RESULTS / f"fault_bench_{suite.replace('-', '_')}.json"
    result: dict[str, Any] = json.loads(file.read_text("utf-8"))
    sides = ("development", "test", "all")
    lines = ["| | " + " | ".join(sides) + " |", "|---|---|---|---|"]
    for title, name in ROWS.items():
        lines.append(f"| {title} | " + " | ".join(cell(result[s][name]) for s in sides) + " |")
    lines += ["", "| fault | runs | effective | caught | named first | answers |", "|" + "---|" * 6]
    for name, row in result["by_fault"].items():
        answers = ", ".join(f"{cause} {count}" for cause, count in row["answers"].items())
        counts = " | ".join(str(row[key]) for key in ("runs", "effective", "caught", "top_1"))
        lines.append(f"| {name} | {counts} | {answers} |")
    lines += ["", "| arm | repaired |", "|---|---|"]
    for arm, rate in result["repair"].items():
        if isinstance(rate, dict):
            lines.append(f"| {arm} | {cell(rate)} |")
    lines += ["", f"harm: {cell(result['harm'])}"]
    sys.stdout.write("\n".join(lines) + "\n")


def cell(value: Any) -> str:
    """A figure with its interval."""
    if isinstance(value, dict):
        if value["share"] is None:
            return "not measured"
        return f"{value['share']:.2f} [{value['low']:.2f}, {value['high']:.2f}] of {value['of']}"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
