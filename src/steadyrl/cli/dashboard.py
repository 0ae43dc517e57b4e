"""`steadyrl dashboard`: a folder of runs in the browser, as it grows."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from steadyrl.core.errors import ConfigError

EPILOG = """\
Shows every run below FOLDER, ours and those of other programs, worst first; a run's page follows it
while it is written. It only reads, and it answers this machine alone: from elsewhere use a tunnel,
  ssh -L 8700:127.0.0.1:8700 HOST
With --host it answers others too, and asks for the token that is part of the address it prints.

What was read is kept in ~/.cache/steadyrl/runs.sqlite (XDG_CACHE_HOME is heeded), 2 GB at most; it
may be deleted at any time.

examples:
  steadyrl dashboard
  steadyrl dashboard logs --port 8701
"""


def main(parser: argparse.ArgumentParser, argv: list[str]) -> int:
    """Serve until Ctrl-C."""
    parser.add_argument("folder", nargs="?", type=Path, default=Path("runs"), metavar="FOLDER")
    parser.add_argument("--port", type=int, default=8700, help="0: any that is free")
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="NAME", help="this machine's, for others to ask"
    )
    arguments = parser.parse_args(argv)
    if not arguments.folder.is_dir():
        raise ConfigError(f"{arguments.folder}: there is no such folder. Name one that has runs.")
    if not 0 <= arguments.port <= 65535:
        raise ConfigError(f"--port {arguments.port}: use 0 to 65535.")
    from steadyrl.dashboard.serving import serve

    return serve(
        arguments.folder, arguments.port, arguments.host, say=lambda line: _say(f"{line}\n")
    )


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
