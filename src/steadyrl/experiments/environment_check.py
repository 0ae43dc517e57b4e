"""An environment, looked at closely before anything is trained in it."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
from gymnasium.utils.env_checker import check_env

from steadyrl.core.errors import SteadyError
from steadyrl.core.records import SEVERITIES, Severity
from steadyrl.core.run_config import ATARI, EnvironmentConfig
from steadyrl.environments.contract import LIVABLE, explained
from steadyrl.environments.contract_env import SUSPICIONS, ContractEnv
from steadyrl.environments.make import make_one
from steadyrl.stability.check import Concern

STEPS = 1000  # of random play
WHY = "What the environment says of itself and what it does are two things: one of them is wrong."
MEND = "Mend the environment, or what it says of its spaces."
# What Gymnasium's checker says that training does not mind.
HARMLESS = ("not within the optimal range", "recommend", "symmetric and normalized", "render")


def contract_concerns(environment: EnvironmentConfig, seed: int) -> list[Concern]:
    """What breaks Gymnasium's contract in some episodes of random play, worst first."""
    if environment.id.startswith(ATARI):
        return []
    env = make_one(environment)
    try:
        checked = ContractEnv(env, on_fault="record")
        try:
            ended = _play(checked, environment.id, seed)
        except SteadyError as error:
            return [_concern("severe", str(error))]
        found = [
            _concern(_severity(kind), f"environment '{environment.id}': {sentence}")
            for kind, sentence in checked.faults.items()
        ]
        if not ended and not _limited(env):
            found.append(_endless(environment.id))
        worst_first = sorted(found, key=lambda c: SEVERITIES.index(c.severity), reverse=True)
        return worst_first or _by_gymnasium(env)
    finally:
        env.close()


def _severity(kind: str) -> Severity:
    """Training can live with some of it, and suspicions may hold in a sound environment too."""
    return "warning" if kind in (*LIVABLE, *SUSPICIONS) else "severe"


def _limited(env: gymnasium.Env[Any, Any]) -> bool:
    return env.spec is not None and env.spec.max_episode_steps is not None


def _endless(id_: str) -> Concern:
    return Concern(
        "P005",
        "episodes-may-not-end",
        "warning",
        f"environment '{id_}': no episode ended in {STEPS:,} random steps, and there is no limit",
        "An evaluation waits for its episodes to end, and training stops where one does not.",
        "Return truncated=True after so many steps (gymnasium.wrappers.TimeLimit does).",
    )


def _play(env: ContractEnv, id_: str, seed: int) -> bool:
    """Random actions; whether any episode ended."""
    doing, ended = "reset()", False
    try:
        env.action_space.seed(seed)
        env.reset(seed=seed)
        for number in range(STEPS):
            doing = "step()"
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                doing, ended = "reset()", True
                env.reset(seed=seed + number)
        return ended
    except Exception as error:
        raise explained(id_, error, doing) from error


def _by_gymnasium(env: gymnasium.Env[Any, Any]) -> list[Concern]:
    """What Gymnasium's own checker finds beyond that."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            check_env(env.unwrapped, skip_render_check=True)
        except Exception as error:
            said = " ".join(str(error).split()) or type(error).__name__
            return [_concern("warning", f"Gymnasium's checker: {said}")]
    texts = [" ".join(str(one.message).replace("\x1b[33m", "").split()) for one in told]
    texts = [text.removeprefix("WARN: ").replace("\x1b[0m", "") for text in texts]
    kept = [text for text in texts if not any(harmless in text for harmless in HARMLESS)]
    return [_concern("note", f"Gymnasium's checker: {text}") for text in dict.fromkeys(kept)]


def _concern(severity: Any, message: str) -> Concern:
    return Concern("P004", "environment-contract", severity, message, WHY, MEND)
