"""Pages of results and rules, as the dashboard shows them."""

from __future__ import annotations

from steadyrl.core.errors import StoreError
from steadyrl.dashboard.folder import Found
from steadyrl.report.compare import comparison_page
from steadyrl.report.ladder import ladder_page
from steadyrl.report.rescue import rescue_page
from steadyrl.stability.explain import explain, find_rule, headline
from steadyrl.views.pages import Page, text

PAGES = {"rescue": rescue_page, "ladder": ladder_page, "compare": comparison_page}


def result_page(one: Found) -> Page:
    """A rescue, a ladder or a comparison."""
    if one.kind not in PAGES:
        raise StoreError(f"{one.name} is a run, not a result.")
    return PAGES[one.kind](one.path)


def rule_page(identity: str) -> Page:
    """What a rule looks for and why."""
    rule = find_rule(identity)
    paragraphs = [part for part in explain(rule).split("\n\n") if part.strip()]
    return Page(
        kind="rule", title=f"{rule.id} {rule.name}", blocks=[text(headline(rule), *paragraphs[1:])]
    )
