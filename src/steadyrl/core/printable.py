"""Text of somebody else's for a terminal: what it says, and nothing that the terminal would do."""

from __future__ import annotations

import re

# Controls but for tab and line end, those that turn the direction of writing, and halves of
# characters (a file's name need not be text).
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_HALVES = re.compile("[\ud800-\udfff]")


def printable(text: str) -> str:
    """The text without commands to the terminal; what cannot be written is a question mark."""
    return _HALVES.sub("?", _COMMANDS.sub("", text))
