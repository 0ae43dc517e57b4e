from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import steadyrl.stability
from steadyrl.core.presets import load_config, parse_config
from steadyrl.core.records import SEVERITIES, Finding, Step
from steadyrl.core.registry import ALGORITHMS, config_class
from steadyrl.core.run_config import RunConfig
from steadyrl.core.signals import CATALOGUE
from steadyrl.core.traits import Trait
from steadyrl.stability.causes import CAUSES
from steadyrl.stability.check import check_config
from steadyrl.stability.checks import CHECKS
from steadyrl.stability.detectors import DEFAULT, OPTIONAL
from steadyrl.stability.diagnose import undecided
from steadyrl.stability.explain import all_rules, explain, find_rule
from steadyrl.stability.monitor import Monitor
from steadyrl.stability.probes import ask_all
from steadyrl.stability.remedies import REMEDIES
from steadyrl.stability.rules import Case, Cause, Check, Detector, Remedy
from steadyrl.stability.window import Window
from tests.rules.traces import (
    CUT_SHORT,
    ENVIRONMENTS,
    TOTAL_ENV_STEPS,
    TRACES,
    Trace,
    Value,
    after,
    trace,
    trace_of,
)

DETECTORS = (*DEFAULT, *OPTIONAL)


def _monitor(*detectors: Detector, algorithm: str = "ddpg") -> Monitor:
    if detectors:
        algorithm = algorithm_with(detectors[0].traits)
    return Monitor(config_of(algorithm), detectors=detectors or DEFAULT)


def algorithm_with(traits: tuple[Trait, ...]) -> str:
    """The first that has all these traits: one of ours, or of those that only others train."""
    families = ("ddpg", "ppo", "trpo", "bc", "grpo")
    return next(name for name in families if (config_of(name).traits or set()) >= set(traits))


def config_of(algorithm: str, settings: Mapping[str, Any] | None = None) -> RunConfig:
    """Of one of our trainers, or of a family that only others train."""
    if algorithm in ALGORITHMS:
        kind = config_class(algorithm)
        values: dict[str, Any] = {"algorithm": algorithm, kind.unit.setting: TOTAL_ENV_STEPS}
        if "environment" in kind.model_fields:
            values["environment"] = {"id": "X-v0"}
        return parse_config(values, overrides=settings)
    values = {"total_env_steps": TOTAL_ENV_STEPS, "known": dict(settings or {})}
    return parse_config({**values, "algorithm": "foreign", "family": algorithm})


def _findings(rule: Detector, steps: Trace) -> list[str]:
    return [finding.rule for finding in _seen(rule, steps)]


def _seen(rule: Detector, steps: Trace) -> list[Finding]:
    """What a rule says of Steps, and of the record that they are in the end."""
    monitor = _monitor(rule)
    monitor.window.environment = ENVIRONMENTS.get(rule.id, "")
    for step in steps:
        monitor.observe(step)
    monitor.look_back()
    return monitor.findings


def test_every_detector_has_a_firing_and_a_quiet_trace() -> None:
    assert {rule.id for rule in DETECTORS} == TRACES.keys()


@pytest.mark.parametrize("rule", DETECTORS, ids=lambda rule: f"{rule.id}-{rule.name}")
def test_a_detector_fires_on_its_trace_once_per_severity(rule: Detector) -> None:
    found = _seen(rule, TRACES[rule.id][0])
    assert {finding.rule for finding in found} == {rule.id}
    severities = [SEVERITIES.index(finding.severity) for finding in found]
    assert severities == sorted(set(severities))
    assert found[-1].severity == rule.severity


@pytest.mark.parametrize("rule", DETECTORS, ids=lambda rule: f"{rule.id}-{rule.name}")
def test_a_detector_stays_quiet_on_the_near_miss(rule: Detector) -> None:
    assert _findings(rule, TRACES[rule.id][1]) == []


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nothing_fires_on_a_healthy_trace(algorithm: str) -> None:
    monitor = _monitor(algorithm=algorithm)
    assert [finding for step in trace() for finding in monitor.observe(step)] == []
    monitor.look_back()
    assert (monitor.findings, monitor.diagnose()) == ([], [])


