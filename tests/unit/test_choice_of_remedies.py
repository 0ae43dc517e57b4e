"""Which remedy is chosen, and how a prescription words it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from steadyrl.core.presets import parse_config
from steadyrl.core.records import Diagnosis, Step
from steadyrl.core.run_config import RunConfig
from steadyrl.stability import guard, prescribe
from steadyrl.stability.guard import choose_action
from steadyrl.stability.prescribe import prescriptions
from steadyrl.stability.rules import Remedy, Safety
from steadyrl.stability.window import Window
from steadyrl.store.foreign.mapping import built_in

CONFIG = parse_config(
    {"algorithm": "ddpg", "environment": {"id": "X-v0"}, "tau": 0.5, "batch_size": 64}
)


def remedy(identity: str, safety: Safety, changes: Mapping[str, Any] | None) -> Remedy:
    return Remedy(
        id=identity, name="r", effect="text", safety=safety, propose=lambda config, window: changes
    )


def diagnosis(identity: str, *remedies: str) -> Diagnosis:
    return Diagnosis(
        cause=identity, name="cause", confidence=0.75, onset=1, explains=(), evidence_for=(),
        evidence_against=(), would_decide="", remedies=remedies,
    )  # fmt: skip


REMEDIES = {
    known.id: known
    for known in (
        remedy("R1", "automatic", {"tau": 0.1}),
        remedy("R2", "automatic", {"tau": 0.2}),
        remedy("R3", "automatic", None),
        remedy("R4", "on_request", {"tau": 0.4}),
        remedy("R9", "automatic", {"reward_scale": 0.1}),  # only where a run forks
        remedy("R10", "automatic", {"hidden_sizes": (8,)}),  # only at the start
        replace(remedy("R11", "automatic", {"tau": 0.3}), restart=True),
        remedy("R5", "advice", {"tau": 0.7, "batch_size": 64, "environment.id": "Y-v0"}),
        remedy("R6", "advice", {"tau": 0.5}),
        remedy("R7", "advice", {"gradient_clip": 2.0}),
        Remedy(
            id="R8",
            name="r",
            effect="text",
            safety="advice",
            propose=lambda config, window: {"learning_rate": config.value_of("learning_rate") / 2},
        ),
    )
}


@pytest.fixture(autouse=True)
def _known_remedies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "REMEDIES", REMEDIES)
    monkeypatch.setattr(prescribe, "REMEDIES", REMEDIES)


@pytest.mark.parametrize(
    ("remedies", "tried", "chosen"),
    [
        ([("R1", "R2")], set(), "R1"),
        ([("R1", "R2")], {"R1"}, "R2"),
        ([("R1",)], {"R1"}, None),
        ([("R4",)], set(), None),  # nobody asked for it
        ([("R4", "R2")], set(), "R2"),
        ([("R3", "R2")], set(), "R2"),  # the first has nothing to change here
        ([("R1",), ("R2",)], {"R1"}, "R2"),
        ([(), ("R2",)], set(), "R2"),
        ([], set(), None),
    ],
)
def test_the_first_untried_automatic_remedy_of_the_likeliest_cause_is_chosen(
    remedies: list[tuple[str, ...]], tried: set[str], chosen: str | None
) -> None:
    diagnoses = [diagnosis(f"C{n}", *names) for n, names in enumerate(remedies)]
    action = choose_action(diagnoses, CONFIG, Window(), tried)
    assert (action.remedy if action else None) == chosen


@pytest.mark.parametrize(
    ("remedies", "severe", "anew", "chosen"),
    [
        (("R9", "R2"), True, False, "R2"),  # what was learned would be lost
        (("R11", "R2"), True, False, "R2"),
        (("R9", "R2"), True, True, "R9"),
        (("R11", "R2"), True, True, "R11"),
        (("R10", "R2"), True, True, "R2"),  # another network is another run
        (("R2",), False, True, None),  # nothing severe: training goes on as it is
        (("R2", "R9"), False, True, "R9"),  # unless beginning anew costs nothing
        (("R2", "R9"), False, False, None),
    ],
)
def test_a_remedy_that_begins_anew_is_chosen_only_where_that_is_allowed(
    remedies: tuple[str, ...], severe: bool, anew: bool, chosen: str | None
) -> None:
    found = [diagnosis("C1", *remedies)]
    action = choose_action(found, CONFIG, Window(), set(), severe=severe, anew=anew)
    assert (action.remedy if action else None) == chosen
    assert action is None or action.anew == (chosen != "R2")


def test_an_unlikely_cause_is_no_reason_to_begin_anew_unless_something_severe_happened() -> None:
    unlikely = [replace(diagnosis("C1", "R9"), confidence=0.74)]
    assert choose_action(unlikely, CONFIG, Window(), set(), severe=False, anew=True) is None
    assert choose_action(unlikely, CONFIG, Window(), set(), severe=True, anew=True) is not None


def test_what_the_machine_lacks_no_remedy_is_chosen_for() -> None:
    machine = replace(diagnosis("C1", "R1"), concerns="machine")
    assert choose_action([machine], CONFIG, Window(), set()) is None
    action = choose_action([machine, diagnosis("C2", "R2")], CONFIG, Window(), set())
    assert action is not None
    assert action.remedy == "R2"


def test_an_action_says_what_it_changes_and_against_what() -> None:
    action = choose_action([diagnosis("C9", "R2")], CONFIG, Window(), set())
    assert action is not None
    assert action.changes == {"tau": 0.2}
    assert action.reason == "R2 against C9 cause (0.75)"


def prescribed(*remedies: str, config: RunConfig = CONFIG, **known: Any) -> dict[str, str]:
    return prescriptions([diagnosis("C1", *remedies)], config, Window(), **known)


def test_a_prescription_says_from_what_to_what() -> None:
    assert prescribed("R2", "R4") == {"R2": "tau 0.5 -> 0.2", "R4": "tau 0.5 -> 0.4"}


def test_what_stays_as_it_is_is_not_prescribed() -> None:
    assert prescribed("R6", "R3") == {}
    assert prescribed("R5") == {"R5": "tau 0.5 -> 0.7, environment.id X-v0 -> Y-v0"}


def test_a_setting_that_was_off_may_be_switched_on() -> None:
    assert prescribed("R7", config=CONFIG.replaced({"gradient_clip": None})) == {
        "R7": "gradient_clip None -> 2"
    }


def test_a_prescription_speaks_the_names_of_the_program_that_trained() -> None:
    assert prescribed("R2", names={"tau": "polyak"}) == {"R2": "polyak 0.5 -> 0.2"}


def test_of_another_programs_run_only_known_settings_are_prescribed() -> None:
    theirs = parse_config({"algorithm": "foreign", "family": "ddpg", "known": {"tau": 0.25}})
    assert prescribed("R5", config=theirs) == {"R5": "tau 0.25 -> 0.7"}
    unknown = parse_config({"algorithm": "foreign", "family": "unknown"})
    assert prescribed("R5", "R8", config=unknown) == {}


@pytest.mark.parametrize(
    ("known", "said"),
    [({}, "0.125 -> 0.0625"), ({"learning_rate": 0.5}, "0.5 -> 0.25")],
)
def test_a_setting_that_the_log_tells_is_known_but_what_was_given_counts_more(
    known: dict[str, Any], said: str
) -> None:
    window = Window()
    window.append(Step(1, 1, 0.0, {"setting.learning_rate": 0.125}))
    theirs = parse_config({"algorithm": "foreign", "family": "ddpg", "known": known})
    found = prescriptions([diagnosis("C1", "R8")], theirs, window)
    assert found == {"R8": f"learning_rate {said}"}


def test_what_another_program_has_no_setting_for_is_said_in_words() -> None:
    theirs = parse_config(
        {"algorithm": "foreign", "family": "ddpg", "source": "Theirs", "known": {"tau": 0.25}}
    )
    said = prescribed("R2", config=theirs, names={"tau": "wrap it in Slowly()"})
    assert said == {"R2": "wrap it in Slowly() (our tau = 0.2)"}
    assert prescribed("R2", config=theirs, names={"gamma": "gamma"}) == {
        "R2": "tau = 0.2, for which Theirs has no setting"
    }


def test_rewards_are_normalised_in_stable_baselines_own_words() -> None:
    words = built_in()["sb3"].settings
    assert "VecNormalize(norm_obs=False, norm_reward=True)" in words["normalize_rewards"]
