"""A rule's text: found by its id or name, with every section that it has."""

from __future__ import annotations

import pytest

from steadyrl.core.errors import ConfigError
from steadyrl.stability.causes import CAUSES
from steadyrl.stability.checks import CHECKS
from steadyrl.stability.detectors import DEFAULT, OPTIONAL
from steadyrl.stability.explain import (
    Rule,
    all_rules,
    explain,
    find_rule,
    headline,
    texts_of_rules,
)
from steadyrl.stability.probes import PROBES
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.rule_texts import page_of

KINDS = [
    ("check", CHECKS[0], CHECKS[0].concern),
    ("detector", DEFAULT[0], DEFAULT[0].symptom),
    ("detector", OPTIONAL[0], OPTIONAL[0].symptom),
    ("cause", CAUSES[0], CAUSES[0].explanation),
    ("remedy", REMEDIES["R301"], REMEDIES["R301"].effect),
    ("probe", PROBES[0], PROBES[0].question),
]


@pytest.mark.parametrize(("kind", "rule", "about"), KINDS)
def test_every_kind_of_rule_is_found_and_explained(kind: str, rule: Rule, about: str) -> None:
    assert find_rule(rule.id) is find_rule(rule.id.lower()) is find_rule(rule.name) is rule
    assert headline(rule) == about
    lines = explain(rule).splitlines()
    assert lines[:4] == [f"# {rule.id} {rule.name}", "", f"*{kind}*", ""]
    assert any(line.endswith(about) for line in lines)


def test_a_rule_that_is_not_there_is_refused_with_a_hint_if_one_is_close() -> None:
    with pytest.raises(ConfigError, match=r"'lower-learning-rat'\. Did you mean 'lower-learning-r"):
        find_rule("lower-learning-rat")
    with pytest.raises(ConfigError, match=r"no rule '!!!!'\. 'steadyrl rules' lists them all"):
        find_rule("!!!!")


def test_references_are_told_where_there_are_some() -> None:
    for rule in all_rules():
        references = getattr(rule, "references", ())
        told = f"**References.** {'; '.join(references)}"
        assert ("**References.**" in explain(rule)) is bool(references)
        assert not references or told in explain(rule)


def test_sections_without_a_text_are_left_out() -> None:
    for rule in all_rules():
        for line in explain(rule).splitlines():
            assert not line.endswith(".** ")


def test_rules_name_those_that_they_belong_to() -> None:
    cause = next(cause for cause in CAUSES if "R301" in cause.remedies)
    against = explain(REMEDIES["R301"]).split("**Against.**")[1]
    for other in CAUSES:
        assert (f"{other.id} {other.name}" in against) is ("R301" in other.remedies)
    assert "R301 lower-learning-rate" in explain(cause).split("**Remedies.**")[1]
    detector = next(rule for rule in DEFAULT if rule.id in cause.explains)
    told = explain(detector).split("**Explained by.**")[1]
    assert f"{cause.id} {cause.name}" in told
    others = [c for c in CAUSES if detector.id not in c.explains]
    assert others
    assert not any(f"{other.id} " in told for other in others)


def test_whether_a_rule_is_about_the_machine_is_told() -> None:
    for rule in DEFAULT:
        machine = "**Concerns.** the machine, not the training" in explain(rule)
        assert machine is (rule.concerns == "machine")


def test_whether_a_remedy_begins_anew_is_told() -> None:
    for remedy in REMEDIES.values():
        told = explain(remedy).split("**Begins anew.** ")[1]
        assert told.startswith("yes" if remedy.restart else "no\n")


def test_the_page_of_all_rules_has_each_of_them_once() -> None:
    page = page_of(texts_of_rules())
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings == ["# Rules", *(f"## {rule.id} {rule.name}" for rule in all_rules())]
    assert len(headings) > 100
