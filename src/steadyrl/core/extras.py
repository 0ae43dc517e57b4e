"""Which extra brings a package that is not there, for errors that say what to install."""

from __future__ import annotations

from steadyrl.core.errors import ConfigError

EXTRAS = {
    "torch": "train",
    "gymnasium": "train",
    "safetensors": "train",
    "scipy": "train",
    "ale_py": "atari",
    "transformers": "language",
    "tokenizers": "language",
    "accelerate": "language",
    "gguf": "language",
    "peft": "lora",
    "math_verify": "math",
    "h5py": "demos",
    "minari": "demos",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "onnxscript": "onnx",
    "imageio_ffmpeg": "video",
    "PIL": "video",
    "pygame": "video",
    "ray": "ray",
    "stable_baselines3": "sb3",
    "trl": "trl",
    "tensorboard": "tensorboard",
    "wandb": "wandb",
}


def missing(
    error: ModuleNotFoundError, doing: str, within: str | None = None
) -> ConfigError | None:
    """The sentence about a package that an extra of ours brings; None if it is another.

    `within`: the extra of a part that needs more than this package, so that nobody is sent twice.
    """
    package = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(package) and (within or EXTRAS[package])
    if extra is None:
        return None
    return ConfigError(
        f"{doing} needs {package}, which is not installed: pip install 'steadyrl[{extra}]'."
    )
