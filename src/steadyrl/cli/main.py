"""Entry point: finds the command, runs it, and turns known errors into one sentence."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from steadyrl import __version__
from steadyrl.core.errors import LeaderFailed, OutOfMemory, OutputLost, SteadyError
from steadyrl.core.extras import missing
from steadyrl.core.printable import printable
from steadyrl.core.streams import lasting_streams, to_nowhere

# name -> (module, what it does); the order is the order of a user's day
COMMANDS = {
    "check": ("check", "what can be said of a config before any training"),
    "train": ("train", "train a config, or continue a run exactly"),
    "diagnose": ("diagnose", "what went wrong in recorded runs, and why"),
    "checklist": ("checklist", "is a run as healthy as it should be at its age"),
    "rescue": ("rescue", "find the cause, try the remedies, prove the fix on fresh seeds"),
    "ladder": ("ladder", "which batch sizes hold up: climb by gates, hold, step back"),
    "compare": ("compare", "several configs on the same seeds: curves, intervals, steadiness"),
    "study": ("study", "one of the field notes' claims, put to the test"),
    "noise": ("noise", "gradient variance and noise scale: what batch size the data wants"),
    "demos": ("demos", "demonstrations: what they are like, and does the clone reproduce them"),
    "language": ("language", "language models: fetch one, ask a trained one, export it"),
    "evaluate": ("evaluate", "how good a trained policy is, on many fresh episodes"),
    "play": ("play", "a trained policy at work, on the screen or as a film"),
    "export": ("export", "a trained policy as ONNX, TorchScript, safetensors or a model folder"),
    "replay": ("replay", "go through a failed run's last moments again, update by update"),
    "rules": ("rules", "everything that is looked for, and what is done about it"),
    "explain": ("explain", "one rule: symptom, evidence, remedy"),
    "bench": ("bench", "how well faults are caught, named and told from health"),
    "report": ("report", "a self-contained HTML page of one or more runs"),
    "dashboard": ("dashboard", "a folder of runs in the browser, live, worst first"),
    "milestones": ("milestones", "first score, average 10, 50, 100: runs of one task side by side"),
    "presets": ("presets", "list the presets, or print one"),
    "schema": ("schema", "JSON schema of an algorithm's config, for editors"),
    "signals": ("signals", "what each recorded number means"),
    "verify-resume": (
        "verify_resume",
        "prove that a killed and resumed run equals an unbroken one",
    ),
}

EPILOG = """\
examples:
  steadyrl train ddpg/pendulum --seed 1
  steadyrl train my.yaml --batch-size 512 --environment.count 4
  steadyrl train --resume runs/ddpg-pendulum-v1-seed1
  steadyrl report runs/ddpg-pendulum-v1-seed1

'steadyrl COMMAND --help' explains a command.
exit codes: 0 fine, 1 a check failed, 2 bad input, 130 interrupted
"""

INTERRUPTED = 130
NO_ROOM = re.compile("failed to map segment|cannot allocate memory", re.IGNORECASE)  # a library

# Looking through all installed packages for plugins of pydantic takes longer than most commands.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

READING = ("diagnose", "checklist", "report", "dashboard", "milestones")  # runs, with NumPy
POOL = "OPENBLAS_NUM_THREADS"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the process's exit code."""
    with lasting_streams():
        outcome: int | SystemExit = 0
        try:
            outcome = _outcome(argv)
            sys.stdout.flush()  # a reader that has gone away shows here, not when Python ends
        except OutputLost as error:
            _complain(str(error))
            outcome = outcome if isinstance(outcome, int) and outcome else error.exit_code
        except BrokenPipeError:
            _left_alone()
        if isinstance(outcome, SystemExit):
            raise outcome
        return outcome


def _outcome(argv: Sequence[str] | None) -> int | SystemExit:
    """The exit code, or how argparse leaves."""
    try:
        return _main(argv)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # rich's way of saying so
            raise BrokenPipeError from None
        return error


def _main(argv: Sequence[str] | None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["help"] and len(arguments) > 1:
        arguments = [*arguments[1:], "--help"]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        return _say(_help())
    if arguments[0] in ("-V", "--version"):
        return _say(f"steadyrl {__version__}\n")
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        close = difflib.get_close_matches(name.lower(), COMMANDS, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else f" Use one of: {', '.join(COMMANDS)}."
        _complain(f"'{name}' is not a command.{hint}")
        return 2
    return _run(name, rest)


def _run(name: str, rest: list[str]) -> int:
    """One command; known errors become a sentence and an exit code."""
    module, summary = COMMANDS[name]
    try:
        command = importlib.import_module(f"steadyrl.cli.{module}")
        parser = argparse.ArgumentParser(
            prog=f"steadyrl {name}",
            description=summary[0].upper() + summary[1:] + ".",
            epilog=command.EPILOG,
            formatter_class=_Help,
            allow_abbrev=False,
        )
        with _plain_warnings(), _without_pool(name):
            return int(command.main(parser, rest))
    except LeaderFailed as error:
        return error.exit_code
    except SteadyError as error:
        _complain(str(error))
        sys.stderr.writelines(f"{printable(note)}\n" for note in getattr(error, "__notes__", ()))
        return error.exit_code
    except (ImportError, MemoryError) as error:
        told = _without(error, name)
        if told is None:
            raise
        _complain(str(told))
        return told.exit_code
    except KeyboardInterrupt:
        _complain("interrupted.")
        return INTERRUPTED


def _without(error: ImportError | MemoryError, name: str) -> SteadyError | None:
    """What is missing, an extra or memory, as an error of ours; None if it is something else."""
    if isinstance(error, ModuleNotFoundError):
        return missing(error, f"'steadyrl {name}'", "language" if name == "language" else None)
    if isinstance(error, ImportError) and not NO_ROOM.search(str(error)):
        return None
    said = f" ({error})" if str(error) else ""
    return OutOfMemory(
        f"not enough memory{said}. Raise the limit (ulimit -v) or end other programs."
    )


def _left_alone() -> None:
    """The reader (head, less) has seen enough; stdout must not be flushed again at exit."""
    to_nowhere(sys.stdout.fileno())


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings about environments in one line: our source lines are no help to who trains."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if category.__name__ == "ContractWarning":
                sys.stderr.write(f"warning: {printable(str(message))}\n")
            else:
                usual(message, category, *rest, **more)

        warnings.showwarning = show
        yield


@contextmanager
def _without_pool(name: str) -> Iterator[None]:
    """Who only reads multiplies no large matrices, and need not wait for NumPy's threads for it."""
    waits = name in READING and POOL not in os.environ
    if waits:
        os.environ[POOL] = "1"
    try:
        yield
    finally:
        if waits:
            del os.environ[POOL]


class _Help(argparse.RawDescriptionHelpFormatter):
    """Texts as they are written, and the default of every flag that has one."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        told = "default" in (action.help or "")
        if told or not action.option_strings or action.default in (None, False, [], 0):
            return action.help
        if action.default is argparse.SUPPRESS:
            return action.help
        return f"{action.help} (default: %(default)s)"


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name.ljust(width)}  {summary}" for name, (_, summary) in COMMANDS.items()]
    title = "steadyrl: RL training that stays up, and says why when it does not"
    return "\n".join([title, "", "commands:", *lines, "", EPILOG])


def _say(text: str) -> int:
    sys.stdout.write(text)
    return 0


def _complain(message: str) -> None:
    sys.stderr.write(f"error: {printable(message)}\n")


if __name__ == "__main__":
    sys.exit(main())
