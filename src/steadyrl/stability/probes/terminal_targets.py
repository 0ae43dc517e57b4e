"""Q502: do ends end?"""

from __future__ import annotations

from collections.abc import Mapping

from steadyrl.core.records import Evidence
from steadyrl.stability.rules import Probe


def answer(look: Mapping[str, float]) -> Evidence | None:
    """Targets of terminal transitions, and truncations stored as terminations."""
    error, cut = look.get("ends.terminal_error"), look.get("ends.truncated_as_terminated")
    if error is None and cut is None:
        return None
    values = {"terminal_error": error or 0.0, "truncated_as_terminated": cut or 0.0}
    wrong = values["terminal_error"] > 1e-6 or values["truncated_as_terminated"] > 0
    said = (
        "ends of episodes are treated wrongly" if wrong else "ends of episodes are treated rightly"
    )
    return Evidence("Q502", said, values)


PROBE = Probe(
    id="Q502",
    name="terminal-targets",
    question="Is the target of a terminal transition its reward, and is a time limit not an end?",
    cost="one forward pass over 1,024 transitions",
    answer=answer,
)
