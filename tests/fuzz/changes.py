"""How files are damaged: bytes, lengths that lie, parts lost, doubled or taken from another."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache

LIES = (
    bytes(8),
    b"\xff" * 4,
    b"\xff" * 8,
    b"\0\0\0\x80",
    b"\xff\xff\xff\x7f",
    b"\x01\0\0\0\0\0\0\0",
)
WORDS = (
    *("nan", "inf", "-inf", "NaN", "Infinity", "null", "true", "~", "-0", "1e999", "1e-999", "-1"),
    *("0", "9" * 30, "1_000", "0x1f", "0o17", "1:99:99", "2020-13-45", "=", "<<", "!!", "!!int"),
    *("!!python/object/apply:os.system", "&a", "*a", "? ", "- ", "{", "}", "[", "]", ":", ",", "#"),
    *('"', "'", "\\", "|", ">", "%", "@", "`", "\t", "\r", "\n", "\n\n", "\0", "\ufeff", "\u2028"),
    *("%2e%2e/", "..", "/", "?", "&", "%00", "%ff", "é", "\U0001f600", "a" * 300, "[" * 3000),
)


def damaged(seeds: Sequence[bytes], chance: random.Random, *, text: bool) -> bytes:
    """One of the files with one to eight changes."""
    content = bytearray(chance.choice(seeds))
    for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
        _change(content, seeds, chance, text=text)
    return bytes(content)


def _change(
    content: bytearray, seeds: Sequence[bytes], chance: random.Random, *, text: bool
) -> None:
    place = chance.randrange(len(content) + 1)
    length = min(chance.choice([1, 1, 4, 16, 64, 1024]), len(content) - place)
    match chance.randrange(8):
        case 0:
            content[place : place + 1] = bytes([chance.randrange(256)])
        case 1:
            del content[place : place + length]
        case 2:
            content[place:place] = content[place : place + length] * chance.choice([1, 2, 30])
        case 3:
            other = chance.choice(seeds)
            start = chance.randrange(len(other) + 1)
            content[place : place + length] = other[start : start + chance.choice([4, 40, 400])]
        case 4 if not text:
            lie = chance.choice(LIES)
            content[place : place + len(lie)] = lie
        case 5 if not text:
            content[place:place] = chance.choice(LIES)
        case 6:
            del content[place:]
        case _:
            word = chance.choice(WORDS).encode()
            content[place : place + chance.choice([0, 0, len(word), length])] = word


def swapped_values(content: bytes, chance: random.Random) -> bytes:
    """Text in which a few values, between separators, are other words: it stays well-formed."""
    whole, places = _parts_of(content)
    parts = list(whole)
    for _ in range(chance.choice([1, 1, 2, 5])):
        if places:
            parts[chance.choice(places)] = chance.choice(WORDS).encode()
    return b"".join(parts)


@cache
def _parts_of(content: bytes) -> tuple[list[bytes], list[int]]:
    """A whole file's parts, and where among them the values are; there are few whole files."""
    parts = _PARTS.findall(content)
    return parts, [i for i, part in enumerate(parts) if part.strip() and part not in _SIGNS]


_SIGNS = b'{}[],:"\n'
_PARTS = re.compile(rb'[{}\[\],:"\n]|[^{}\[\],:"\n]+')
