"""A trained policy for other programs: ONNX, TorchScript or plain weights, with a model card.

What is written is read back and must act as the original on recorded observations; else nothing is
left behind.
"""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from gymnasium.spaces import Box
from numpy.typing import NDArray
from torch import nn

from steadyrl.core.errors import ConfigError, ExportFailed, SteadyError
from steadyrl.environments.envs import Envs
from steadyrl.experiments.evaluation import environment_of
from steadyrl.experiments.model_card import policy_card
from steadyrl.store.arrays import write_arrays
from steadyrl.store.files import new_folder
from steadyrl.trained import TrainedPolicy

Format = Literal["onnx", "torchscript", "safetensors"]
FORMATS: tuple[Format, ...] = get_args(Format)
FILES: dict[Format, str] = {
    "onnx": "model.onnx",
    "torchscript": "model.pt",
    "safetensors": "model.safetensors",
}
CHECKED = 256  # observations that the exported model must act on as the original does
TOLERANCE = 1e-5  # of the largest action, or of 1
Array = NDArray[Any]
Acts = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Exported:
    """Where a policy was written to, and how well what was written agrees with it."""

    folder: Path
    file: str
    checked: int
    observations: str  # where they came from
    largest_gap: float


def export_policy(policy: TrainedPolicy, folder: Path, kind: Format) -> Exported:
    """Write a new folder with the model, its card and what it was checked on."""
    if kind not in FORMATS:
        raise ConfigError(f"format '{kind}': use one of {', '.join(FORMATS)}.")
    rows, source = recorded_observations(policy)
    expected = policy.acting.best(rows)
    with new_folder(folder) as scratch:
        file = scratch / FILES[kind]
        acts = {"onnx": _onnx, "torchscript": _torchscript, "safetensors": _safetensors}[kind](
            policy, rows, file
        )
        gap = _gap(acts(rows), expected)
        if not gap <= TOLERANCE:
            raise ExportFailed(
                f"the exported model does not act as the original: of {len(rows)} observations "
                f"({source}) the largest difference is {gap:.3g}, allowed is {TOLERANCE:g}. "
                "Nothing was written. Try another --format."
            )
        done = Exported(folder, file.name, len(rows), source, gap)
        write_arrays(scratch, {"observations": rows, "actions": expected})
        (scratch / "arrays.safetensors").rename(scratch / "check.safetensors")
        (scratch / "policy.json").write_text(json.dumps(about(policy), indent=2) + "\n", "utf-8")
        (scratch / "README.md").write_text(policy_card(policy, done, kind), "utf-8")
    return done


def recorded_observations(policy: TrainedPolicy) -> tuple[Array, str]:
    """What the policy meets when it acts; where there is no environment, what it might meet."""
    try:
        world = environment_of(policy).copies(4)
        with closing(Envs(world, seed=policy.config.seed, purpose="export")) as envs:
            seen = [envs.observations]
            while sum(map(len, seen)) < CHECKED:
                envs.step(policy.acting.best(envs.observations))
                seen.append(envs.observations)
        return np.concatenate(seen)[:CHECKED], "met in its environment"
    except SteadyError:
        return _imagined(policy), "drawn at random, for its environment cannot be made here"


def _imagined(policy: TrainedPolicy) -> Array:
    space, inputs = policy.spaces.seen, policy.acting.inputs
    generator = np.random.default_rng(policy.config.seed)
    assert isinstance(space, Box)
    if np.isfinite(space.low).all() and np.isfinite(space.high).all():
        space.seed(int(generator.integers(1 << 31)))
        return np.stack([space.sample() for _ in range(CHECKED)])
    noise = generator.standard_normal((CHECKED, *space.shape))
    if inputs.mean is not None and inputs.deviation is not None:
        mean, spread = inputs.mean.reshape(space.shape), inputs.deviation.reshape(space.shape)
        noise = mean + spread * noise
    found: Array = noise.astype(space.dtype)
    return found


def _gap(found: Array, expected: Array) -> float:
    largest = max(1.0, float(np.abs(expected).max()))
    gaps = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    return float(gaps.max()) / largest


def _onnx(policy: TrainedPolicy, rows: Array, file: Path) -> Acts:
    try:
        import onnxruntime
        import onnxscript  # noqa: F401 - torch's exporter needs it
    except ImportError as error:
        raise ConfigError(
            f"ONNX needs the package {error.name}: pip install 'steadyrl[onnx]'."
        ) from None
    with _quiet():
        program = torch.onnx.export(
            policy.acting.module(),
            (torch.from_numpy(rows[:2]),),
            dynamo=True,
            dynamic_shapes={"observations": {0: torch.export.Dim("rows")}},
            input_names=["observations"],
            output_names=["actions"],
            verbose=False,
        )
        assert program is not None
        program.save(str(file))
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return lambda observations: np.asarray(session.run(None, {"observations": observations})[0])


def _torchscript(policy: TrainedPolicy, rows: Array, file: Path) -> Acts:
    with _quiet():
        script: Any = torch.jit
        script.trace(policy.acting.module(), torch.from_numpy(rows[:2])).save(str(file))
        loaded = script.load(str(file))
    return _in_torch(loaded)


def _safetensors(policy: TrainedPolicy, _rows: Array, file: Path) -> Acts:
    from safetensors.torch import load_file, save_file

    module = policy.acting.module()
    save_file({name: part.contiguous() for name, part in module.state_dict().items()}, file)
    again = policy.acting.module()
    with torch.no_grad():
        for part in again.parameters():
            part.zero_()
    again.load_state_dict(load_file(file))
    return _in_torch(again)


def _in_torch(module: nn.Module | Any) -> Acts:
    def acts(observations: Array) -> Array:
        with torch.no_grad():
            found: Array = module(torch.from_numpy(observations)).numpy()
        return found

    return acts


@contextmanager
def _quiet() -> Iterator[None]:
    """Exporters tell of their own future; that is no news for who exports."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def about(policy: TrainedPolicy) -> dict[str, Any]:
    """What a program must know that uses the exported model."""
    inputs = policy.acting.inputs
    module: Any = policy.acting.module()
    return {
        "algorithm": policy.config.algorithm,
        "task": policy.config.task,
        "step": policy.step,
        "observations": {"space": str(policy.observation_space), "rows": str(policy.spaces.seen)},
        "actions": {"space": str(policy.action_space)},
        "normalised": inputs.mean is not None,
        "clipped_to_deviations": inputs.limit,
        "layers": [str(layer) for layer in module.network.children()],
    }
