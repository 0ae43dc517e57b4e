"""Causes weigh their evidence."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from steadyrl.core.presets import parse_config
from steadyrl.core.records import Evidence, Finding, Step
from steadyrl.stability.causes import CAUSES
from steadyrl.stability.rules import Case, Weight
from steadyrl.stability.window import Window
from tests.rules.evidence import WEIGHED as WEIGHED_BEFORE
from tests.rules.evidence import Weighed
from tests.rules.language_evidence import WEIGHED as WEIGHED_OF_LANGUAGE
from tests.rules.replay import WEIGHED as WEIGHED_OF_REPLAY

WEIGHED = [*WEIGHED_BEFORE, *WEIGHED_OF_LANGUAGE, *WEIGHED_OF_REPLAY]
BY_ID = {cause.id: cause for cause in CAUSES}


def weigh(item: Weighed, found: str) -> Weight:
    window = Window()
    for at in range(max([len(v) for v in item.signals.values() if isinstance(v, list)] + [1])):
        window.append(
            Step(at + 1, at, 0.0, {
                name: value[min(at, len(value) - 1)] if isinstance(value, Sequence) else value
                for name, value in item.signals.items()
            })
        )  # fmt: skip
    findings = [
        Finding(
            rule=rule, name=rule, severity="warning", step=1, taken=1, message=f"saw {rule}",
            evidence=item.evidence,
        )
        for rule in found.split()
    ]  # fmt: skip
    config = parse_config(
        {"algorithm": "language", **item.settings}
        if item.ours
        else {"algorithm": "foreign", "known": dict(item.settings)}
    )
    probes = {name: Evidence(name, "", values) for name, values in item.probes.items()}
    case = Case(findings=findings, window=window, config=config, probes=probes)
    return BY_ID[item.cause].weigh(case)


@pytest.mark.parametrize("item", WEIGHED, ids=lambda item: f"{item.cause} {item.found}")
def test_evidence_is_worth_what_it_is_worth(item: Weighed) -> None:
    weight = weigh(item, item.found)
    assert weight.confidence == pytest.approx(item.confidence)
    assert len(weight.evidence_for) == item.reasons
    assert len(weight.evidence_against) == item.against


def test_every_cause_is_weighed() -> None:
    assert {item.cause for item in WEIGHED} == BY_ID.keys()


# A setting far from what is usual speaks for these where nobody measured what it does.
BY_SETTINGS = {"C201", "C202", "C204", "C216", "C217", "C241", "C242", "C243", "C244", "C245"}
ALONE = BY_SETTINGS | {"C246", "C249", "C250", "C251", "C254"}


@pytest.mark.parametrize("cause", sorted(BY_ID.keys() - ALONE - {"C206", "C207", "C255"}))
def test_without_its_finding_nothing_speaks_for_a_cause(cause: str) -> None:
    best = max((i for i in WEIGHED if i.cause == cause), key=lambda item: item.confidence)
    assert weigh(best, "D999") == Weight(0.0)
