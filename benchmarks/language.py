"""GRPO on a language model against TRL's trainer: seconds per update and peak memory.

Both sides sample and train the same number of completions of the same prompts, of (nearly always)
the same length, from the same model on two threads, in turn; the ratio is the median over rounds.
The tiny model is made here; SmolLM2 is used if it has been fetched.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from common import conclude, run_json

import steadyrl

HERE = Path(__file__).resolve().parent
# Each side waits for its threads as it does by itself: we set OpenMP's policy, TRL does not.
THREADS = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
# Groups of eight, completions in memory at once.
CASES: dict[str, list[object]] = {
    "tiny, 512 completions": ["--groups", 64, "--micro-batch", 128, "--rate", 1e-4],
    "smollm2, 96 completions, 32 at once": ["--shots"],
    "smollm2, 96 completions, all at once": ["--shots", "--micro-batch", 96],
}


def main() -> None:
    """Both sides in turn, for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny model, 1 round; keep nothing")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=3, help="per round; the first is not timed")
    parser.add_argument("--only", choices=["tiny", "smollm2"], help="one model only")
    arguments = parser.parse_args()
    rounds, only = (1, "tiny") if arguments.quick else (arguments.rounds, arguments.only)
    results: dict[str, Any] = {"rounds": rounds, "versions": versions()}
    with tempfile.TemporaryDirectory() as scratch:
        for name, settings in CASES.items():
            if only and not name.startswith(only):
                continue
            model = tiny(Path(scratch)) if name.startswith("tiny") else smollm2()
            if model is None:
                sys.stderr.write(f"{name}: left out, run `steadyrl language fetch smollm2` first\n")
                continue
            results[name] = compared(model, settings, rounds, arguments.updates)
            if not arguments.json:
                sys.stdout.write(f"{name}: {results[name]}\n")
                sys.stdout.flush()
    conclude("language", results, keep=only is None)


def versions() -> dict[str, str]:
    """Ours, the peer's, and what both stand on."""
    peers = {name: metadata.version(name) for name in ("trl", "transformers", "torch")}
    return {"steadyrl": steadyrl.__version__, **peers}


def compared(model: Path, settings: list[object], rounds: int, updates: int) -> dict[str, Any]:
    """Rounds of both sides in turn."""
    sides: dict[str, list[dict[str, Any]]] = {"ours": [], "trl": []}
    for _ in range(rounds):
        for side, found in sides.items():
            script = HERE / f"{side}_language.py"
            found.append(
                run_json(
                    sys.executable,
                    script,
                    model,
                    "--updates",
                    updates,
                    *settings,
                    environment=THREADS,
                )
            )
    seconds = {
        side: [statistics.median(round_["seconds"][1:]) for round_ in found]
        for side, found in sides.items()
    }
    ratios = [b / a for a, b in zip(seconds["ours"], seconds["trl"], strict=True)]
    return {
        "seconds": {side: round(statistics.median(found), 3) for side, found in seconds.items()},
        "tokens_per_completion": {
            side: round(statistics.mean(t for round_ in found for t in round_["tokens"]), 2)
            for side, found in sides.items()
        },
        "peak_gb": {
            side: round(max(round_["peak_bytes"] for round_ in found) / 1e9, 2)
            for side, found in sides.items()
        },
        "ratio": round(statistics.median(ratios), 3),
        "ratio_range": [round(min(ratios), 3), round(max(ratios), 3)],
    }


def tiny(folder: Path) -> Path:
    """The model of the preset language/tiny, untrained."""
    from steadyrl.environments.language.models import save_model, tiny_model
    from steadyrl.environments.language.policy import LanguagePolicy
    from steadyrl.environments.language.tokenizer import character_tokenizer

    tokenizer = character_tokenizer("0123456789+=")
    save_model(LanguagePolicy(tiny_model(tokenizer)), tokenizer, folder / "tiny")
    return folder / "tiny"


def smollm2() -> Path | None:
    """Where it was fetched to, if it was."""
    from steadyrl.core.errors import ConfigError
    from steadyrl.environments.language.fetch import SMOLLM2, model_folder

    try:
        return model_folder(SMOLLM2)
    except ConfigError:
        return None


if __name__ == "__main__":
    main()
