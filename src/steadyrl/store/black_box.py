"""The black box: what was going on when the first number stopped being finite.

blackbox/minibatch.npz    the last batch, an array for each of its parts
blackbox/steps.jsonl      the last Steps
blackbox/about.json       why, the first bad tensor's name, the shapes of the batch's parts, and the
                          command that replays it
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steadyrl.store.files import disk_errors, write_atomically

BLACK_BOX_STEPS = 200


def write_black_box(
    run: Path,
    *,
    because: str,
    bad: str | None,
    batch: Mapping[str, Any],  # arrays
    steps: Sequence[dict[str, Any]],
) -> Path:
    """Write the box; the config lies beside it in the run directory."""
    folder = run / "blackbox"
    with disk_errors(folder):
        folder.mkdir(exist_ok=True)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **batch)
    write_atomically(folder / "minibatch.npz", buffer.getvalue())
    lines = "".join(json.dumps(step, allow_nan=False) + "\n" for step in steps)
    write_atomically(folder / "steps.jsonl", lines.encode())
    about = {
        "because": because,
        "first_bad_tensor": bad,
        "minibatch": {name: list(part.shape) for name, part in batch.items()},
        "replay": f"steadyrl replay {run}",
    }
    write_atomically(folder / "about.json", json.dumps(about, indent=2).encode())
    return folder
