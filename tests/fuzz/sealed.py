"""Damage behind a right checksum: what a crash does not do, and somebody who means harm does."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.fuzz.changes import damaged, swapped_values
from tests.unit.test_event_files import frame

_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def sealed_zip(parts: Mapping[str, bytes], chance: random.Random) -> bytes:
    """An archive of these, one of them damaged before it was packed."""
    struck = chance.choice(list(parts))
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", chance.choice(_PACKINGS)) as archive:
        for name, part in parts.items():
            content = damaged([part], chance, text=False) if name == struck else part
            archive.writestr(name, content)
    return held.getvalue()


def sealed_events(records: Sequence[bytes], whole: Sequence[bytes], chance: random.Random) -> bytes:
    """An event file of these, of which a few records were damaged before they were framed.

    `whole` are their frames, for framing is slow.
    """
    frames = list(whole)
    for _ in range(chance.choice([1, 1, 2, 4])):
        place = chance.randrange(len(records))
        frames[place] = frame(damaged(records, chance, text=False)[:4096])
    return b"".join(frames)


def sealed_checkpoint(folder: Path, chance: random.Random) -> dict[str, bytes]:
    """A checkpoint's two files, one of them damaged, with the checksums that belong to that."""
    arrays = (folder / "arrays.safetensors").read_bytes()
    _, _, text = (folder / "state.json").read_bytes().partition(b"\n")
    if chance.random() < 0.5:
        arrays = _damaged_arrays(arrays, chance)
        body = json.loads(text)
        body["arrays"] = {"arrays.safetensors": hashlib.sha256(arrays).hexdigest()}
        text = json.dumps(body).encode() + b"\n"
    elif chance.random() < 0.5:
        text = swapped_values(text, chance)
    else:
        text = damaged([text], chance, text=True)
    # As the reader sees it: text, without the last line's end.
    seen = text.decode("utf-8", "replace").removesuffix("\n")
    digest = hashlib.sha256(seen.encode()).hexdigest().encode()
    return {"arrays.safetensors": arrays, "state.json": digest + b"\n" + text}


def _damaged_arrays(content: bytes, chance: random.Random) -> bytes:
    """Anything, or what the header says, with its right length."""
    if chance.random() < 0.3:
        return damaged([content], chance, text=False)
    length = int.from_bytes(content[:8], "little")
    header, rest = content[8 : 8 + length], content[8 + length :]
    change = swapped_values(header, chance)
    header = change if chance.random() < 0.5 else damaged([header], chance, text=True)
    return len(header).to_bytes(8, "little") + header + rest
