"""From findings to causes: who is named, in which order, and who is a mere consequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from steadyrl.core.presets import parse_config
from steadyrl.core.records import Diagnosis, Finding
from steadyrl.stability import diagnose
from steadyrl.stability.diagnose import deciding, explain_findings, rivals, undecided
from steadyrl.stability.rules import Case, Cause, Weight
from steadyrl.stability.window import Window

Accuse = Callable[..., list[Diagnosis]]


def cause(identity: str, confidence: float, *explains: str, **changes: Any) -> Cause:
    settings: dict[str, Any] = {
        "explanation": "text",
        "evidence_for": "text",
        "evidence_against": "text",
        "would_decide": f"A look at {identity}.",
        "remedies": ("R301",),
        "weigh": lambda case: Weight(confidence, (f"for {identity}",), (f"against {identity}",)),
    }
    return Cause(id=identity, name=identity.lower(), explains=explains, **{**settings, **changes})


def finding(rule: str, step: int = 10, **evidence: float) -> Finding:
    named = {name.replace("__", "."): value for name, value in evidence.items()}
    return Finding(
        rule=rule, name=rule, severity="warning", step=step, taken=step,
        message="", evidence=named,
    )  # fmt: skip


def case_of(*findings: Finding | str, **config: Any) -> Case:
    found = [finding(f) if isinstance(f, str) else f for f in findings]
    known = parse_config({"algorithm": "foreign", **config}) if config else None
    return Case(findings=found, window=Window(), config=known)


@pytest.fixture
def accuse(monkeypatch: pytest.MonkeyPatch) -> Accuse:
    """Diagnoses of a case by these causes alone."""

    def run(case: Case, *causes: Cause) -> list[Diagnosis]:
        monkeypatch.setattr(diagnose, "CAUSES", causes)
        return explain_findings(case)

    return run


def named(diagnoses: list[Diagnosis]) -> list[str]:
    return [diagnosis.cause for diagnosis in diagnoses]


def test_the_most_confident_cause_comes_first(accuse: Accuse) -> None:
    causes = cause("C1", 0.5, "D1"), cause("C2", 0.7, "D1"), cause("C3", 0.6, "D1")
    assert named(accuse(case_of("D1"), *causes)) == ["C2", "C3", "C1"]


def test_only_causes_that_explain_a_finding_are_considered(accuse: Accuse) -> None:
    causes = cause("C1", 0.5, "D1", "D2"), cause("C2", 0.9, "D3")
    (found,) = accuse(case_of("D1"), *causes)
    assert (found.cause, found.explains) == ("C1", ("D1",))
    assert accuse(case_of(), *causes) == []


def test_only_causes_of_the_algorithm_are_considered(accuse: Accuse) -> None:
    clipped = cause("C1", 0.5, "D1", traits=("clipped",))
    causes = clipped, cause("C2", 0.6, "D1", traits=("cloning",))
    assert named(accuse(case_of("D1", family="ppo"), *causes)) == ["C1"]


def test_nobody_is_accused_without_evidence_or_enough_confidence(accuse: Accuse) -> None:
    silent = cause("C1", 0.9, "D1", weigh=lambda case: Weight(0.9))
    assert accuse(case_of("D1"), silent, cause("C2", 0.19, "D1")) == []
    assert named(accuse(case_of("D1"), cause("C2", 0.2, "D1"))) == ["C2"]


def test_the_machine_never_comes_before_the_training(accuse: Accuse) -> None:
    machine = cause("C1", 0.9, "D1", concerns="machine")
    assert named(accuse(case_of("D1", "D2"), machine, cause("C2", 0.3, "D2"))) == ["C2", "C1"]


def test_what_a_far_more_confident_cause_explains_needs_no_other(accuse: Accuse) -> None:
    strong = cause("C1", 0.8, "D1", "D2")
    assert named(accuse(case_of("D1", "D2"), strong, cause("C2", 0.4, "D2"))) == ["C1"]


def test_a_close_second_is_named_though_it_explains_nothing_more(accuse: Accuse) -> None:
    strong = cause("C1", 0.8, "D1", "D2")
    assert named(accuse(case_of("D1", "D2"), strong, cause("C2", 0.6, "D2"))) == ["C1", "C2"]


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_beside_a_nearly_certain_cause_there_is_no_close_second(
    accuse: Accuse, confidence: float
) -> None:
    certain = cause("C1", confidence, "D1", "D2")
    assert named(accuse(case_of("D1", "D2"), certain, cause("C2", 0.85, "D2"))) == ["C1"]


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_a_weak_cause_is_named_for_what_nothing_else_explains(
    accuse: Accuse, confidence: float
) -> None:
    found = accuse(case_of("D1", "D2"), cause("C1", confidence, "D1"), cause("C2", 0.3, "D2"))
    assert [(d.cause, d.explains) for d in found] == [("C1", ("D1",)), ("C2", ("D2",))]


def test_what_two_causes_explain_together_needs_no_third(accuse: Accuse) -> None:
    causes = cause("C1", 0.8, "D1"), cause("C2", 0.6, "D2"), cause("C3", 0.3, "D1", "D2")
    assert named(accuse(case_of("D1", "D2"), *causes)) == ["C1", "C2"]


def test_a_removed_consequence_does_not_end_the_search(accuse: Accuse) -> None:
    causes = cause("C1", 0.8, "D1"), cause("C2", 0.4, "D1"), cause("C3", 0.3, "D2")
    assert named(accuse(case_of("D1", "D2"), *causes)) == ["C1", "C3"]


def test_a_diagnosis_says_since_when_and_on_what_grounds(accuse: Accuse) -> None:
    case = case_of(finding("D9", 1), finding("D2", 30), finding("D1", 20))
    (found,) = accuse(case, cause("C1", 1.5, "D1", "D2"))
    assert found.onset == 20
    assert found.weight == 0.99  # nothing is certain
    assert found.explains == ("D1", "D2")
    assert (found.evidence_for, found.evidence_against) == (("for C1",), ("against C1",))
    assert (found.would_decide, found.remedies) == ("A look at C1.", ("R301",))


def test_a_confidence_is_told_in_hundredths(
    accuse: Accuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnose, "frequency", lambda weight: weight)
    (found,) = accuse(case_of(finding("D1", policy__kl=1.0)), cause("C1", 0.4567, "D1"))
    assert found.confidence == 0.46


def test_a_cause_that_rests_on_a_weak_signal_is_trusted_as_far_as_the_weakest(
    accuse: Accuse,
) -> None:
    weaker = {
        "policy.kl": {"because": "last epoch", "trust": 0.5},
        "policy.entropy": {"because": "estimated", "trust": 0.8},
        "value.loss": {"because": "not asked", "trust": 0.1},
    }
    seen = finding("D1", policy__kl=1.0, policy__entropy=1.0), finding("D2", value__loss=1.0)
    case = case_of(*seen, family="ppo", weaker=weaker)
    found = {d.cause: d for d in accuse(case, cause("C1", 0.8, "D1"), cause("C2", 0.7, "D2"))}
    assert found.keys() == {"C1"}  # 0.07 is nothing
    assert found["C1"].weight == 0.4
    assert found["C1"].evidence_against == (
        "against C1",
        "policy.kl says less here: last epoch",
        "policy.entropy says less here: estimated",
    )


def test_what_would_decide_is_asked_once_and_of_possible_causes_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    same = {"would_decide": "A longer run."}
    causes = (
        cause("C1", 0.1, "D1", **same),
        cause("C2", 0.1, "D1", **same),
        cause("C3", 0.1, "D1"),
        cause("C4", 0.1, "D9"),
        cause("C5", 0.1, "D1", would_decide=f"{diagnose.DECIDED} by its finding."),
        cause("C6", 0.1, "D1", would_decide=""),
        cause("C7", 0.1, "D1", traits=("cloning",)),
    )
    monkeypatch.setattr(diagnose, "CAUSES", causes)
    assert undecided(case_of("D1", family="ppo")) == ["A longer run.", "A look at C3."]


def test_a_confidence_is_the_frequency_of_its_weight(
    accuse: Accuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnose, "frequency", lambda weight: weight / 2)
    (found,) = accuse(case_of("D1"), cause("C1", 0.8, "D1"))
    assert (found.weight, found.confidence) == (0.8, 0.4)


def test_ranks_and_consequences_go_by_weight_whatever_the_frequency(
    accuse: Accuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnose, "frequency", lambda _weight: 0.5)
    causes = cause("C1", 0.6, "D1"), cause("C2", 0.95, "D1")
    assert named(accuse(case_of("D1"), *causes)) == ["C2"]


def test_causes_that_cannot_be_told_apart_are_named_with_what_would_decide(accuse: Accuse) -> None:
    near = cause("C1", 0.5, "D1"), cause("C2", 0.55, "D1"), cause("C3", 0.3, "D1")
    found = accuse(case_of("D1"), *near)
    assert named(rivals(found)) == ["C2", "C1"]
    assert deciding(found) == (
        "C2 and C1 cannot be told apart by this record; this would decide: A look at C2. "
        "A look at C1."
    )


def test_nothing_is_open_where_one_cause_stands_out_or_they_explain_different_things(
    accuse: Accuse,
) -> None:
    assert deciding([]) == ""
    assert deciding(accuse(case_of("D1"), cause("C1", 0.5, "D1"))) == ""
    apart = cause("C1", 0.5, "D1"), cause("C2", 0.7, "D1")
    assert deciding(accuse(case_of("D1"), *apart)) == ""
    other = cause("C1", 0.5, "D1"), cause("C2", 0.5, "D2")
    assert deciding(accuse(case_of("D1", "D2"), *other)) == ""


@pytest.mark.parametrize(("rate", "told"), [(3e-4, ("R301", "R320")), (1e-6, ("R320",))])
def test_a_remedy_that_has_nothing_to_change_in_this_run_is_not_named(
    accuse: Accuse, rate: float, told: tuple[str, ...]
) -> None:
    settings = {"learning_rate": rate, "environment": {"id": "Pendulum-v1"}}
    config = parse_config({"algorithm": "ddpg", **settings})
    case = Case(findings=[finding("D001")], window=Window(), config=config)
    found = accuse(case, cause("C901", 0.8, "D001", remedies=("R301", "R320")))  # one is advice
    assert found[0].remedies == told
