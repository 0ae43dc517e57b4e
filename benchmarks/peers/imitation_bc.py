"""imitation's behaviour cloning on a file of demonstrations; prints gradient steps per second.

Runs in an environment of its own (imitation needs older versions): see requirements-imitation.txt.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import gymnasium
import numpy as np
import torch
from imitation.algorithms import bc
from imitation.data.types import Transitions


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=3000)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with np.load(arguments.file) as file:
        observations, actions = file["observations"], file["actions"]
    rows = len(actions)
    data = Transitions(
        obs=observations,
        acts=actions,
        next_obs=observations,
        dones=np.zeros(rows, dtype=bool),
        infos=np.array([{}] * rows),
    )
    low, high = np.full(observations.shape[1], -10.0), np.full(observations.shape[1], 10.0)
    trainer = bc.BC(
        observation_space=gymnasium.spaces.Box(low.astype(np.float32), high.astype(np.float32)),
        action_space=gymnasium.spaces.Box(-1.0, 1.0, actions.shape[1:]),
        rng=np.random.default_rng(0),
        demonstrations=data,
        batch_size=arguments.batch,
        device="cpu",
    )
    trainer.train(n_batches=200, progress_bar=False, log_interval=10**9)
    started = time.perf_counter()
    trainer.train(n_batches=arguments.steps, progress_bar=False, log_interval=10**9)
    seconds = time.perf_counter() - started
    result = {"steps_per_second": arguments.steps / seconds, "torch": torch.__version__}
    sys.stdout.write(json.dumps(result) + "\n")


main()
