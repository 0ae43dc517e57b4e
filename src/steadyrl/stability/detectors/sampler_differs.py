"""D149: what is sampled is not what is trained."""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.stability.rules import Detector, Sighting
from steadyrl.stability.window import Window

ENGINE, SETTINGS = "language.sampler_gap", "language.sampling_gap"


def detect(window: Window, limits: Mapping[str, float]) -> Sighting | None:
    """A gap between log-probabilities in several Steps: of the engines, or of the sampling."""
    for name, said in (
        (ENGINE, "the engine that samples and the one that trains differ"),
        (SETTINGS, "the distribution sampled from and the one trained differ"),
    ):
        values = window.last(name, int(limits["steps"]))
        if len(values) < limits["steps"] or not float(values.min()) > limits["gap"]:
            continue
        gap = float(values[-1])
        return Sighting(
            f"{said} by {gap:.2g} nats per token",
            {name: gap},
            severity="severe" if float(values.min()) > limits["severe_gap"] else "warning",
        )
    return None


RULE = Detector(
    id="D149",
    name="sampler-differs",
    severity="severe",
    symptom="The probabilities under which tokens were sampled are not those that are trained.",
    why="Ratios and advantages are about the policy that sampled. A temperature or top_p that only "
    "the sampler has, another engine, another precision, or log-probabilities shifted by one token "
    "make every update lean to one side.",
    false_alarms="bf16 differs by about 0.01 by itself.",
    reads=(),
    any_of=("language.sampler_gap", "language.sampling_gap"),
    limits={"steps": 3, "gap": 0.05, "severe_gap": 0.2},
    calibrated_on="six healthy runs of tiny models (PPO and GRPO, 64 to 512 samples per update, "
    "18 to 70 updates), fp32: 6e-7 nats at most. Not calibrated on bf16 and other engines",
    detect=detect,
    traits=("language",),
    references=("ms-swift#6678", "trl#4772", "trl#6789"),
)
