"""What goes with an exported model: what it does, how well, how it was trained, how to use it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steadyrl.core.machine import made_with
from steadyrl.core.numbers import amount
from steadyrl.core.run_config import RunConfig
from steadyrl.environments.spaces import told
from steadyrl.judging import judge
from steadyrl.store.reader import RunReader

if TYPE_CHECKING:
    from steadyrl.experiments.exporting import Exported
    from steadyrl.trained import TrainedPolicy

USE = {
    "onnx": """\
import numpy, onnxruntime
session = onnxruntime.InferenceSession("model.onnx")
actions = session.run(None, {{"observations": observations}})[0]  # {shape}
""",
    "torchscript": """\
import torch
policy = torch.jit.load("model.pt")
actions = policy(torch.from_numpy(observations))  # {shape}
""",
    "safetensors": """\
from safetensors.numpy import load_file
weights = load_file("model.safetensors")  # layers and normaliser: see policy.json
""",
}


def policy_card(policy: TrainedPolicy, done: Exported, kind: str) -> str:
    """The card of a policy of actions, as Markdown."""
    seen = policy.spaces.seen
    shape = f"(rows, {', '.join(map(str, seen.shape or ()))}), {np.dtype(seen.dtype)}"
    body = [
        f"Observations: `{told(policy.observation_space)}`" + _joined(policy),
        f"Actions: `{policy.action_space}`",
        "",
        "Rows of observations go in as the environment gives them, rows of actions come out as it "
        "takes them: normaliser and bounds are inside the model.",
        "",
        "```python",
        USE[kind].format(shape=f"observations: {shape}").rstrip(),
        "```",
        "",
        f"Checked: on {done.checked} observations ({done.observations}) the largest difference "
        f"from the original's actions is {done.largest_gap:.2g} of the largest action. They are in "
        "check.safetensors.",
    ]
    return card(policy.path, policy.config, policy.chosen.because, body)


def _joined(policy: TrainedPolicy) -> str:
    if policy.spaces.seen == policy.observation_space:
        return ""
    return ", joined to one row of numbers (`gymnasium.spaces.flatten`)"


def card(run: Path, config: RunConfig, chosen: str, body: list[str]) -> str:
    """What every card says, around what this kind of model needs."""
    store = RunReader.open(run)
    summary = store.summary() or {}
    lines = [
        "---",
        "library_name: steadyrl",
        f"tags: [reinforcement-learning, {config.algorithm}]",
        "---",
        f"# {config.algorithm} on {config.task}",
        "",
        *body,
        "",
        "## Scores",
        "",
        "| | |",
        "|---|---|",
        f"| weights | {chosen} |",
        f"| best evaluation | {_number(summary.get('best_return'))} |",
        f"| end of training (last tenth of its evaluations) | "
        f"{_number(summary.get('final_return'))} |",
        f"| trained for | {config.unit.of(summary.get('taken', 0))} |",
        f"| verdict | {judge(store).sentence} |",
        "",
        "Evaluations while training are few episodes each, and the best of many is flattering: "
        "`steadyrl evaluate` plays fresh ones.",
        "",
        "## Settings",
        "",
        "```yaml",
        config.to_yaml().rstrip(),
        "```",
        "",
        "## Made with",
        "",
        f"{made_with()['versions']}, {datetime.now(UTC).date().isoformat()}",
    ]
    return "\n".join(lines) + "\n"


def _number(value: Any) -> str:
    return amount(value, 5) if isinstance(value, int | float) else "not evaluated"
