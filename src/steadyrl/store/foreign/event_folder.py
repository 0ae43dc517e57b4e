"""A folder's event files as one log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steadyrl.store.foreign.event_files import EventFile
from steadyrl.store.foreign.series import Series


@dataclass
class EventFolder:
    """All event files of one folder, as one sequence: a restarted run writes a new file."""

    path: Path
    files: dict[Path, EventFile] = field(default_factory=dict)

    def read(self) -> dict[str, Series]:
        """The scalars recorded since the last call, by tag."""
        pieces: dict[str, list[Series]] = defaultdict(list)
        for path in event_files(self.path):
            file = self.files.setdefault(path, EventFile(path))
            for tag, series in file.read().items():
                pieces[tag].append(series)
        return {tag: Series.joined(parts) for tag, parts in pieces.items()}

    @property
    def replaced(self) -> bool:
        """Whether a file is not the one any more that was read."""
        return any(file.replaced for file in self.files.values())

    def problems(self) -> list[str]:
        """What was not intact, in words."""
        return [text for file in self.files.values() for text in _problems(file)]


def event_files(folder: Path) -> Sequence[Path]:
    """The event files of a folder, oldest first (their names begin with the time)."""
    return sorted(path for path in folder.glob("*tfevents*") if path.is_file())


def _problems(file: EventFile) -> list[str]:
    damage, name = file.damage, file.path.name
    texts = []
    if damage.records:
        texts.append(f"{name}: {damage.records} damaged records were skipped.")
    if damage.frames:
        texts.append(
            f"{name}: damaged in {damage.frames} places; {damage.skipped_bytes:,} bytes were "
            "skipped to the next intact record."
        )
    if damage.unfinished_bytes:
        texts.append(
            f"{name}: ends in the middle of a record ({damage.unfinished_bytes} bytes): cut off, "
            "or still being written."
        )
    return texts
