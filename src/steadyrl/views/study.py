"""A study's page: the claim, the rule declared beforehand, the verdict and its table."""

from __future__ import annotations

from pathlib import Path

from steadyrl.store.results import StudyStory, read_result
from steadyrl.views.pages import Page, chart, charts, items, sentences, table, text

TONES = {"confirmed": "good", "refuted": "bad", "depends on": "doubtful"}
DECLARED = {
    "question": "The question",
    "setup": "What is run",
    "rule": "The rule, declared beforehand",
}


def study_page(place: Path) -> Page:
    """From what was declared beforehand (claim, question, setup, rule) and what was found."""
    found: StudyStory = read_result(place, "study")
    measured = (
        f"Measured {found['date']} with {found['seeds']} seeds, {found['machine']}, "
        f"commit {found['commit']}."
    )
    curves = found.get("curves", ())
    declared = found.get("declared", {})
    about = {name: said.replace("`", "") for name, said in declared.items()}  # of Markdown
    first = (
        f"Claim: {about['claim']}" if "claim" in about else f"Asked with {found['seeds']} seeds."
    )
    return Page(
        kind="study",
        title=f"Study {found['study']}",
        tone=TONES.get(found["verdict"], "unknown"),
        headline=found["verdict"],
        told=[first, *sentences(found["because"])],
        blocks=[
            *([charts("Curves", [chart(**c) for c in curves])] if curves else []),
            table("What was found", found["head"], found["rows"]),
            *([items("Notes", found["notes"])] if found["notes"] else []),
            *(text(about[part], title=title) for part, title in DECLARED.items() if part in about),
            text(measured, title="Measured"),
        ],
    )
