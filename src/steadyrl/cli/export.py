"""`steadyrl export`: a trained policy for other programs, with a card and a check."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from steadyrl.core.errors import ConfigError

POLICIES = ("onnx", "torchscript", "safetensors")
MODELS = "transformers"

EPILOG = """\
Writes a new folder: the model, README.md (a model card: task, scores, verdict, settings, versions),
policy.json, and the observations and actions it was checked on. What was written is read back and
must act as the original.

onnx          runs anywhere with onnxruntime; pip install 'steadyrl[onnx]'
torchscript   runs where torch is, in C++ too
safetensors   the weights alone, layer by layer
transformers  language models: a folder that plain transformers loads (the default for them)

examples:
  steadyrl export runs/ppo-cartpole-v1-seed0
  steadyrl export runs/ddpg-pendulum-v1-seed0 pendulum-model --format torchscript
  steadyrl export runs/language-addition-seed0 my-model
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Write the folder and say where it is."""
    parser.add_argument("run", type=Path, metavar="RUN", help="run directory")
    parser.add_argument(
        "folder", type=Path, nargs="?", metavar="FOLDER", help="a new one (default: RUN/FORMAT)"
    )
    parser.add_argument("--format", choices=[*POLICIES, MODELS], help="(default: onnx)")
    parser.add_argument(
        "--checkpoint", default="best", help="best (evaluated), last, or the number of a Step"
    )
    parser.add_argument("--adapter", action="store_true", help="LoRA: the adapter, not merged")
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")
    arguments = parser.parse_args(argv)
    from steadyrl.store.reader import RunReader

    is_language = RunReader.open(arguments.run).config.is_a("language")
    if is_language:
        if arguments.format not in (None, MODELS):
            raise ConfigError(
                f"--format {arguments.format}: a language model is exported as a folder that "
                "transformers loads. Leave the flag out."
            )
        folder = arguments.folder or arguments.run / MODELS
        return export_language(
            arguments.run, folder, arguments.checkpoint, arguments.adapter, as_json=arguments.json
        )
    if arguments.format == MODELS or arguments.adapter:
        raise ConfigError(
            f"{arguments.run}: only language models have a transformers folder or an adapter. Use "
            f"--format {', '.join(POLICIES)}."
        )
    return _export_policy(arguments)


def _export_policy(arguments: argparse.Namespace) -> int:
    from steadyrl.experiments.exporting import Format, export_policy
    from steadyrl.trained import load_policy

    kind: Format = arguments.format or "onnx"
    policy = load_policy(arguments.run, arguments.checkpoint)
    done = export_policy(policy, arguments.folder or arguments.run / kind, kind)
    if arguments.json:
        told = {
            "folder": str(done.folder),
            "file": done.file,
            "format": kind,
            "step": policy.step,
            "chosen": policy.chosen.because,
            "checked": done.checked,
            "observations": done.observations,
            "largest_gap": done.largest_gap,
        }
        sys.stdout.write(json.dumps(told) + "\n")
        return 0
    _tell(policy.chosen.because)
    _tell(
        f"checked on {done.checked} observations ({done.observations}): largest difference "
        f"{done.largest_gap:.2g}"
    )
    sys.stdout.write(f"{done.folder}\n")
    return 0


def export_language(
    run: Path, folder: Path, checkpoint: str, adapter: bool, *, as_json: bool
) -> int:
    """A language model as a folder that plain transformers loads."""
    from steadyrl.experiments.trained_language import export, load_trained

    trained = load_trained(run, checkpoint)
    export(trained, folder, adapter=adapter)
    left_out = trained.learner.policy.value_head is not None
    if as_json:
        told = {"folder": str(folder), "step": trained.step, "chosen": trained.chosen}
        sys.stdout.write(
            json.dumps({**told, "value_head": "left out" if left_out else None}) + "\n"
        )
        return 0
    _tell(trained.chosen)
    if left_out:
        _tell("the value head is left out: it belongs to the training")
    sys.stdout.write(f"{folder}\n")
    return 0


def _tell(line: str) -> None:
    """Beside the result: standard output is for what other programs read."""
    sys.stderr.write(f"{line}\n")
