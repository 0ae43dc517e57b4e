"""Stage, check, build and check again: python -m website."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from website.checks import broken_links, lost_pages, navigation, requests
from website.measured import from_results
from website.staging import ROOT, hand_written, stage
from website.written import from_classes

SOURCE = ROOT / "build" / "site-source"
SITE = ROOT / "build" / "site"
CSS = ROOT / "website" / "extra.css"
TOLD = 20  # of what is wrong: the rest is mostly the same again


def main() -> int:
    """The site in build/site; 1 if anything is wrong with it."""
    for name, text in {**from_classes(), **from_results(ROOT)}.items():
        (ROOT / name).write_text(text, "utf-8")
    pages = stage(SOURCE)
    shutil.copy(CSS, SOURCE)
    repository = {page: (ROOT / page).read_text("utf-8") for page in hand_written()}
    wrong = [
        *broken_links(repository, _files_below(ROOT / "docs", ROOT)),
        *broken_links(pages, _files_below(SOURCE, SOURCE)),
        *lost_pages(pages, navigation(ROOT / "mkdocs.yml")),
    ]
    if wrong:
        return _refuse(wrong)
    shutil.rmtree(SITE, ignore_errors=True)
    zensical = Path(sys.executable).with_name("zensical")
    built = subprocess.run([zensical, "build", "--clean", "--strict"], cwd=ROOT, check=False)
    if built.returncode:
        return built.returncode
    if leaving := list(requests(SITE)):
        return _refuse(leaving)
    site = SITE.relative_to(ROOT)
    sys.stdout.write(f"{len(pages)} pages: {site}/index.html\n")
    sys.stdout.write(f"with search: python3 -m http.server --bind 127.0.0.1 -d {site}\n")
    return 0


def _files_below(folder: Path, root: Path) -> set[str]:
    return {file.relative_to(root).as_posix() for file in folder.rglob("*") if file.is_file()}


def _refuse(reasons: Sequence[str]) -> int:
    sys.stderr.writelines(f"{reason}\n" for reason in reasons[:TOLD])
    if len(reasons) > TOLD:
        sys.stderr.write(f"and {len(reasons) - TOLD} more\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