def test_every_rule_has_an_id_a_name_and_a_full_text() -> None:
    rules = list(all_rules())
    assert len({rule.id for rule in rules}) == len(rules)
    assert len({rule.name for rule in rules}) == len(rules)
    for rule in rules:
        assert re.fullmatch(r"[SDCRQE]\d{3}", rule.id)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
        for name, value in vars(rule).items():
            if isinstance(value, str):
                assert value, f"{rule.id} has no {name}"
        assert explain(rule).startswith(f"# {rule.id} {rule.name}")
        assert find_rule(rule.name) is find_rule(rule.id)


def test_rules_refer_only_to_what_exists() -> None:
    detectors = {rule.id for rule in DETECTORS}
    for rule in DETECTORS:
        assert {*rule.reads, *rule.any_of} <= CATALOGUE.keys()
    for cause in CAUSES:
        assert set(cause.explains) <= detectors
        assert cause.remedies
        assert set(cause.remedies) <= REMEDIES.keys()
    explained = {identity for cause in CAUSES for identity in cause.explains}
    assert {rule.id for rule in DEFAULT if rule.severity != "note"} <= explained


def test_one_rule_per_file_and_every_file_is_listed() -> None:
    folder = Path(steadyrl.stability.__file__).parent
    listed = {"detectors": DETECTORS, "causes": CAUSES, "checks": CHECKS}
    listed["remedies"] = tuple(REMEDIES.values())
    for kind, rules in listed.items():
        files = [file for file in (folder / kind).glob("*.py") if file.name != "__init__.py"]
        assert len(files) == len(rules), kind


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: f"{cause.id}-{cause.name}")
def test_every_cause_names_itself_on_its_own_evidence_and_not_on_health(cause: Cause) -> None:
    from tests.rules.cases import CASES

    settings, changes = CASES[cause.id]
    algorithm = settings.get("algorithm", "ddpg")
    others = {name: value for name, value in settings.items() if name != "algorithm"}
    monitor = Monitor(config_of(algorithm, others))
    for step in trace_of(changes):
        monitor.observe(step)
    if algorithm not in ALGORITHMS:
        monitor.look_back()
    assert monitor.diagnose()[0].cause == cause.id


@pytest.mark.parametrize(("pull", "share", "named"), [(0.7, 0.95, True), (0.7, 0.6, False)])
def test_a_usual_bonus_is_accused_where_it_outweighs_the_surrogate(
    pull: float, share: float, named: bool
) -> None:
    monitor = Monitor(config_of("trpo", {"entropy_weight": 0.05}))
    signals = {"trpo__entropy_pull": pull, "policy__entropy_share": share}
    for step in trace(**signals, setting__entropy_weight=0.05):
        monitor.observe(step)
    causes = [diagnosis.cause for diagnosis in monitor.diagnose()]
    assert ("C246" in causes) is named


def test_a_run_that_was_never_restarted_is_not_told_to_look_at_restarts() -> None:
    config = config_of("ppo", {})
    monitor = Monitor(config)
    for step in trace(eval__return_mean=lambda i: -100.0 + 5.0 * min(i, 15) if i < 40 else -95.0):
        monitor.observe(step)
    assert "D009" in {finding.rule for finding in monitor.findings}
    said = " ".join(
        undecided(Case(findings=monitor.findings, window=monitor.window, config=config))
    )
    assert said
    assert "loading" not in said


def test_a_bonus_that_has_decayed_is_not_accused() -> None:
    config = config_of("ppo", {"entropy_weight": 1.0, "entropy_decay": 0.9})
    monitor = Monitor(config)
    flat = {"eval__return_mean": -100.0, "policy__entropy_share": 0.999}
    for step in trace(**flat, setting__entropy_weight=lambda i: 0.9**i):
        monitor.observe(step)
    assert "C246" not in {diagnosis.cause for diagnosis in monitor.diagnose()}


@pytest.mark.parametrize("algorithm", ["ddpg", "ppo", "trpo"])
def test_any_trainer_that_slows_down_is_noticed(algorithm: str) -> None:
    loss = "critic.loss" if algorithm == "ddpg" else "value.loss"
    monitor = Monitor(config_of(algorithm, {}))
    found = set()
    for index in range(60):
        pace = 500.0 if index < 40 else 20.0
        signals = {"time.rate": pace, loss: 1.0}
        found |= {f.rule for f in monitor.observe(Step(index, 100 * index, 1.0, signals))}
    assert "D030" in found


