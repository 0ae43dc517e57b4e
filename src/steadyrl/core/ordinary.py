"""Files that are read, whoever left them there: ordinary ones only, and of archives a bounded part.

A pipe waits for ever and a device never ends; an archive may say that it holds little.
"""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:  # what reads no archive begins sooner without it
    import zipfile

PACKINGS = (0, 8)  # zipfile's numbers of stored and deflated; the others unpack without any bound


def open_ordinary(path: Path) -> BinaryIO:
    """The file, opened to be read; an OSError if it is a pipe, a device or a folder."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no ordinary file", str(path))
    return path.open("rb")


def read_ordinary(path: Path) -> bytes:
    """All that is in it."""
    with open_ordinary(path) as file:
        return file.read()


def read_json(path: Path) -> Any:
    """What a file of JSON holds; a ValueError if it is none, or nested deeper than Python goes."""
    try:
        return json.loads(read_ordinary(path))
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def unpacked(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """A part of an archive; a ValueError if it is packed strangely, or larger than it may be.

    To read it as a whole would unpack all of it before its size is compared with what was said.
    """
    about = archive.getinfo(name)
    if about.compress_type not in PACKINGS:
        raise ValueError(f"{name} is packed in an unusual way")
    with archive.open(about) as part:
        content = part.read(min(most, about.file_size) + 1)
    if len(content) > most:
        raise ValueError(f"{name} is larger than {most:,} bytes")
    return content
