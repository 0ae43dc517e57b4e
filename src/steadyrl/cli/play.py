"""`steadyrl play`: a trained policy at work, on the screen or as a film."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from steadyrl.cli.evaluate import add_policy_flags, wanted_actions
from steadyrl.core.numbers import amount

EPILOG = """\
Without --video the environment draws on the screen. A film needs no screen; it does need
pip install 'steadyrl[video]'.

examples:
  steadyrl play runs/ppo-cartpole-v1-seed0
  steadyrl play runs/ppo-cartpole-v1-seed0 --video cartpole.mp4
  steadyrl play runs/trpo-breakout-v5-seed0 --video breakout.gif --episodes 2
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Play, and say how each episode went."""
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument("--video", type=Path, metavar="FILE", help="film: out.mp4 or out.gif")
    parser.add_argument("--episodes", type=int, default=1, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: 0)")
    parser.add_argument("--most-steps", type=int, default=2000, help="of an episode")
    add_policy_flags(parser)
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    arguments = parser.parse_args(argv)
    from steadyrl.experiments.playing import Shown, play
    from steadyrl.trained import load_policy

    def tell(shown: Shown) -> None:
        ended = "" if shown.ended else " (cut off)"
        sys.stderr.write(
            f"seed {shown.seed}: return {amount(shown.total)} in {shown.length:,} steps{ended}\n"
        )

    policy = load_policy(arguments.run, arguments.checkpoint)
    sys.stderr.write(f"{arguments.run}: {policy.chosen.because}\n")
    found = play(
        policy,
        episodes=arguments.episodes,
        seed=arguments.seed,
        deterministic=wanted_actions(arguments),
        video=arguments.video,
        most_steps=arguments.most_steps,
        say=tell,
    )
    if arguments.json:
        video = str(arguments.video) if arguments.video else None
        told = {"video": video, "episodes": [asdict(shown) for shown in found]}
        sys.stdout.write(json.dumps(told) + "\n")
    elif arguments.video:
        sys.stdout.write(f"{arguments.video}\n")
    return 0