def test_a_deviation_that_collapses_without_gain_is_severe() -> None:
    def findings(**changes: Any) -> set[str]:
        monitor = Monitor(config_of("ppo", {}))
        shrinking = lambda i: 0.8**i  # noqa: E731
        return {
            finding.rule
            for step in trace(policy__entropy_share=0.9, policy__std_min=shrinking, **changes)
            for finding in monitor.observe(step)
        }

    assert "D104" in findings(eval__return_mean=lambda i: -100.0 + (i % 3))
    assert "D104" not in findings()  # the healthy trace's return rises


ON_POLICY_REMEDIES: dict[str, dict[str, Any]] = {
    "R330": {"algorithm": "ppo", "epochs": 80},
    "R331": {"algorithm": "ppo", "clip_range": 5.0},
    "R332": {"algorithm": "ppo", "entropy_weight": 1.0, "entropy_floor": 0.5},
    "R333": {"algorithm": "trpo", "damping": 50.0},
    "R334": {"algorithm": "trpo", "max_kl": 2.0},
    "R338": {"algorithm": "trpo", "max_kl": 1e-6},
    "R339": {"algorithm": "ppo"},
    "R335": {"algorithm": "ppo", "value_weight": 0.0},
    "R337": {"algorithm": "ppo"},
    **{f"R34{number}": {"algorithm": "bc"} for number in range(10)},
    **{f"R36{number}": {"algorithm": "language"} for number in (1, 2, 6, 7)},
    **{f"R{number}": {"algorithm": "language"} for number in (370, 371, 372, 373, 374)},
    "R363": {"algorithm": "language", "prompts_per_update": 8},
    "R364": {"algorithm": "language", "gradient_clip": None},
    "R365": {"algorithm": "language", "temperature": 0.7, "top_p": 0.9},
    "R369": {"algorithm": "language", "kl": "loss", "kl_weight": 5.0},
    "R336": {"algorithm": "trpo", "cg_iterations": 2, "damping": 1e-6},
    **{
        f"R38{number}": {
            "algorithm": "ppo",
            "replay": {"enabled": True, "priority": "advantage", "reuse": 3},
        }
        for number in range(4)
    },
}


@pytest.mark.parametrize("remedy", REMEDIES.values(), ids=lambda remedy: remedy.name)
def test_a_remedys_proposal_is_a_valid_config_that_differs(remedy: Remedy) -> None:
    config = load_config(
        "ddpg/stage1",
        {
            "learning_rate": 0.05,
            "tau": 1.0,
            "noise_std": 3.0,
            "gamma": 0.5,
            "buffer_size": 2048,
            "updates_per_training": 20,
            "compute.threads": 2,
        },
    )
    if remedy.id in ON_POLICY_REMEDIES:
        settings = ON_POLICY_REMEDIES[remedy.id]
        where = {} if settings["algorithm"] == "language" else {"environment": {"id": "X-v0"}}
        config = parse_config({**where, **settings})
    window = Window(config.budget)
    large = {"td__target_std": 5000.0, "rollout__reward_abs_max": 2000.0}
    large["machine__writing_share"] = 0.5
    for step in trace(**large, critic__gradient_norm_max=1e6):
        window.append(step)
    if remedy.name == "raise-learning-rate":
        assert remedy.proposal(config, window) is None  # it is too high already
        config = config.replaced({"learning_rate": 1e-6})
    changes = remedy.proposal(config, window)
    if remedy.safety == "advice" and remedy.name != "free-the-machine":
        assert changes is None
        return
    assert changes
    assert config.differences(config.replaced(changes)).keys() == changes.keys()


