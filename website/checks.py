"""What must hold of the pages: links and anchors lead somewhere, and every page can be found."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

import yaml

from website.markdown import anchors, links

REQUEST = re.compile(
    r"<(?:script|link|img|iframe|source|audio|video|object|embed)\b[^>]*?"
    r"(?:src|href|srcset|data)=[\"']?(?:https?:)?//[^\s\"'>]+"
    r"|@import[^;]*//|url\([\"']?(?:https?:)?//",
    re.IGNORECASE,
)
NAMED_ONLY = ('rel="canonical"', 'rel="license"')  # named, never asked for


def broken_links(pages: Mapping[str, str], files: set[str]) -> Iterator[str]:
    """Links between pages (by path) that lead nowhere; `files` are there besides."""
    there = {page: anchors(text) for page, text in pages.items()}
    for page, text in pages.items():
        for line, target in links(text):
            if "://" in target or target.startswith("mailto:"):
                continue
            path, _, anchor = target.partition("#")
            goal = normpath(join(dirname(page), path)) if path else page
            if goal not in there and goal not in files:
                yield f"{page}:{line}: {target} does not exist"
            elif anchor and anchor not in there.get(goal, set()):
                yield f"{page}:{line}: {goal} has no heading '#{anchor}'"


def lost_pages(pages: Mapping[str, str], navigation: set[str]) -> Iterator[str]:
    """Pages that nobody finds, and entries of the navigation without a page.

    A page stands in the navigation, or the index of its folder links to it.
    """
    for page in sorted(navigation - set(pages)):
        yield f"mkdocs.yml: the navigation names {page}, which does not exist"
    listed = {
        normpath(join(dirname(index), goal))
        for index in navigation & set(pages)
        if index.endswith("/index.md")
        for _, goal in links(pages[index])
        if not goal.startswith("../")
    }
    for page in sorted(set(pages) - navigation - listed):
        yield f"{page}: neither in the navigation of mkdocs.yml nor in its folder's index"


def navigation(settings: Path) -> set[str]:
    """Every page that the navigation of mkdocs.yml names."""
    return set(_pages_of(yaml.safe_load(settings.read_text("utf-8"))["nav"]))


def _pages_of(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for part in entry.values() if isinstance(entry, dict) else entry:
            yield from _pages_of(part)


def requests(site: Path) -> Iterator[str]:
    """What the built pages and styles would fetch from elsewhere."""
    for file in sorted(site.rglob("*")):
        if file.suffix not in (".html", ".css"):
            continue
        for found in REQUEST.finditer(file.read_text("utf-8")):
            if not any(word in found[0] for word in NAMED_ONLY):
                yield f"{file.relative_to(site)}: {found[0][:120]}"
