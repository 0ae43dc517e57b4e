"""For every detector a trace of Steps on which it must fire and one on which it must stay quiet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from steadyrl.core.coarsen import Columns, columns_of
from steadyrl.core.records import Step
from tests.rules.language import TRACES as LANGUAGE_TRACES
from tests.rules.replay import TRACES as REPLAY_TRACES

Value = float | Sequence[float] | Callable[[int], float]
Trace = list[Step]

HEALTHY: Mapping[str, Value] = {
    "train.updates": lambda i: 100.0 * (i + 1),
    "critic.update_ratio": 0.03,
    "actor.update_ratio": 0.03,
    "critic.gradient_norm": 10.0,
    "critic.gradient_norm_max": lambda i: 30.0 + i % 3,
    "actor.gradient_norm_max": lambda i: 3.0 + i % 2,
    "critic.loss": 1.0,
    "td.target_std": 10.0,
    "q.mean": -20.0,
    "q.bound_ratio": 0.1,
    "q.abs_max": 50.0,
    "action.saturation": 0.4,
    "target.change": 0.02,
    "target.drift": 0.03,
    "action.noise": 0.08,
    "observation.scale_ratio": 8.0,
    "observation.constant_share": 0.0,
    "td.terminal_error": 0.0,
    "replay.truncated_as_terminated": 0.0,
    "replay.misaligned_share": 0.0,
    "actor.improvement": 0.5,
    "replay.duplicate_share": 0.01,
    "td.fresh_ratio": 1.2,
    "critic.dormant_share": 0.1,
    "actor.dormant_share": 0.1,
    "replay.size": lambda i: 100.0 * (i + 1),
    "time.rate": lambda i: 500.0 + i % 5,
    "machine.load_per_core": 1.0,
    "machine.cpu_share": 0.98,
    "machine.swap_mb_per_second": 0.0,
    "machine.disk_free_gb": 50.0,
    "machine.memory_free_share": 0.5,
    "rollout.length_mean": 100.0,
    "rollout.terminated_share": 0.0,
    "rollout.reward_mean": -1.0,
    "eval.return_mean": lambda i: -100.0 + 5.0 * min(i, 15),
    "eval.return_std": 5.0,
    "eval.length_mean": 100.0,
    "q.optimism": 0.1,
}


ON_POLICY: Mapping[str, Value] = {
    "policy.kl": lambda i: 0.012 + 0.002 * (i % 3),
    "policy.kl_first_epoch": 0.004,
    "policy.clip_fraction": lambda i: 0.1 + 0.02 * (i % 3),
    "policy.first_ratio_error": 2e-6,
    "policy.entropy": lambda i: 0.69 - 0.006 * i,
    "policy.entropy_share": lambda i: 0.99 - 0.009 * i,
    "policy.improvement": 0.01,
    "value.explained_variance": lambda i: min(0.9, 0.02 * i),
    "trpo.line_search_success": lambda i: float(i % 9 != 0),
    "trpo.failed_no_improvement": lambda i: float(i % 9 == 0),
    "trpo.failed_divergence": 0.0,
    "trpo.failed_not_finite": 0.0,
    "trpo.failed_negative_curvature": 0.0,
    "trpo.failed_no_gradient": 0.0,
    "trpo.cg_residual": 0.2,
    "trpo.kl_share": 0.8,
    "trpo.entropy_pull": 0.1,
    "bc.nll": -20.0,
    "bc.nll_max": -18.0,
    "bc.mse": 0.003,
    "bc.mse_max": 0.004,
    "bc.full_mse": lambda i: 0.01 - 0.0001 * i,
    "bc.normalised_mse": lambda i: max(0.02, 0.4 - 0.05 * i),
    "bc.validation_mse": 0.01,
    "bc.log_std_min": lambda i: -3.0 - 0.001 * i,
    "bc.samples": 418.0,
    "language.equal_groups_share": 0.3,
    "language.cut_share": 0.05,
    "language.reference_kl": lambda i: 0.002 * i,
}


def columns(steps: Sequence[Step]) -> Columns | None:
    """The same by signal, as a run is read."""
    return columns_of(step.to_json() for step in steps)


def trace(**changes: Value) -> Trace:
    """Healthy Steps with some signals changed (`__` in a name stands for a dot)."""
    return trace_of(changes)


def trace_of(changes: Mapping[str, Value]) -> Trace:
    """The same from a mapping."""
    changed = {name.replace("__", "."): value for name, value in changes.items()}
    signals = {**HEALTHY, **ON_POLICY, **changed}

    def at(value: Value, index: int) -> float:
        if callable(value):
            return value(index)
        if isinstance(value, Sequence):
            return value[min(index, len(value) - 1)]
        return value

    return [
        Step(i + 1, 100 * (i + 1), 0.1 * i, {name: at(v, i) for name, v in signals.items()})
        for i in range(60)
    ]


def after(index: int, before: float, then: float) -> Callable[[int], float]:
    """One value up to an index, another from there on."""
    return lambda i: before if i < index else then


def _noisy_flat(i: int) -> float:
    return -100.0 + 4.0 * math.sin(7.0 * i)


CUT_SHORT: Mapping[str, Value] = {
    "rollout__length_mean": after(30, 40.0, 11.0),
    "rollout__terminated_share": 1.0,
    "rollout__reward_mean": after(30, -1100.0, -1280.0),
    "eval__length_mean": after(30, 170.0, 11.0),
}
GOAL_REACHED = {**CUT_SHORT, "rollout__reward_mean": after(30, -1100.0, -300.0)}

RISING: Mapping[str, Value] = {
    "rollout__return_mean": lambda i: 10.0 * i,
    "eval__return_std": 5.0,
}
STILL: Mapping[str, Value] = {
    "eval__return_mean": _noisy_flat,
    "rollout__return_mean": _noisy_flat,
    "rollout__length_mean": 100.0,
}

# id -> (fires, quiet); the quiet one is as close to firing as a healthy run may come
TRACES: Mapping[str, tuple[Trace, Trace]] = {
    "D001": (trace(q__mean=after(40, 1.0, math.nan)), trace(q__mean=1e30)),
    "D002": (trace(actor__update_ratio=0.0), trace(actor__update_ratio=lambda i: float(i % 2))),
    "D003": (
        trace(critic__update_ratio=1e-5, actor__update_ratio=1e-5),
        trace(critic__update_ratio=1e-5, actor__update_ratio=3e-3),
    ),
    "D004": (
        trace(critic__gradient_norm_max=after(50, 30.0, 3000.0)),
        trace(critic__gradient_norm_max=lambda i: 30.0 * 1.1**i),
    ),
    "D005": (trace(q__bound_ratio=1.5), trace(q__bound_ratio=lambda i: 1.5 if i % 3 == 0 else 1.1)),
    "D006": (trace(critic__loss=80.0), trace(critic__loss=1e8, td__target_std=1e5)),
    "D007": (trace(td__target_std=5000.0), trace(td__target_std=300.0, critic__loss=1e5)),
    "D008": (
        trace(action__saturation=0.97, eval__return_mean=lambda i: -100.0 - i),
        trace(action__saturation=0.97),
    ),
    "D009": (
        trace(eval__return_mean=lambda i: -100.0 + 5.0 * min(i, 15) if i < 40 else -95.0),
        trace(eval__return_mean=lambda i: -100.0 + 5.0 * min(i, 15) - 20.0 * (i % 4 == 0)),
    ),
    "D010": (trace_of(CUT_SHORT), trace_of(GOAL_REACHED)),
    "D011": (trace(eval__return_mean=_noisy_flat), trace(eval__return_mean=lambda i: -100.0 + i)),
    "D012": (trace(target__change=1e-6), trace(target__change=0.002)),
    "D013": (trace(target__drift=0.001), trace(target__drift=0.01)),
    "D014": (trace(action__noise=0.001), trace(action__noise=lambda i: 0.03 if i % 4 else 0.0)),
    "D015": (trace(action__noise=0.6), trace(action__noise=0.25)),
    "D016": (trace(observation__scale_ratio=400.0), trace(observation__scale_ratio=60.0)),
    "D017": (trace(observation__constant_share=1.0), trace(observation__constant_share=0.4)),
    "D018": (trace(td__terminal_error=0.3), trace(td__terminal_error=0.0)),
    "D019": (trace(replay__truncated_as_terminated=1.0), trace()),
    "D028": (
        trace(
            run__restarted=lambda i: float(i == 30),
            eval__return_mean=lambda i: -100.0 + 5.0 * min(i, 15) - 40.0 * (i >= 30),
        ),
        trace(
            run__restarted=lambda i: float(i == 30),
            eval__return_mean=lambda i: -100.0 + 5.0 * min(i, 15) - 10.0 * (i >= 30),
        ),
    ),
    "D041": (
        trace_of({**RISING, "eval__return_mean": lambda i: 3.0 * (i % 2)}),
        trace_of({**RISING, "eval__return_mean": lambda i: 3.5 * i}),
    ),
    "D042": (
        trace(rollout__return_mean=-1300.0, q__mean=-14_000.0),
        trace(rollout__return_mean=-1300.0, q__mean=-12_000.0),
    ),
    "D043": (
        trace(value__loss=2e5, value__explained_variance=0.4),
        trace(value__loss=2e5, value__explained_variance=0.5),
    ),
    "D044": (
        trace_of({**STILL, "setting__exploration_rate": 0.4}),
        trace_of({**STILL, "setting__exploration_rate": lambda i: max(0.05, 1.0 - 0.1 * i)}),
    ),
    "D045": (
        trace_of({**STILL, "setting__entropy_weight": 2.0}),
        trace_of({**STILL, "setting__entropy_weight": 1.0}),
    ),
    "D046": (
        trace_of({**STILL, "environment__action_effect": 0.004}),
        trace_of({**STILL, "environment__action_effect": after(1, 0.05, 0.0)}),
    ),
    "D047": (
        trace(environment__action_effect=0.4, environment__action_lag=2.0),
        trace(environment__action_effect=0.4, environment__action_lag=lambda i: 2.0 * (i > 0)),
    ),
    "D048": (
        trace_of({**STILL, "environment__reward_noise": 0.9}),
        trace_of({**STILL, "environment__reward_noise": 0.7}),
    ),
    "D049": (
        trace(rollout__length_mean=40.0, rollout__terminated_share=1.0),
        trace(rollout__length_mean=40.0, rollout__terminated_share=lambda i: float(i % 9 > 0)),
    ),
    # Judged as runs of CartPole-v1, whose returns are never negative.
    "D050": (
        trace(eval__return_mean=lambda i: -22.0 + i / 10),
        trace(eval__return_mean=lambda i: 5.0 * (i - 1)),
    ),
    "D020": (trace(replay__misaligned_share=0.3), trace()),
    "D021": (
        trace(actor__improvement=-0.2),
        trace(actor__improvement=lambda i: -0.2 if i % 2 else 0.3),
    ),
    "D022": (
        trace(replay__duplicate_share=0.4),
        trace(replay__duplicate_share=after(6, 0.4, 0.1)),
    ),
    "D023": (
        trace(td__fresh_ratio=6.0),
        trace(td__fresh_ratio=lambda i: 6.0 if i % 3 == 0 else 2.0),
    ),
    "D024": (trace(critic__dormant_share=after(30, 0.1, 0.8)), trace(critic__dormant_share=0.7)),
    "D025": (trace(q__optimism=5.0), trace(q__optimism=lambda i: 5.0 if i < 10 else -0.5)),
    "D026": (
        trace(setting__gradient_clip=0.01, critic__gradient_norm=10.0),
        trace(setting__gradient_clip=1.0, critic__gradient_norm=10.0),
    ),
    "D027": (trace(replay__size=128.0), trace(replay__size=lambda i: min(100.0 * i, 5000.0))),
    "D030": (
        trace(time__rate=after(50, 500.0, 60.0)),
        trace(time__rate=after(50, 500.0, 260.0)),
    ),
    "D031": (
        trace(machine__load_per_core=3.0, machine__cpu_share=0.4),
        trace(machine__load_per_core=3.0, machine__cpu_share=0.95),
    ),
    "D032": (
        trace(machine__swap_mb_per_second=20.0),
        trace(machine__swap_mb_per_second=lambda i: 20.0 * (i % 9 == 0)),
    ),
    "D034": (
        trace(machine__memory_free_share=lambda i: 0.02 if i < 30 else 0.005),
        trace(machine__memory_free_share=0.05),
    ),
    "D033": (trace(machine__disk_free_gb=0.5), trace(machine__disk_free_gb=3.0)),
    "D035": (trace(machine__writing_share=0.4), trace(machine__writing_share=0.15)),
    "D040": (trace(critic__loss=12_000.0), trace(critic__loss=9_000.0)),
    "D101": (
        trace(policy__first_ratio_error=0.02),
        trace(policy__first_ratio_error=lambda i: 0.02 if i % 7 == 0 else 1e-6),
    ),
    "D102": (
        trace(policy__kl=after(30, 0.02, 0.4)),
        trace(policy__kl=lambda i: 0.4 if i % 5 == 0 else 0.1),
    ),
    "D103": (trace(policy__clip_fraction=0.6), trace(policy__clip_fraction=0.4)),
    "D104": (
        trace(policy__entropy_share=after(20, 0.9, 0.001), eval__return_mean=_noisy_flat),
        trace(policy__entropy_share=after(20, 0.9, 0.001)),
    ),
    "D105": (
        trace(policy__entropy_share=0.999),
        trace(policy__std=lambda i: 1.0 + 0.3 * math.sin(i)),
    ),
    "D106": (
        trace(value__explained_variance=-0.2),
        trace(value__explained_variance=lambda i: -0.2 if i > 20 else 0.4),
    ),
    "D107": (trace(policy__kl=1e-7), trace(policy__kl=lambda i: 1e-7 if i % 5 else 1e-3)),
    "D108": (
        trace(policy__improvement=-0.02),
        trace(policy__improvement=lambda i: -0.02 if i % 2 else 0.02),
    ),
    "D109": (
        trace(trpo__line_search_success=lambda i: float(i % 2)),
        trace(trpo__line_search_success=lambda i: float(i % 5 != 0)),
    ),
    "D110": (trace(trpo__cg_residual=1.4), trace(trpo__cg_residual=0.6)),
    "D113": (
        trace(setting__entropy_weight=1.0, trpo__entropy_pull=0.5),
        trace(setting__entropy_weight=0.01, trpo__entropy_pull=0.4),
    ),
    "D114": (
        trace(advantage__std=after(30, 2.0, 0.01), policy__kl=after(35, 0.01, 0.5)),
        trace(advantage__std=after(30, 2.0, 0.01), policy__kl=after(35, 0.01, 0.05)),
    ),
    "D111": (trace(trpo__kl_share=0.01), trace(trpo__kl_share=lambda i: 0.01 + 0.3 * (i % 2))),
}

TRACES = {
    **TRACES,
    "D120": (
        trace(bc__nll_max=after(40, -18.0, 30.0)),
        trace(bc__nll_max=-12.0),
    ),
    # Learned down to -6, against set to -6 and left there.
    "D121": (trace(bc__log_std_min=after(5, -3.0, -6.0)), trace(bc__log_std_min=-6.0)),
    "D122": (
        trace(bc__validation_mse=lambda i: 0.01 + 0.001 * max(0, i - 20)),
        trace(bc__validation_mse=lambda i: 0.01 + 0.0001 * max(0, i - 20)),
    ),
    "D123": (trace(bc__normalised_mse=0.9), trace(bc__normalised_mse=0.2)),
    "D140": (
        trace(language__equal_groups_share=after(30, 0.2, 1.0)),
        trace(language__equal_groups_share=lambda i: 0.9 if i % 3 == 0 else 0.4),
    ),
    "D141": (trace(language__cut_share=0.9), trace(language__cut_share=0.7)),
    **{
        rule: (trace_of(fires), trace_of(quiet))
        for rule, (fires, quiet) in {**LANGUAGE_TRACES, **REPLAY_TRACES}.items()
    },
}

TOTAL_ENV_STEPS = 6000
# Rules that know environments: the one that their traces are of.
ENVIRONMENTS = {"D050": "CartPole-v1"}
