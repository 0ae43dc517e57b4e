"""Pages of results and rules, as the dashboard shows them."""

from __future__ import annotations

import re

from steadyrl.core.errors import SteadyError, StoreError
from steadyrl.core.ordinary import read_json
from steadyrl.dashboard.folder import Found
from steadyrl.stability.explain import KINDS, find_rule, headline, sections
from steadyrl.views.pages import Page, rules, text
from steadyrl.views.results import result_page


def page_of(one: Found) -> Page:
    """A rescue, a ladder, a comparison, a study or a fault bench."""
    if one.kind == "run" or one.kind == "foreign":
        raise StoreError(f"{one.name} is a run, not a result.")
    return result_page(one.path, one.kind)


def result_said(one: Found) -> dict[str, str]:
    """What a row says of a result, from its file alone: its runs are not opened."""
    try:
        if one.kind == "faults":
            return {"told": result_page(one.path, one.kind).told[0]}
        story = read_json(one.path / f"{one.kind}.json")
        return {"told": str(story.get("message") or story.get("because") or "")}
    except (SteadyError, OSError, ValueError, AttributeError) as error:
        return {"told": f"cannot be read: {error}"}


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
        told=[first],
        command=f"steadyrl explain {rule.id}",
        command_does="the same in a terminal",
        blocks=blocks,
    )