BAD_SETTINGS: dict[str, dict[str, Any]] = {
    "S001": {"learning_starts": 3},
    "S002": {"buffer_size": 300},
    "S003": {"tau": 1.0},
    "S004": {"noise_std": 0.0},
    "S005": {"learning_rate": 0.5},
    "S006": {"batch_size": 1},
    "S007": {
        "environment.id": "steadyrl/ResidualControl-v0",
        "environment.settings": {"termination_penalty": 0.0},
    },
    "S008": {"gradient_clip": 1.0, "environment.settings": {"cost_scale": 2000.0}},
    "S009": {"gamma": 0.5},
    "S010": {"compute.threads": 64},
    "S011": {"updates_per_training": 20},
    "S012": {"evaluation.every": 15_000},
}
BAD_ON_POLICY: dict[str, tuple[str, dict[str, Any]]] = {
    "S013": ("ppo/cartpole", {"clip_range": 5.0}),
    "S014": ("ppo/cartpole", {"entropy_weight": 1.0}),
    "S015": ("ppo/cartpole", {"epochs": 100}),
    "S016": ("trpo/v1-cartpole", {"max_kl": 1e-6}),
    "S017": ("trpo/v1-cartpole", {"damping": 10.0}),
    "S020": (
        "language/tiny-grpo",
        {"prompts_per_update": 8, "minibatch_size": None, "micro_batch_size": None},
    ),
    "S021": ("language/tiny", {"top_p": 0.9}),
    "S022": ("language/tiny", {"kl_weight": 5.0}),
    "S023": ("language/tiny", {"gradient_clip": None}),
    "S024": ("language/tiny", {"problems.max_new_tokens": 3}),
    "S025": ("ppo/replay-standard", {"replay.reuse": 50}),
    "S026": ("ppo/replay-prioritised", {"replay.beta": 0.0, "replay.beta_growth": 0.0}),
    "S018": ("bc/five-trajectories", {"demonstrations.trajectories": 1}),
    "S019": ("bc/five-trajectories", {"demonstrations.trajectories": 1}),
}


@pytest.mark.parametrize("rule", CHECKS, ids=lambda rule: rule.name)
def test_a_check_objects_to_its_setting_and_not_to_the_preset(rule: Check) -> None:
    identity = rule.id
    preset, settings = BAD_ON_POLICY.get(identity) or ("ddpg/pendulum", BAD_SETTINGS[identity])
    bad = load_config(preset, settings)
    assert identity in [concern.rule for concern in check_config(bad)]
    assert identity not in [c.rule for c in check_config(load_config(preset))]


def test_a_finding_is_not_repeated_but_a_worse_one_is_reported() -> None:
    disk = next(rule for rule in DEFAULT if rule.id == "D033")
    monitor = _monitor(disk)
    steps = trace(machine__disk_free_gb=lambda i: 0.5 if i < 30 else 0.05)
    found = [finding for step in steps for finding in monitor.observe(step)]
    assert [(f.severity, f.step) for f in found] == [("warning", 1), ("severe", 31)]


def test_a_consequence_is_not_reported_as_a_cause_of_its_own() -> None:
    monitor = _monitor()
    for step in trace(td__terminal_error=3.0, q__bound_ratio=2.0, critic__loss=90.0):
        monitor.observe(step)
    assert {finding.rule for finding in monitor.findings} >= {"D018", "D005", "D006"}
    assert [diagnosis.cause for diagnosis in monitor.diagnose()] == ["C206"]


def test_a_policy_frozen_by_its_own_certainty_is_not_called_detached_from_its_optimiser() -> None:
    """CartPole at a rate of 0.1: the entropy is gone at once, and then the gradient is 1e-13."""
    monitor = Monitor(config_of("ppo", {"learning_rate": 0.1}))
    changes: dict[str, Value] = {
        "policy__entropy_share": after(2, 0.9, 1e-11),
        "policy__kl": after(3, 2.0, 0.0),
        "policy__update_ratio": after(12, 1e-3, 0.0),
        "policy__gradient_norm": 1e-13,
        "eval__return_mean": 9.3,
    }
    for step in trace_of(changes):
        monitor.observe(step)
    found = {finding.rule for finding in monitor.findings}
    assert "D002" in found
    assert monitor.diagnose()[0].cause == "C241"


def test_without_a_confident_cause_the_answer_is_unknown() -> None:
    monitor = Monitor(None)
    for step in trace(critic__gradient_norm_max=after_spike):
        monitor.observe(step)
    assert [finding.rule for finding in monitor.findings] == ["D004"]
    assert all(diagnosis.confidence < 0.5 for diagnosis in monitor.diagnose())


def after_spike(index: int) -> float:
    return 3000.0 if index == 50 else 30.0


@pytest.mark.parametrize(("loss", "told"), [(20_000.0, True), (12_000.0, False)])
def test_a_soft_actors_loss_stands_in_for_values_that_are_not_logged(
    loss: float, told: bool
) -> None:
    monitor = Monitor(config_of("sac"))
    signals = {"rollout.return_mean": -1300.0, "rollout.length_mean": 200.0}
    signals |= {"actor.loss": loss, "setting.entropy_weight": 1.0}
    for index in range(20):
        monitor.observe(Step(index + 1, 200 * index, 0.0, signals))
    monitor.look_back()
    assert ("D042" in {finding.rule for finding in monitor.findings}) is told


