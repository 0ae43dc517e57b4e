"""`steadyrl evaluate`: how good trained policies are, on many fresh episodes."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from steadyrl.core.errors import ConfigError, SteadyError
from steadyrl.core.numbers import amount
from steadyrl.core.printable import printable

if TYPE_CHECKING:
    from steadyrl.experiments.evaluation import Evaluated

EPILOG = """\
Every run plays the same episodes of one seed, which neither training nor its evaluations met: the
best checkpoint was chosen by its luck too, and fresh episodes tell.

examples:
  steadyrl evaluate runs/ppo-cartpole-v1-seed0
  steadyrl evaluate runs/ppo-cartpole-v1-seed* --episodes 200 --seed 7
  steadyrl evaluate runs/ddpg-pendulum-v1-seed0 --checkpoint last --json
  steadyrl evaluate runs/mine --environment my_env:Harder-v0
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Play, and a few lines for every run; one that cannot be played is left out, with why."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories")
    parser.add_argument("--episodes", type=int, default=100, help="of every run")
    parser.add_argument("--seed", type=int, default=0, help="which episodes (default: 0)")
    parser.add_argument("--environment", metavar="ID", help="another than it was trained in")
    add_policy_flags(parser)
    parser.add_argument("--json", action="store_true", help="every episode as JSON on stdout")
    arguments = parser.parse_args(argv)
    from steadyrl.experiments.evaluation import environment_of, evaluate_policy
    from steadyrl.trained import load_policy

    deterministic = wanted_actions(arguments)

    def played(run: Path) -> Evaluated:
        policy = load_policy(run, arguments.checkpoint)
        world = None
        if arguments.environment is not None:
            world = environment_of(policy).model_copy(
                update={"id": arguments.environment, "settings": {}}
            )
        sys.stderr.write(printable(f"{run}: {policy.chosen.because}\n"))
        return evaluate_policy(
            policy,
            episodes=arguments.episodes,
            seed=arguments.seed,
            deterministic=deterministic,
            environment=world,
        )

    found = []
    for run in arguments.runs:
        try:
            found.append(played(run))
        except SteadyError as error:
            if len(arguments.runs) == 1:
                raise
            sys.stderr.write(printable(f"left out: {error}\n"))
            continue
        if not arguments.json:
            _print(found[-1])
    if arguments.json:
        told = [one.to_json() for one in found]
        sys.stdout.write(json.dumps(told[0] if len(arguments.runs) == 1 else told) + "\n")
    return 0 if len(found) == len(arguments.runs) else 2


def add_policy_flags(parser: argparse.ArgumentParser) -> None:
    """Which policy of a run, and how it acts."""
    parser.add_argument(
        "--checkpoint", default="best", help="best (evaluated), last, or the number of a Step"
    )
    parser.add_argument("--deterministic", action="store_true", help="the actions it would choose")
    parser.add_argument(
        "--drawn",
        action="store_true",
        help="actions as drawn in training (default: as the run was evaluated)",
    )


def wanted_actions(arguments: argparse.Namespace) -> bool | None:
    """What the flags ask for; None: as the run was evaluated."""
    if arguments.deterministic and arguments.drawn:
        raise ConfigError("give either --deterministic or --drawn.")
    return arguments.deterministic or (False if arguments.drawn else None)


def _print(found: Evaluated) -> None:
    told = found.to_json()
    interval = told["interval"]
    sure = f" [{amount(interval[0])}, {amount(interval[1])}]" if interval else ""
    sys.stdout.write(
        f"{found.run}: return {amount(found.mean)}{sure} over {told['episodes']} episodes of "
        f"{found.environment}\n"
        f"  returns {amount(told['return_min'])} to {amount(told['return_max'])}, median "
        f"{amount(told['return_median'])}; lengths {told['length_min']:,} to "
        f"{told['length_max']:,}, mean {amount(told['length_mean'])}; "
        f"{told['terminated_share']:.0%} terminated\n"
    )
    worst = sorted(told["by_seed"], key=lambda episode: episode["return"])[:3]
    seeds = ", ".join(f"{episode['seed']} ({amount(episode['return'])})" for episode in worst)
    sys.stdout.write(f"  worst seeds: {seeds}\n")
