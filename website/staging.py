"""The hand-written pages as the site has them: moved, their links with them, names linked."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from posixpath import dirname, join, normpath, relpath

from website.generated import generated_pages
from website.markdown import LINK, rewritten
from website.names import linked
from website.reference import reference_pages

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {  # pages that do not lie in docs/, and where the site has them
    "README.md": "index.md",
    "README.zh.md": "zh.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
}
REPLACED = {"docs/rules.md": "rules/index.md"}  # whole in the repository, a page per rule here
PICTURES = (".png", ".svg")


def hand_written(root: Path = ROOT) -> dict[str, str]:
    """Every Markdown page of the repository by its path, and its place on the site."""
    places = {page: place for page, place in OUTSIDE.items() if (root / page).is_file()}
    for file in sorted((root / "docs").rglob("*.md")):
        page = file.relative_to(root).as_posix()
        place = page.removeprefix("docs/")
        places[page] = REPLACED.get(page) or place.replace("README.md", "index.md")
    return places


def staged_pages(root: Path = ROOT) -> dict[str, str]:
    """The text of every page of the site by its place."""
    places = hand_written(root)
    made = {**generated_pages(), **reference_pages()}
    for page, place in places.items():
        if page not in REPLACED:
            text = (root / page).read_text("utf-8")
            made[place] = _moved(text, page, place, _targets(places, root))
    return {place: linked(text, place) for place, text in made.items()}


def stage(folder: Path, root: Path = ROOT) -> dict[str, str]:
    """Write the site's source into a folder, from scratch."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = staged_pages(root)
    for place, text in pages.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, "utf-8")
    for picture in _pictures(root):
        copy = folder / picture.relative_to(root / "docs")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, copy)
    return pages


def _targets(places: Mapping[str, str], root: Path) -> dict[str, str]:
    pictures = (file.relative_to(root).as_posix() for file in _pictures(root))
    return {**places, **{picture: picture.removeprefix("docs/") for picture in pictures}}


def _pictures(root: Path) -> list[Path]:
    return [file for file in sorted((root / "docs").rglob("*")) if file.suffix in PICTURES]


def _moved(text: str, page: str, place: str, targets: Mapping[str, str]) -> str:
    """The text with its links as they must be where the page is moved to."""

    def link(found: str) -> str:
        path, hash_, anchor = found.partition("#")
        if "://" in found or not path:
            return found
        target = targets.get(normpath(join(dirname(page), path)))
        if target is None:
            return found  # the checks tell of it
        return relpath(target, dirname(place) or ".") + hash_ + anchor

    def change(line: str) -> str:
        return LINK.sub(lambda m: f"{m[1]}[{m[2]}]({link(m[3])})", line)

    return rewritten(text, change)
