"""A folder belongs to one experiment: going on with another would mix the two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from steadyrl.core.errors import ConfigError


@contextmanager
def claimed_folder(folder: Path, text: str, *, what: str) -> Iterator[None]:
    """Note what the folder is for, or refuse it if it is for something else.

    Given back if the experiment is refused before it has begun.
    """
    file = folder / "original.yaml"
    if file.exists() and file.read_text("utf-8") != text:
        raise ConfigError(f"{folder} holds the {what}. Choose another --output, or remove it.")
    from steadyrl.store.files import disk_errors, write_atomically

    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        write_atomically(file, text.encode())
    try:
        yield
    except ConfigError:
        if list(folder.iterdir()) == [file]:
            file.unlink()
            folder.rmdir()
        raise
