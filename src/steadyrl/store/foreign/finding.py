"""Which runs there are under a path: ours, and those of other programs."""

from __future__ import annotations

from pathlib import Path

from steadyrl.core.errors import RunNotFound
from steadyrl.core.registry import ALGORITHMS
from steadyrl.store.foreign.event_folder import event_files
from steadyrl.store.foreign.tables import EVALUATIONS

# What a run's folder may hold, most complete first. Monitor files are added to any of them.
TABLES = ("result.json", "progress.csv", "progress.json", "progress.txt", "trainer_state.json")


def find_runs(path: Path) -> list[Path]:
    """The runs under a path: itself, or every folder below it that holds one."""
    if path.is_file() or is_run(path):
        return [path]
    if not path.is_dir():
        raise RunNotFound(f"{path}: there is no such file or folder.")
    found = [folder for folder in sorted(path.rglob("*")) if folder.is_dir() and is_run(folder)]
    own = {folder for folder in found if is_own(folder)}
    # Our runs have a TensorBoard mirror inside, which is not another run.
    outer = [folder for folder in found if own.isdisjoint(folder.parents)]
    if not outer:
        raise RunNotFound(f"{path}: neither a run nor a folder of runs.")
    return _newest_checkpoints(outer)


def _newest_checkpoints(runs: list[Path]) -> list[Path]:
    """Of a trainer's checkpoint-N folders the last one alone: its state holds all before it."""
    newest: dict[Path, tuple[int, Path]] = {}
    others = []
    for run in runs:
        number = run.name.removeprefix("checkpoint-")
        if number != run.name and number.isdigit():
            newest[run.parent] = max(newest.get(run.parent, (-1, run)), (int(number), run))
        else:
            others.append(run)
    return sorted([*others, *(run for _, run in newest.values())])


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run of ours or of a program that is known here."""
    return is_own(folder) or bool(log_files(folder))


def is_own(folder: Path) -> bool:
    """Whether a folder holds a run of ours."""
    config = folder / "config.yaml"
    if not config.is_file():
        return False
    if any((folder / name).is_file() for name in ("steps.jsonl", "events.jsonl")):
        return True
    try:  # just begun, or somebody else's file of that name
        head = config.read_text("utf-8", errors="replace")[:4096]
    except OSError:
        return False
    return any(f"algorithm: {name}\n" in head for name in (*ALGORITHMS, "foreign"))


def log_files(path: Path) -> list[Path]:
    """What is read of a run: its tables, event files, monitors and evaluations."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        return []
    tables = [path / name for name in TABLES if (path / name).is_file()]
    episodes = sorted(file for file in path.glob("*monitor.csv") if file.is_file())
    evaluations = [path / EVALUATIONS] if (path / EVALUATIONS).is_file() else []
    return [*tables, *event_files(path), *episodes, *evaluations]


def stamp(file: Path) -> tuple[Path, int, int]:
    """What changes with a file: its size and when it was written."""
    try:
        status = file.stat()
    except OSError:
        return file, -1, -1
    return file, status.st_size, status.st_mtime_ns
