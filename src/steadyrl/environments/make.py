"""From a config to the backend its environment needs."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode

from steadyrl.core.errors import EnvironmentFault, SteadyError
from steadyrl.core.run_config import ATARI, EnvironmentConfig
from steadyrl.environments.backends import Backend, SerialBackend, VectorBackend, plain_env
from steadyrl.environments.contract import explained


def make_backend(config: EnvironmentConfig) -> Backend:
    """Atari games and vector environments as such, everything else one after the other."""
    with _faults(config):
        if config.id.startswith(ATARI):
            from steadyrl.environments.atari import AtariBackend

            return AtariBackend(config)
        spec = gymnasium.registry.get(config.id)
        if spec is not None and _steps_as_vector(spec):
            return VectorBackend(config)
        if config.processes > 1:
            from steadyrl.environments.processes import ProcessBackend

            return ProcessBackend(config)
        return SerialBackend(config)


def make_one(config: EnvironmentConfig, **more: Any) -> gymnasium.Env[Any, Any]:
    """A single environment as others know it, with what it takes besides (a render mode)."""
    with _faults(config, **more):
        return plain_env(config, **more)


@contextmanager
def _faults(config: EnvironmentConfig, **more: Any) -> Iterator[None]:
    """What keeps an environment from being made, in one sentence."""
    try:
        yield
    except gymnasium.error.Error as error:
        close = difflib.get_close_matches(config.id, list(gymnasium.registry), n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        # Gymnasium guesses too, without versions.
        reason = str(error).partition(" Did you mean")[0].rstrip(". ")
        raise EnvironmentFault(f"environment.id = '{config.id}': {reason}.{hint}") from None
    except ImportError as error:
        package = "pip install 'steadyrl[atari]'"
        hint = package if config.id.startswith(ATARI) else "Install its package"
        raise EnvironmentFault(
            f"environment.id = '{config.id}' cannot be imported: {error}. {hint}."
        ) from None
    except TypeError as error:
        raise EnvironmentFault(
            f"environment '{config.id}' does not take environment.settings = "
            f"{ {**config.settings, **more} }: {error}."
        ) from None
    except SteadyError:
        raise
    except Exception as error:
        raise explained(config.id, error, "making it") from error


def _steps_as_vector(spec: Any) -> bool:
    if spec.vector_entry_point is None:
        return False
    entry = spec.vector_entry_point
    creator = (
        gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    )
    metadata = getattr(creator, "metadata", {})
    return metadata.get("autoreset_mode") == AutoresetMode.DISABLED and hasattr(
        creator, "state_dict"
    )
