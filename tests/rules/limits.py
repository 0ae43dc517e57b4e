"""Runs just inside and just outside the limits of detectors that look at more than one thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

Signals = Mapping[str, "float | Sequence[float | None] | None"]  # a short list goes on as it ends


class Case(NamedTuple):
    """A run, and the Step at which the rule speaks; None: it stays quiet."""

    rule: str
    about: str
    signals: Signals
    at: int | None = None
    evidence: Mapping[str, float] | None = None
    per_step: int = 100  # environment steps; 6,000 are the budget


def gone(count: int) -> list[float | None]:
    """So many Steps without the signal."""
    return [None] * count


SATURATED: Signals = {"action.saturation": 0.95}
CLIPPED: Signals = {"critic.gradient_norm": 10.0, "setting.gradient_clip": 0.1}
LOADED: Signals = {"machine.load_per_core": 1.5, "machine.cpu_share": 0.7}
MISFIT: Signals = {"critic.loss": 51.0, "td.target_std": 10.0}
CHASING: Signals = {"target.drift": 0.12, "critic.update_ratio": 1.0}
OUT: Signals = {"rollout.return_mean": -9.0}
ACTOR: Signals = {"actor.update_ratio": 0.1}  # without one, targets are copied now and then
FROZEN: Signals = {**ACTOR, "target.change": 0.02, "critic.update_ratio": 1.0}
COPIED: Signals = {"target.change": 0.0, "critic.update_ratio": 1.0}
SLOW: Signals = {"time.rate": [100.0] * 20 + [30.0] * 5, "critic.loss": 1.0}
SMALL: Signals = {"critic.loss": 1.0, "replay.size": 200.0}
RESTART = [0.0] * 10 + [1.0] + [0.0] * 5
SHORT: Signals = {
    "rollout.terminated_share": 0.9,
    "rollout.length_mean": [100.0] * 5 + [50.0] * 6,
    "rollout.reward_mean": [-1.0] * 5 + [-1.02] * 6,
}
CALM = [1.0, 1.1] * 10
RISING = [10.0 * n for n in range(11)]
UPDATES = [100.0 * n for n in range(60)]
TINY: Signals = {"train.updates": UPDATES, "critic.update_ratio": 9.9e-4}


def evaluations(*values: float, spread: float = 1.0) -> dict[str, list[float | None] | float]:
    """Evaluations that end at the 36th Step, where three fifths of the budget are used."""
    return {"eval.return_mean": [*gone(36 - len(values)), *values], "eval.return_std": spread}


def restarted(before: Sequence[float], then: Sequence[float], spread: float = 1.0) -> Signals:
    """Evaluations before and after the eleventh Step, at which the program began anew."""
    returns = [*before, *then]
    return {"run.restarted": RESTART, "eval.return_mean": returns, "eval.return_std": spread}


def spiked(critic: Sequence[float | None], actor: Sequence[float | None] = ()) -> Signals:
    norms: dict[str, Sequence[float | None]] = {"critic.gradient_norm_max": critic}
    return norms | ({"actor.gradient_norm_max": actor} if actor else {})


CASES = [
    Case("D008", "median and return are the evidence",
         {"action.saturation": [0.9] * 7 + [0.95] + [1.0] * 7, "eval.return_mean": 3.0}, 15,
         {"action.saturation": 0.95, "eval.return_mean": 3.0}),
    Case("D008", "below the middle of what was reached",
         {**SATURATED, "eval.return_mean": [0.0, 100.0] + [49.0] * 13}, 15),
    Case("D008", "in the middle of what was reached",
         {**SATURATED, "eval.return_mean": [0.0, 100.0] + [50.0] * 13}),
    Case("D021", "nine of ten fall", {"actor.improvement": [0.5] + [-0.1] * 5 + [-0.3] * 4}, 10,
         {"actor.improvement": -0.1}),
    Case("D021", "by more than it ever rose", {"actor.improvement": [0.5] + [-0.06] * 10}, 11),
    Case("D021", "by no more than it once rose", {"actor.improvement": [1.0] + [-0.09] * 10}),
    Case("D021", "eight of ten fall", {"actor.improvement": [0.5] * 2 + [-0.1] * 8}),
    Case("D021", "eight fall and two stay", {"actor.improvement": [0.0] * 2 + [-0.1] * 8}),
    Case("D021", "nine fall and the newest stays", {"actor.improvement": [-0.1] * 9 + [0.0]}),
    Case("D021", "nine fall and the newest rises", {"actor.improvement": [-0.1] * 9 + [0.5]}),
    Case("D022", "its evidence", {"replay.duplicate_share": 0.3, "replay.batch_share": 0.5}, 15,
         {"replay.duplicate_share": 0.3, "replay.batch_share": 0.5}),
    Case("D026", "a hundred times", {**CLIPPED, "critic.gradient_norm": [10.0] * 9 + [20.0]}, 10,
         {"critic.gradient_norm": 20.0, "setting.gradient_clip": 0.1}),
    Case("D026", "less", {**CLIPPED, "critic.gradient_norm": 9.9}),
    Case("D026", "one is less", {**CLIPPED, "critic.gradient_norm": [9.0] + [10.0] * 9}),
    Case("D026", "not clipped", {**CLIPPED, "setting.gradient_clip": 0.0}),
    Case("D026", "nothing known of clipping", {"critic.gradient_norm": 10.0}),
    Case("D031", "medians", {"machine.load_per_core": [1.0, 1.0, 1.7, 2.0, 2.0],
         "machine.cpu_share": [0.9, 0.9, 0.6, 0.5, 0.5]}, 5,
         {"machine.load_per_core": 1.7, "machine.cpu_share": 0.6}),
    Case("D031", "on its limits", LOADED, 5),
    Case("D031", "of the newest five",
         {**LOADED, "machine.load_per_core": [1.0] * 3 + [1.6] * 3}, 6),
    Case("D031", "shares of the newest five",
         {**LOADED, "machine.cpu_share": [0.9] * 3 + [0.6] * 3}, 6),
    Case("D031", "less load", {**LOADED, "machine.load_per_core": 1.49}),
    Case("D031", "a larger share", {**LOADED, "machine.cpu_share": 0.71}),
    Case("D031", "load is over", {**LOADED, "machine.load_per_core": [1.6] * 4 + [1.0]}),
    Case("D031", "most loads are low", {**LOADED, "machine.load_per_core": [1.0] * 3 + [1.6] * 2}),
    Case("D031", "four shares", {**LOADED, "machine.cpu_share": [*gone(1), *[0.5] * 4]}),
    Case("D006", "after a warm-up",
         {"critic.loss": [51.0] * 14 + [70.0], "td.target_std": [10.0] * 14 + [9.0]}, 15,
         {"critic.loss": 70.0, "td.target_std": 9.0, "share": 0.51}),
    Case("D006", "half the variance", {**MISFIT, "critic.loss": 50.0}),
    Case("D006", "it is over", {**MISFIT, "critic.loss": [60.0] * 14 + [40.0]}),
    Case("D006", "most are small", {**MISFIT, "critic.loss": [60.0] * 5 + [40.0] * 6 + [60.0] * 4}),
    Case("D006", "ten spreads", {**MISFIT, "td.target_std": [*gone(6), 10.0]}, 16),
    Case("D013", "on its limit", CHASING, 10, {"lag": 0.12}),
    Case("D013", "evidence is the newest and the median",
         {"target.drift": [0.1] * 9 + [0.12], "critic.update_ratio": [1.0] * 9 + [2.0]}, 10,
         {"target.drift": 0.12, "critic.update_ratio": 2.0, "lag": 0.1}),
    Case("D013", "further apart", {**CHASING, "target.drift": 0.121}),
    Case("D013", "apart at last", {**CHASING, "target.drift": [0.1] * 9 + [0.5]}),
    Case("D013", "most are further apart", {**CHASING, "target.drift": [0.5] * 6 + [0.1] * 4}),
    Case("D013", "a critic at rest", {**CHASING, "critic.update_ratio": [0.0] + [1.0] * 9}),
    Case("D013", "few movements", {**CHASING, "critic.update_ratio": [*gone(1), *[1.0] * 9]}),
    Case("D013", "few drifts", {**CHASING, "target.drift": [*gone(1), *[0.1] * 9]}),
    Case("D012", "on its limit", {**FROZEN, "target.drift": 0.7}, 5, {"target.drift": 0.7}),
    Case("D012", "evidence is the newest",
         {**ACTOR, "target.change": [0.01] * 4 + [0.02],
          "critic.update_ratio": [1.0] * 4 + [2.0]}, 5,
         {"target.change": 0.02, "critic.update_ratio": 2.0}),
    Case("D012", "a little faster", {**FROZEN, "target.change": 0.021}),
    Case("D012", "it moves at last", {**FROZEN, "target.change": [0.01] * 4 + [0.5]}),
    Case("D012", "most moved", {**FROZEN, "target.change": [0.5] * 3 + [0.01] * 2}),
    Case("D012", "a critic at rest", {**FROZEN, "critic.update_ratio": [0.0] + [1.0] * 4}),
    Case("D012", "few movements", {**FROZEN, "critic.update_ratio": [*gone(1), *[1.0] * 4]}),
    Case("D012", "never copied in half of the run", COPIED, 30, {"target.change": 0.0}),
    Case("D012", "copied once", {**COPIED, "target.change": [0.0] * 25 + [0.5] + [0.0] * 34}),
    Case("D012", "no critic that moves", {**COPIED, "critic.update_ratio": 0.0}),
    Case("D012", "few changes", {**FROZEN, "target.change": [*gone(1), *[0.01] * 4]}),
    Case("D030", "three tenths",
         {**SLOW, "time.rate": [100.0] * 20 + [20.0, 30.0, 20.0, 20.0, 20.0]}, 25,
         {"time.rate": 30.0, "usual": 100.0}),
    Case("D030", "a little faster",
         {**SLOW, "time.rate": [100.0] * 20 + [31.0] * 5}),
    Case("D030", "one was faster",
         {**SLOW, "time.rate": [100.0] * 20 + [31.0] + [20.0] * 4}),
    Case("D030", "as fast as usual", {**SLOW, "time.rate":
         [100.0] * 9 + [40.0] * 11 + [20.0] * 5}),
    Case("D030", "learning had not begun",
         {"time.rate": [100.0] * 20 + [30.0], "critic.loss": [*gone(1), 1.0]}, 26),
    Case("D030", "any critic", {"time.rate": [100.0] * 20 + [30.0],
         "value.loss": 1.0}, 25),
    Case("D027", "a fifth of what was seen", SMALL, 10,
         {"replay.size": 200.0, "taken": 1000.0}),
    Case("D027", "after a warm-up", {**SMALL, "replay.size": 50.0}, 10),
    Case("D027", "a little more", {**SMALL, "replay.size": 201.0}, 11),
    Case("D027", "two thousand", {**SMALL, "replay.size": 2000.0}, 10, per_step=1000),
    Case("D027", "more than two thousand", {**SMALL, "replay.size": 2001.0}, per_step=10_000),
    Case("D027", "it still grows", {**SMALL, "replay.size": [float(n) for n in range(30)]}),
    Case("D027", "five sizes", {**SMALL, "replay.size": [*gone(7), 50.0]}, 12),
    Case("D040", "critic loss", {"critic.loss": 10_001.0, "actor.loss": 1.0}, 1,
         {"critic.loss": 10_001.0}),
    Case("D040", "actor loss", {"critic.loss": 1.0, "actor.loss": -1001.0}, 1,
         {"actor.loss": 1001.0}),
    Case("D040", "length", {"critic.loss": 1.0, "eval.length_mean": 49.9}, 1,
         {"eval.length_mean": 49.9}),
    Case("D040", "within the gates",
         {"critic.loss": 10_000.0, "actor.loss": -1000.0, "eval.length_mean": 50.0}),
    Case("D024", "the critic's", {"critic.dormant_share": [0.1] * 5 + [0.61] * 5}, 10,
         {"critic.dormant_share": 0.61, "first": 0.1}),
    Case("D024", "the actor's", {"critic.dormant_share": 0.1,
         "actor.dormant_share": [0.1] * 5 + [0.61] * 5}, 10, {"actor.dormant_share": 0.61}),
    Case("D024", "the actor's, while the critic's are few",
         {"critic.dormant_share": [*gone(7), 0.9], "actor.dormant_share": [0.1] * 5 + [0.61] * 5},
         10, {"actor.dormant_share": 0.61}),
    Case("D024", "three fifths", {"critic.dormant_share": [0.1] * 5 + [0.6] * 5}),
    Case("D024", "one was less",
         {"critic.dormant_share": [0.1] * 5 + [0.7, 0.7, 0.5, 0.7, 0.7]}),
    Case("D024", "a fifth more than at first", {"critic.dormant_share": [0.5] * 5 + [0.7] * 5}),
    Case("D024", "still more", {"critic.dormant_share": [0.5] * 5 + [0.71] * 5}, 10),
    Case("D028", "three tenths of the gain", restarted([0.0] * 5 + [100.0] * 5, [70.0] * 3)),
    Case("D028", "more than that", restarted([0.0] * 5 + [100.0] * 5, [69.0] * 3), 13,
         {"before": 100.0, "after": 69.0}),
    Case("D028", "medians",
         restarted([0.0] * 5 + [100.0] * 3 + [0.0, 100.0], [69.0, 69.0, 100.0]), 13),
    Case("D028", "two spreads", restarted([0.0] * 5 + [100.0] * 5, [60.0] * 3, spread=20.0)),
    Case("D028", "more than two spreads",
         restarted([0.0] * 5 + [100.0] * 5, [59.0] * 3, spread=20.0), 13),
    Case("D028", "two values before it",
         {**restarted([100.0] * 2, [0.0] * 9), "run.restarted": [0.0, 0.0, 1.0, 0.0]}),
    Case("D028", "three values before it",
         {**restarted([100.0] * 3, [0.0] * 9), "run.restarted": [0.0, 0.0, 0.0, 1.0, 0.0]}, 6),
    Case("D028", "never restarted",
         {**restarted([0.0] * 5 + [100.0] * 5, [0.0] * 5), "run.restarted": 0.0}),
    Case("D010", "a way out", {**OUT, "rollout.length_mean": [12.0] * 5 + [3.0] * 10}, 15,
         {"rollout.length_mean": 3.0, "best": 12.0}),
    Case("D010", "not quite at once", {**OUT, "rollout.length_mean": [14.0] * 5 + [3.1] * 10}),
    Case("D010", "never much longer", {**OUT, "rollout.length_mean": [11.9] * 5 + [3.0] * 10}),
    Case("D010", "a step that pays", {**OUT, "rollout.length_mean": [12.0] * 5 + [3.0] * 10,
                                      "rollout.return_mean": 5.0}),
    Case("D010", "cut, not ended", {**OUT, "rollout.length_mean": [12.0] * 5 + [3.0] * 10,
                                    "rollout.terminated_share": 0.8}),
    Case("D010", "on its limits", SHORT, 11, {"rollout.length_mean": 50.0, "best": 100.0,
         "first": 100.0, "reward_per_step": -1.02}),
    Case("D010", "more than half the best",
         {**SHORT, "rollout.length_mean": [100.0] * 5 + [51.0] * 30}),
    Case("D010", "half the best of evaluations",
         {**SHORT, "rollout.length_mean": [80.0] * 5 + [50.0] * 6, "eval.length_mean": 100.0}, 11),
    Case("D010", "seven tenths of the first",
         {**SHORT, "rollout.length_mean": [60.0] * 5 + [42.0] * 6, "eval.length_mean": 100.0}, 11),
    Case("D010", "more than that",
         {**SHORT, "rollout.length_mean": [60.0] * 5 + [43.0] * 30, "eval.length_mean": 100.0}),
    Case("D010", "not terminated", {**SHORT, "rollout.terminated_share": 0.89}),
    Case("D010", "not terminated any more",
         {**SHORT, "rollout.terminated_share": [1.0] * 10 + [0.5]}),
    Case("D010", "most not terminated",
         {**SHORT, "rollout.terminated_share": [0.5] * 7 + [1.0] * 4}),
    Case("D010", "nine ends", {**SHORT, "rollout.terminated_share": [*gone(2), *[1.0] * 9]}),
    Case("D010", "a little better", {**SHORT, "rollout.reward_mean": [-1.0] * 5 + [-1.01] * 30}),
    Case("D010", "no reward", {**SHORT, "rollout.reward_mean": 0.0}),
    Case("D010", "steps earn something", {**SHORT, "rollout.reward_mean": 0.5}),
    Case("D015", "its evidence",
         {"action.noise": 0.5, "eval.return_mean": 7.0, "rollout.return_mean": 3.0}, 10,
         {"action.noise": 0.5, "eval_minus_rollout": 4.0}),
    Case("D004", "fifty times the usual", spiked([*CALM, 53.0]), 21,
         {"critic.gradient_norm_max": 53.0, "typical": 1.05}),
    Case("D004", "not quite", spiked([*CALM, 52.0])),
    Case("D004", "nineteen before it", spiked([*CALM[1:], 60.0])),
    Case("D004", "the actor's", spiked([*CALM, 1.0], [*CALM, 53.0]), 21,
         {"actor.gradient_norm_max": 53.0}),
    Case("D004", "the actor's, while the critic's are few",
         spiked([*gone(15), *[1.0] * 5, 60.0], [*CALM, 53.0]), 21,
         {"actor.gradient_norm_max": 53.0}),
    Case("D004", "the actor's, while the critic's were zero",
         spiked([*[0.0] * 20, 5.0], [*CALM, 53.0]), 21, {"actor.gradient_norm_max": 53.0}),
    Case("D004", "the first that is not zero", spiked([*[0.0] * 20, 5.0])),
    Case("D011", "nothing gained", {"eval.return_mean": 5.0, "eval.return_std": 1.0}, 36,
         {"start": 5.0, "eval.return_mean": 5.0, "noise": 1.0, "p_value": 1.0}),
    Case("D011", "a gain within the noise", evaluations(-1.0, 1.0, 3.0, -3.0, 1.0, 1.0), 36),
    Case("D011", "a gain beyond the noise", evaluations(-1.0, 1.0, 3.0, -3.0, 1.1, 1.1)),
    Case("D011", "solved", evaluations(0.0, 0.0, 1.0, 5.0, 5.0, 5.0, spread=10.0)),
    Case("D011", "not quite solved", evaluations(0.0, 0.0, 5.0, 5.0, 4.0, 5.0, spread=10.0), 36),
    Case("D011", "it rises", evaluations(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, spread=100.0)),
    Case("D011", "it may rise", evaluations(1.0, 3.0, 2.0, 5.0, 4.0, 6.0, spread=100.0), 36),
    Case("D011", "it falls", evaluations(5.0, 4.0, 3.0, 2.0, 1.0, 0.0, spread=100.0), 36),
    Case("D011", "six evaluations",
         {"eval.return_mean": [*gone(31), 5.0], "eval.return_std": 1.0}, 37),
    Case("D011", "fifteen means of episodes", {"rollout.return_mean": [*gone(22), 5.0]}, 37),
    Case("D011", "nothing new", {"eval.return_mean": [*[5.0] * 30, *gone(10)]}),
    Case("D011", "the discounted return rises", {"eval.return_mean": 5.0,
         "eval.discounted_mean": [float(n) for n in range(60)], "eval.return_std": 1.0}),
    Case("D011", "the plain return rises", {"eval.discounted_mean": 5.0,
         "eval.return_mean": [float(n) for n in range(60)], "eval.return_std": 1.0}),
    Case("D025", "two spreads from three fifths on", {"q.optimism": 2.0}, 36, {"q.optimism": 2.0}),
    Case("D025", "less", {"q.optimism": 1.9}),
    Case("D025", "four fifths remain", {"q.optimism": [10.0] * 35 + [8.0]}, 36),
    Case("D025", "it shrinks", {"q.optimism": [10.0] * 35 + [7.9]}),
    Case("D025", "five evaluations", {"q.optimism": [*gone(33), 5.0]}, 38),
    Case("D025", "nothing new", {"q.optimism": [*[5.0] * 30, *gone(10)]}),
    Case("D002", "three Steps", {"train.updates": UPDATES, "actor.update_ratio": [1.0, 0.0],
         "critic.update_ratio": 0.1, "actor.gradient_norm": 2.0}, 4,
         {"actor.update_ratio": 0.0, "actor.gradient_norm": 2.0}),
    Case("D002", "it moved", {"train.updates": UPDATES[:5],
         "actor.update_ratio": [0.0, 0.0, 0.1, 0.0, 0.0]}),
    Case("D002", "no updates", {"train.updates": 5.0, "actor.update_ratio": 0.0}),
    Case("D002", "a step that was rejected", {"train.updates": UPDATES, "policy.update_ratio": 0.0,
         "trpo.line_search_success": 0.0}),
    Case("D002", "a step that was not", {"train.updates": UPDATES, "policy.update_ratio": 0.0,
         "trpo.line_search_success": 1.0}, 4),
    Case("D002", "the critic, though the step was rejected",
         {"train.updates": UPDATES, "policy.update_ratio": 0.0, "value.update_ratio": 0.0,
          "trpo.line_search_success": 0.0}, 4, {"value.update_ratio": 0.0}),
    Case("D002", "no updates since it moved", {"train.updates": [0.0] + [100.0] * 4,
         "actor.update_ratio": [1.0, 1.0, 0.0, 0.0, 0.0]}),
    Case("D003", "hardly", TINY, 6, {"critic.update_ratio": 9.9e-6}),
    Case("D003", "a little more", {**TINY, "critic.update_ratio": 1.01e-3}),
    Case("D003", "the actor moves", {**TINY, "actor.update_ratio": 1.1e-3}),
    Case("D003", "neither moves much", {**TINY, "actor.update_ratio": 1e-4}, 6),
    Case("D003", "not at all", {**TINY, "critic.update_ratio": 0.0}),
    Case("D003", "no updates", {**TINY, "train.updates": 5.0}),
    Case("D003", "it moves at last", {**TINY, "critic.update_ratio": [*[1e-4] * 5, 0.012]}),
    Case("D003", "little known of the actor",
         {**TINY, "train.updates": UPDATES[:7], "actor.update_ratio": [*gone(3), *[1e-4] * 4]}),
    Case("D007", "targets", {"td.target_std": [1001.0] * 4 + [1100.0], "q.mean": 5.0}, 5,
         {"td.target_std": 1100.0, "q.mean": 5.0}),
    Case("D007", "a thousand", {"td.target_std": 1000.0, "q.mean": -1000.0}),
    Case("D007", "a thousand at last", {"td.target_std": [1100.0] * 4 + [1000.0], "q.mean": 5.0}),
    Case("D007", "a thousand until now", {"td.target_std": [1000.0] * 4 + [1100.0], "q.mean": 5.0}),
    Case("D007", "values", {"td.target_std": 1.0, "q.mean": -1001.0}, 5),
    Case("D007", "small at last", {"td.target_std": [1100.0] * 4 + [5.0], "q.mean": 5.0}),
    Case("D007", "most are small", {"td.target_std": [5.0] * 3 + [1100.0] * 2, "q.mean": 5.0}),
    Case("D007", "four values", {"td.target_std": 1100.0, "q.mean": [*gone(1), *[5.0] * 4]}),
    Case("D009", "three fifths of the gain",
         {"eval.return_mean": [0.0, 1.0] * 5 + [100.0, 101.0] * 5 + [40.8] * 5}),
    Case("D009", "a lucky one is no best",
         {"eval.return_mean": [0.0, 1.0] * 5 + [100.0, 500.0] + [100.0, 99.0] * 4 + [41.0] * 5}),
    Case("D009", "within the noise", {"eval.return_mean": [0.0, 1.0] * 5 + [100.0, 101.0] * 5
         + [0.0] * 5, "eval.return_std": 51.0}),
    Case("D009", "beyond the noise", {"eval.return_mean": [0.0, 1.0] * 5 + [100.0, 101.0] * 5
         + [0.0] * 5, "eval.return_std": 49.0}, 23),
    Case("D009", "a fall within the noise of neighbours",
         {"eval.return_mean": [*RISING, 100.0, 39.0, 39.0, 39.0]}),
    Case("D009", "a fall beyond it",
         {"eval.return_mean": [*RISING, 100.0, 110.0, 30.0, 30.0, 30.0]}, 16, {"fall": 5.57968}),
    Case("D009", "fifteen means of episodes",
         {"rollout.return_mean": [*[0.0, 1.0] * 2, *[100.0, 101.0] * 4, *[0.0, 1.0] * 2]}, 15),
    Case("D009", "a spike of episodes is no gain",
         {"rollout.return_mean": [0.0, 101.0, 100.0, *[0.0, 1.0] * 6]}),
    Case("D009", "the first wiggles of the budget", {"rollout.return_mean":
         [*[0.0, 1.0] * 2, *[100.0, 101.0] * 4, *[0.0, 1.0] * 8]}, per_step=20),
    Case("D009", "a gain of training episodes within their noise", {"rollout.return_mean":
         [*[0.0, 40.0] * 8, *[100.0, 60.0] * 10, *[0.0, 40.0] * 6]}),
    Case("D009", "two of three", {"eval.return_mean": [0.0, 1.0] * 5 + [100.0, 101.0] * 5
         + [30.0, 30.0, 60.0, 30.0, 30.0, 60.0]}),
    Case("D019", "truncated as terminated", {"replay.truncated_as_terminated": 0.01}, 1,
         {"replay.truncated_as_terminated": 0.01}),
    Case("D019", "in the returns", {"replay.truncated_as_terminated": 0.0,
         "rollout.truncated_as_terminated": 0.01}, 1, {"rollout.truncated_as_terminated": 0.01}),
    Case("D019", "none", {"replay.truncated_as_terminated": 0.0}),
    Case("D005", "its evidence", {"q.bound_ratio": [1.5, 1.4, 1.3], "q.abs_max": 9.0}, 3,
         {"q.bound_ratio": 1.3, "q.abs_max": 9.0}),
    Case("D017", "its evidence", {"observation.constant_share": [0.5, 0.6, 0.7]}, 3,
         {"observation.constant_share": 0.7}),
    Case("D018", "its evidence", {"td.terminal_error": [1.0, 3.0]}, 2, {"td.terminal_error": 2.0}),
    Case("D020", "its evidence", {"replay.misaligned_share": [0.1, 0.3]}, 2,
         {"replay.misaligned_share": 0.3}),
    Case("D032", "its evidence", {"machine.swap_mb_per_second": [1.0, 1.0, 1.0, 1.0, 9.0]}, 5,
         {"machine.swap_mb_per_second": 9.0}),
]  # fmt: skip
