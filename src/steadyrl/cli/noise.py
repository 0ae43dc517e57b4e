"""`steadyrl noise`: gradient variance and noise scale, and what they say about the batch."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from steadyrl.cli.settings import parse_sizes, parse_with_settings
from steadyrl.core.errors import ConfigError

if TYPE_CHECKING:
    from steadyrl.experiments.noise import NoiseReport

EPILOG = """\
RUN is measured at its newest checkpoint. A CONFIG is trained for a while first (--after). Critic
and actor are measured apart; "no measurable signal": the gradient cannot be told from zero.

examples:
  steadyrl noise runs/ddpg-pendulum-v1-seed0
  steadyrl noise ddpg/pendulum --after 5000 --batch-sizes 64,512
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Measure and advise."""
    parser.add_argument("target", metavar="CONFIG|RUN", help="preset, YAML file or run directory")
    parser.add_argument(
        "--batch-sizes", default="64,512", help="sizes whose gradient variance is measured"
    )
    parser.add_argument(
        "--after",
        type=int,
        help="how long to train a CONFIG first, in its own unit (a fifth of its budget)",
    )
    parser.add_argument("--micro-batches", type=int, default=200, help="for the noise scale")
    parser.add_argument("--draws", type=int, default=100, help="batches per size")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON on stdout")
    arguments, overrides = parse_with_settings(parser, argv)
    sizes = parse_sizes(arguments.batch_sizes)
    path = Path(arguments.target)
    if not (path / "config.yaml").is_file():
        path = _train_first(arguments.target, overrides, arguments.after)
    elif overrides:
        raise ConfigError(
            f"{path} is a run: its settings are what they are. Leave out --{next(iter(overrides))}."
        )
    from steadyrl.experiments.noise import measure_noise

    report = measure_noise(
        path, sizes, micro_batches=arguments.micro_batches, draws=arguments.draws, say=_say
    )
    if arguments.json:
        sys.stdout.write(json.dumps(report.to_json()) + "\n")
    else:
        _print(report)
    return 0


def _train_first(name: str, overrides: dict[str, object], after: int | None) -> Path:
    from steadyrl.cli.progress import TrainingProgress
    from steadyrl.core.presets import load_config
    from steadyrl.run import default_name, train

    config = load_config(name, overrides)
    steps = max(1, config.budget // 5) if after is None else after
    if steps < 1:
        raise ConfigError(
            f"--after {steps} is too small: gradients need a trained run, at least 1."
        )
    config = config.replaced({config.unit.setting: steps})
    wanted = Path("runs") / f"noise-{default_name(config)}"
    with TrainingProgress(f"training {name}", config) as progress:
        summary, path = train(config, wanted, numbered=True, observers=progress.observers())
    if summary.status == "interrupted":
        raise KeyboardInterrupt
    return path


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


def _print(report: NoiseReport) -> None:
    from rich.markup import escape

    from steadyrl.report.console import PlainConsole
    from steadyrl.report.fitting import print_table, say

    console = PlainConsole(highlight=False)
    say(
        console,
        f"[bold]{escape(report.run)}[/] at {report.taken:,} {report.unit}, {report.content:,} "
        f"samples to draw from, batch {report.batch_size:,}",
    )
    rows = []
    for part in report.parts:
        noise = part.noise
        scale = "no measurable signal"
        if noise.measurable:
            scale = f"{noise.scale:,.0f} ({noise.scale_low:,.0f} to {noise.scale_high:,.0f})"
        signal = f"{noise.signal:.3g} ({noise.signal_low:.3g} to {noise.signal_high:.3g})"
        rows.append((part.part, _drawn(part.scheme), scale, signal))
    print_table(
        console, ("part", "micro-batches", "noise scale (95 %)", "signal |G|^2 (95 %)"), rows
    )
    console.print()
    for part in report.parts:
        if part.advice is not None and part.scheme == "drawn":
            say(console, f"{part.part}: {escape(part.advice.sentence)}")
    variances = [
        (row.part, f"{row.batch_size:,}", f"{row.variance:.3g} ({row.low:.3g} to {row.high:.3g})")
        for row in report.variances
    ]
    print_table(console, ("part", "batch", "gradient variance (95 %)"), variances)
    for ratio in report.ratios:
        if math.isnan(ratio.ratio):
            say(console, f"{ratio.part}: no noise at {ratio.larger:,}, so there is no ratio to it")
            continue
        say(
            console,
            f"{ratio.part}: {ratio.smaller:,} is {ratio.ratio:.2f} ({ratio.low:.2f} to "
            f"{ratio.high:.2f}) times as noisy as {ratio.larger:,}; 1/N says {ratio.expected:g}",
        )


def _drawn(scheme: str) -> str:
    return "as training draws" if scheme == "drawn" else "stretches in time"
