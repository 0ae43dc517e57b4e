"""A study's page: the claim, the rule declared beforehand, the verdict and its table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steadyrl.viewer.frame import write_page
from steadyrl.views.pages import Page, items, table, text

TONES = {"confirmed": "good", "refuted": "bad", "depends on": "doubtful"}


def write_study(about: Mapping[str, str], found: Mapping[str, Any], output: Path) -> Path:
    """From what was declared (`claim`, `question`, `setup`, `rule`) and the stored result."""
    measured = (
        f"Measured {found['date']} with {found['seeds']} seeds, {found['machine']}, "
        f"commit {found['commit']}."
    )
    page = Page(
        kind="study",
        title=f"Study {found['study']}",
        tone=TONES.get(found["verdict"], "unknown"),
        headline=found["verdict"],
        told=[f"Claim: {about['claim']}", found["because"]],
        blocks=[
            table("What was found", found["head"], found["rows"]),
            *([items("Notes", found["notes"])] if found["notes"] else []),
            text(f"Question: {about['question']}", f"What is run: {about['setup']}"),
            text(f"Rule, declared beforehand: {about['rule']}", measured),
        ],
    )
    return write_page(output, page)
