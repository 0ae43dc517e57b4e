"""S024: The longest right answer does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steadyrl.stability.rules import Check, Sighting

if TYPE_CHECKING:
    from steadyrl.core.run_config import RunConfig


def check(config: RunConfig) -> Sighting | None:
    """Of the built-in problems, written a character a token: all digits, and the end."""
    problems = config.value_of("problems")
    if problems.name == "jsonl" or config.value_of("model.path") is not None:
        return None
    longest, room = problems.digits + int(problems.name == "addition"), problems.max_new_tokens
    if room > longest:
        return None
    return Sighting(
        f"problems.max_new_tokens {room}, and answers take up to {longest} and one to end",
        {"room": room, "longest": longest},
        severity="severe" if room < longest else "warning",
    )


CHECK = Check(
    id="S024",
    name="answers-cut",
    severity="severe",
    concern="The longest right answer does not fit, or has no room to end.",
    why="What is right is cut off: such a problem cannot be solved, or its end is never learned.",
    remedy="Raise problems.max_new_tokens.",
    check=check,
    needs=("problems", "model.path"),
    traits=("language",),
)
