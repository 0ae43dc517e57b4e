"""What the black box holds of each trainer's last batch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from steadyrl.algorithms.bc.learner import BCLearner, Jump
from steadyrl.algorithms.common.training import prepare
from steadyrl.core.presets import parse_config
from steadyrl.store.black_box import write_black_box


@pytest.mark.parametrize("algorithm", ["ppo", "trpo"])
def test_the_black_box_of_a_rollout_names_what_a_rollout_holds(
    algorithm: str, tmp_path: Path
) -> None:
    values = {"algorithm": algorithm, "rollout_length": 16, "hidden_sizes": [8]}
    training = prepare(parse_config({**values, "environment": {"id": "CartPole-v1", "count": 2}}))
    next(training.steps)
    bad, batch = training.black_box()
    folder = write_black_box(tmp_path, because="test", bad=bad, batch=batch, steps=[])
    about = json.loads((folder / "about.json").read_text())
    scalars = ("action", "log_probability", "value", "advantage", "return")
    assert about["minibatch"] == {"observation": [32, 4], **{name: [32] for name in scalars}}
    with np.load(folder / "minibatch.npz") as box:
        np.testing.assert_allclose(box["return"], box["value"] + box["advantage"], rtol=1e-5)


def test_the_black_box_of_a_clone_names_the_transitions_that_leapt(tmp_path: Path) -> None:
    values = {"algorithm": "bc", "hidden_sizes": [8], "demonstrations": {"expert_length": 20}}
    training = prepare(parse_config(values))
    learner = training.learner
    assert isinstance(learner, BCLearner)
    assert training.black_box() == (None, {})
    learner.jump = Jump(1, 9.0, np.array([4, 7]), learner.before, 1e-3, 1.0)
    _, batch = training.black_box()
    assert batch["transition"].tolist() == [4, 7]
    np.testing.assert_array_equal(batch["action"], learner.data.actions[[4, 7]])
    write_black_box(tmp_path, because="test", bad=None, batch={}, steps=[])