@pytest.mark.parametrize(
    ("look", "said"),
    [
        ({"batch.loss": 90.0, "batch.loss_one_step_ago": 1.0}, "the steps did it, not the data"),
        ({"batch.loss": 1.0, "batch.loss_one_step_ago": 1.1}, "was the same"),
        ({"ends.terminal_error": 2.0}, "treated wrongly"),
        ({"ends.terminal_error": 0.0, "ends.truncated_as_terminated": 0.0}, "treated rightly"),
        ({"batch.top_percent_share": 0.9}, "a few transitions drive the gradient"),
        ({"capacity.rank_share": 0.01}, "has lost most of its capacity"),
        (
            {
                "gradient.halves_cosine": -0.5,
                "gradient.first_layer_share": 0.7,
                "gradient.last_layer_share": 0.1,
            },
            "pull against each other",
        ),
        ({"batch.top_percent_share": float("nan")}, ""),
        ({}, ""),
    ],
)
def test_a_probe_answers_only_from_finite_numbers(look: dict[str, float], said: str) -> None:
    answers = [evidence.statement for evidence in ask_all(look).values()]
    assert len(answers) == int(bool(said))
    assert all(said in answer for answer in answers)


@pytest.mark.parametrize(
    ("look", "cause"),
    [
        ({"ends.terminal_error": 3.0}, "C206"),
        ({"ends.truncated_as_terminated": 1.0}, "C207"),
    ],
)
def test_a_probe_can_decide_what_findings_leave_open(look: dict[str, float], cause: str) -> None:
    monitor = _monitor()
    for step in trace(critic__loss=90.0):
        monitor.observe(step)
    before = [diagnosis.cause for diagnosis in monitor.diagnose()]
    after = [diagnosis.cause for diagnosis in monitor.diagnose(ask_all(look))]
    assert cause not in before
    assert after[0] == cause


def test_a_batch_that_got_harder_speaks_for_a_high_learning_rate() -> None:
    monitor = _monitor()
    for step in trace(critic__loss=90.0):
        monitor.observe(step)
    probes = ask_all({"batch.loss": 90.0, "batch.loss_one_step_ago": 1.0})
    with_probe = {d.cause: d for d in monitor.diagnose(probes)}["C201"]
    assert "C201" not in {d.cause for d in monitor.diagnose()}  # nothing speaks for it
    assert "the steps did it, not the data" in " ".join(with_probe.evidence_for)


def test_a_dip_at_the_beginning_is_a_warning_and_one_that_stays_is_severe() -> None:
    def severities(first: int, last: int) -> list[str]:
        monitor = _monitor()
        dip = {name: value for name, value in CUT_SHORT.items() if "eval" not in name}
        low = trace_of(dip)[-1].signals
        for index, step in enumerate(trace()):
            signals = {**step.signals, "rollout.length_mean": 40.0}
            if first <= index < last:
                names = [name.replace("__", ".") for name in dip]
                signals |= {name: low[name] for name in names}
            monitor.observe(type(step)(step.index, step.taken, step.seconds, signals))
        return [f.severity for f in monitor.findings if f.rule == "D010"]

    assert severities(5, 20) == ["warning"]
    assert severities(5, 40) == ["warning", "severe"]
    assert severities(45, 60)[-1] == "severe"  # little time is left to come back


def test_a_collapse_is_seen_without_the_spread_of_evaluations() -> None:
    monitor = _monitor()
    for step in trace(eval__return_mean=lambda i: -100.0 + (6.0 * i if i < 12 else 0.0) + i % 2):
        signals = {name: v for name, v in step.signals.items() if name != "eval.return_std"}
        monitor.observe(type(step)(step.index, step.taken, step.seconds, signals))
    assert "D009" in {finding.rule for finding in monitor.findings}


def test_a_monitor_says_which_signals_it_lacked() -> None:
    monitor = _monitor()
    for step in trace():
        signals = {name: v for name, v in step.signals.items() if name != "td.target_std"}
        monitor.observe(type(step)(step.index, step.taken, step.seconds, signals))
    assert monitor.unmeasured()["D006"] == ["td.target_std"]
