"""What the checks and the staging need to know of a Markdown text, without a Markdown library."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass

FENCE = re.compile(r"^( *)(```+|~~~+)(.*)$")
HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
SPAN = re.compile(r"(`+)(.+?)\1")


@dataclass(frozen=True)
class Line:
    """A line, and the language of the code block it stands in (None outside of one)."""

    number: int
    text: str
    block: str | None


def lines(text: str) -> Iterator[Line]:
    """Every line, fences left out."""
    block, mark = None, ""
    for number, line in enumerate(text.splitlines(), start=1):
        fence = FENCE.match(line)
        if fence and block is None:
            block, mark = fence[3].strip(), fence[2]
        elif fence and fence[2].startswith(mark) and not fence[3].strip():
            block = None
        else:
            yield Line(number, line, block)


def prose(text: str) -> Iterator[Line]:
    """The lines outside of code blocks."""
    return (line for line in lines(text) if line.block is None)


def links(text: str) -> Iterator[tuple[int, str]]:
    """Targets of links and images with their line, those in code left out."""
    for line in prose(text):
        for link in LINK.finditer(SPAN.sub(lambda span: "x" * len(span[0]), line.text)):
            yield line.number, link[3]


def spans(text: str) -> Iterator[tuple[int, str]]:
    """What stands between backticks, with its line."""
    for line in prose(text):
        for span in SPAN.finditer(line.text):
            yield line.number, span[2].strip()


def anchors(text: str) -> set[str]:
    """What a link may name after its #: the headings, as forges and the site spell them."""
    found: set[str] = set()
    for line in prose(text):
        if heading := HEADING.match(line.text):
            slug = slug_of(heading[2])
            again = sum(1 for name in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", name))
            found.add(f"{slug}-{again}" if again else slug)
    return found


def slug_of(heading: str) -> str:
    """A heading as an anchor."""
    plain = LINK.sub(lambda link: link[2], heading).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")


def commands(text: str, program: str = "steadyrl") -> Iterator[tuple[int, list[str]]]:
    """Calls of a program in shell blocks, as their arguments; comments and prompts left out."""
    kept = ""
    for line in lines(text):
        if line.block not in ("bash", "sh", "shell", "console"):
            kept = ""
            continue
        whole = kept + line.text
        if whole.endswith("\\"):
            kept = whole[:-1]
            continue
        kept = ""
        yield from ((line.number, words) for words in _calls(whole, program))


def _calls(line: str, program: str) -> Iterator[list[str]]:
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return
    for call in _split(words, ("|", "&&", ";")):
        if call and call[0] == "$":
            call = call[1:]
        if program in call[:1] or call[1:3] == ["-m", program]:
            arguments = call[call.index(program) + 1 :]
            yield arguments[: arguments.index(">")] if ">" in arguments else arguments


def _split(words: list[str], at: tuple[str, ...]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word in at:
            yield part
            part = []
        else:
            part.append(word)
    yield part


def rewritten(text: str, change: Callable[[str], str]) -> str:
    """The text with every line outside of code blocks and headings changed."""
    changed = {
        line.number: change(line.text)
        for line in prose(text)
        if not HEADING.match(line.text) and not line.text.startswith("    ")
    }
    whole = text.splitlines()
    return "\n".join(changed.get(n, line) for n, line in enumerate(whole, start=1)) + "\n"
