"""What a rescue tries: proposals of the diagnoses, a random fix and a placebo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from steadyrl.core.presets import load_config
from steadyrl.core.records import Diagnosis, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.experiments import candidates as module
from steadyrl.experiments.candidates import (
    PLACEBO,
    Candidate,
    asked_for,
    candidates_for,
    choose,
    helps,
)
from steadyrl.experiments.trials import Outcome
from steadyrl.judging import Judged
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.window import Window
from steadyrl.verdict import Verdict
from tests.rules.traces import trace

DDPG = load_config("ddpg/pendulum", {"learning_rate": 0.5, "seed": 7})
CLONE = load_config("bc/single-trajectory", {"learning_rate": 0.5})


def _window() -> Window:
    window = Window(6000)
    for step in trace():
        window.append(step)
    return window


WINDOW = _window()


def judged_with(config: RunConfig, *remedies: Sequence[str]) -> Judged:
    """A run with one diagnosis for each list of remedies."""
    diagnoses = [
        Diagnosis(
            cause=f"C{number}",
            name="some-cause",
            confidence=0.9,
            onset=1,
            explains=("D005",),
            evidence_for=("it was seen",),
            evidence_against=(),
            would_decide="",
            remedies=tuple(names),
        )
        for number, names in enumerate(remedies)
    ]
    verdict = Verdict("run", 60, [], diagnoses, [], {}, "finished")
    return Judged(verdict, WINDOW, config, {})


def proposing(config: RunConfig, *, restart: bool) -> list[str]:
    """Remedies that would change this config, each in another way."""
    changes: list[Any] = []
    names = []
    for name, remedy in sorted(REMEDIES.items()):
        proposed = remedy.proposal(config, WINDOW)
        if proposed and remedy.restarts(config, proposed) is restart and proposed not in changes:
            changes.append(proposed)
            names.append(name)
    return names


def identities(candidates: Sequence[Candidate], origin: str) -> list[str]:
    return [c.name.split()[0] for c in candidates if c.origin.startswith(origin)]


@pytest.mark.parametrize(("config", "most"), [(DDPG, 3), (CLONE, 9)], ids=["ddpg", "clone"])
def test_only_so_many_proposals_are_tried_the_most_likely_causes_first(
    config: RunConfig, most: int
) -> None:
    names = [*proposing(config, restart=True), *proposing(config, restart=False)]
    assert names
    tried = candidates_for(judged_with(config, names[:1], names[1:]))
    assert identities(tried, "C") == names[:most]
    assert [c.origin for c in tried[:2]] == ["C0 some-cause", "C1 some-cause"]


def test_a_proposal_is_tried_once_whoever_makes_it() -> None:
    (name, *_) = proposing(DDPG, restart=False)
    tried = candidates_for(judged_with(DDPG, [name], [name]))
    assert identities(tried, "C") == [name]
    assert len({str(candidate.changes) for candidate in tried}) == len(tried)


def test_a_remedy_without_a_proposal_is_not_tried() -> None:
    silent = [n for n, r in REMEDIES.items() if not r.proposal(DDPG, WINDOW)]
    assert identities(candidates_for(judged_with(DDPG, silent)), "C") == []


def test_there_is_always_one_random_fix_and_one_placebo() -> None:
    tried = candidates_for(judged_with(DDPG))
    assert [candidate.origin for candidate in tried] == ["random fix", "placebo"]
    assert tried[0].changes == REMEDIES[tried[0].name.split()[0]].proposal(DDPG, WINDOW)
    assert tried == candidates_for(judged_with(DDPG))
    assert (tried[1].name, tried[1].changes) == (PLACEBO, {"seed": 907})


def test_the_random_fix_is_none_that_a_cause_proposed() -> None:
    chance = candidates_for(judged_with(DDPG))[0]
    identity = chance.name.split()[0]
    tried = candidates_for(judged_with(DDPG, [identity]))
    assert identities(tried, "C") == [identity]
    (other,) = identities(tried, "random fix")
    assert other != identity


def test_the_random_fix_changes_what_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    config = DDPG.replaced({"compute.threads": 2})
    monkeypatch.setattr(module, "REMEDIES", {n: REMEDIES[n] for n in ("R301", "R320", "R375")})
    window = Window(6000)
    window.append(Step(1, 1, 0.0, {"machine.writing_share": 0.5}))
    for seed in range(8):
        judged = replace(judged_with(config.replaced({"seed": seed})), window=window)
        assert identities(candidates_for(judged), "random fix") == ["R301"]


def test_the_placebo_begins_where_the_proposals_begin() -> None:
    anew, on = proposing(DDPG, restart=True), proposing(DDPG, restart=False)

    def restarts(config: RunConfig, *names: str) -> bool:
        return candidates_for(judged_with(config, names))[-1].restart

    assert restarts(DDPG, anew[0])
    assert not restarts(DDPG, on[0])
    assert not restarts(DDPG, anew[0], on[0])
    assert restarts(CLONE, *proposing(CLONE, restart=False))


def test_a_proposal_begins_anew_if_its_remedy_does() -> None:
    for restart in (True, False):
        (name, *_) = proposing(DDPG, restart=restart)
        assert candidates_for(judged_with(DDPG, [name]))[0].restart is restart


def test_a_change_of_the_users_own_begins_anew_and_is_not_diagnosed() -> None:
    own = asked_for({"batch_size": 32, "tau": 0.01})
    assert (own.name, own.origin, own.restart) == ("batch_size=32, tau=0.01", "asked for", True)
    assert not own.diagnosed
    assert Candidate("x", "C204 y", {}, restart=False).diagnosed


def _outcome(name: str, value: float) -> Outcome:
    return Outcome(name, Path(name), "finished", (), value, 50.0, 100)


def test_what_helps_is_better_than_the_control_and_than_the_placebo() -> None:
    fix, control = Candidate("a", "C204 x", {"tau": 0.1}, restart=False), _outcome("c", -100.0)

    def helped(value: float, placebo: float | None) -> bool:
        outcomes = {"a": _outcome("a", value)}
        if placebo is not None:
            outcomes[PLACEBO] = _outcome(PLACEBO, placebo)
        return helps(fix, DDPG, outcomes, control)

    assert helped(-50.0, -98.0)
    assert helped(-50.0, None)
    assert not helped(-50.0, -50.0)
    assert not helped(-98.0, -500.0)


def test_a_placebo_is_compared_with_the_control_and_never_chosen() -> None:
    placebo, control = Candidate(PLACEBO, "placebo", {"seed": 1}, False), _outcome("c", -100.0)
    outcomes = {PLACEBO: _outcome(PLACEBO, -10.0)}
    assert helps(placebo, DDPG, outcomes, control)
    assert choose([placebo], DDPG, outcomes, control) is None
