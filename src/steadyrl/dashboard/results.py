"""Pages of results and rules, as the dashboard shows them."""

from __future__ import annotations

import json
import re

from steadyrl.core.errors import SteadyError, StoreError
from steadyrl.dashboard.folder import Found
from steadyrl.report.compare import comparison_page
from steadyrl.report.fault_bench import fault_bench_page
from steadyrl.report.ladder import ladder_page
from steadyrl.report.rescue import rescue_page
from steadyrl.report.study import study_page
from steadyrl.stability.explain import KINDS, find_rule, headline, sections
from steadyrl.views.pages import Page, rules, text

PAGES = {
    "rescue": rescue_page,
    "ladder": ladder_page,
    "compare": comparison_page,
    "study": study_page,
    "faults": fault_bench_page,
}


def result_page(one: Found) -> Page:
    """A rescue, a ladder, a comparison, a study or a fault bench."""
    if one.kind not in PAGES:
        raise StoreError(f"{one.name} is a run, not a result.")
    try:
        return PAGES[one.kind](one.path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        said = f"{type(error).__name__}: {error}"
        raise StoreError(f"{one.name}: {one.kind}.json is not whole ({said}).") from None


def result_said(one: Found) -> dict[str, str]:
    """What a row says of a result, from its file alone: its runs are not opened."""
    try:
        story = json.loads((one.path / f"{one.kind}.json").read_text("utf-8"))
        said = str(story.get("message") or story.get("because") or "")
        if one.kind == "faults":
            said = fault_bench_page(one.path).told[0]
    except (SteadyError, OSError, ValueError, AttributeError) as error:
        return {"told": f"cannot be read: {error}"}
    return {"told": said}


RULES = re.compile(r"([A-Z]\d{3}) ([a-z0-9-]+)(?:, |$)")


def rule_page(identity: str) -> Page:
    """What a rule looks for and why; other rules that it names lead to their pages."""
    rule = find_rule(identity)
    first = headline(rule)
    blocks = []
    for title, content in sections(rule):
        named = RULES.findall(content)
        if named and RULES.sub("", content) == "":
            blocks.append(rules(title, named))
        elif content != first:
            blocks.append(text(content, title=title))
    return Page(
        kind="rule",
        title=f"{rule.id} {rule.name.replace('-', ' ')}",
        headline=KINDS[type(rule)],
        tone="unknown",
        told=[first],
        command=f"steadyrl explain {rule.id}",
        command_does="the same in a terminal",
        blocks=blocks,
    )
