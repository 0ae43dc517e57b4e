"""A rescue in sentences: what was wrong, why, what was changed, whether that is proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from steadyrl.store.results import RescueStory, TriedRow
from steadyrl.views.history import as_text
from steadyrl.views.proof import measure_told, proof_tree, told_value
from steadyrl.views.run import RunView
from steadyrl.views.wording import meaning

COMPARED = {"placebo": "other randomness alone", "random fix": "a random fix"}


def told_rescue(story: RescueStory, runs: Mapping[str, RunView]) -> list[str]:
    """From the verdict to what remains; `runs` by the name that the story calls them."""
    original = runs.get("original")
    lines = [_outcome(story), _wrong(story, original), *_why(story), _changed(story, original)]
    lines += [_proof(story), _remains(story, runs)]
    return [line for line in lines if line]


def causes_told(story: RescueStory) -> list[Mapping[str, Any]]:
    """The cause whose remedy was chosen first; none where a run was left alone as healthy."""
    if story["status"] == "healthy":
        return []
    origin = (story["chosen"] or {}).get("origin")
    return sorted(story["diagnoses"], key=lambda d: f"{d['cause']} {d['name']}" != origin)


def settings_changed(story: RescueStory, original: RunView | None) -> list[tuple[str, str, str]]:
    """Setting, before, after: of the change that was chosen."""
    known = {one.name: one.at_first or one.value for one in original.settings} if original else {}
    chosen = (story["chosen"] or {}).get("changes", {})
    return [(name, known.get(name, "-"), as_text(after)) for name, after in chosen.items()]


def _outcome(story: RescueStory) -> str:
    """Before and after in the measure that decided: medians over the fresh seeds."""
    if story["status"] != "verified":
        return str(story["message"])
    sides = {branch.kind: branch for branch in proof_tree(story).fresh}
    middle = {
        kind: median(known)
        for kind, branch in sides.items()
        if (known := [value for value in branch.values if value is not None])
    }
    measure = measure_told(story)
    if len(middle) < 2 or measure == "health":
        return str(story["message"])
    after, before = (told_value(middle[kind], measure) for kind in ("after", "before"))
    seeds = f"medians of {len(story['verified'])} fresh seeds"
    if measure == "episode length":
        return f"Fixed and proved: episodes last {after} steps instead of {before} ({seeds})."
    return f"Fixed and proved: the {measure} is {after} instead of {before} ({seeds})."


def _wrong(story: RescueStory, original: RunView | None) -> str:
    severe = [f for f in story.get("findings", ()) if f["severity"] == "severe"]
    if not severe:
        return ""
    first = severe[0]
    taken = first.get("taken")
    known = original is not None and isinstance(taken, int)
    since = f", since {original.unit.one} {taken:,}" if original and known else ""
    return f"What was wrong{since}: {first['message']}."


def _why(story: RescueStory) -> list[str]:
    """The cause in words, its evidence but for what was said already, and what speaks against."""
    said = {f["message"] for f in story.get("findings", ())}
    lines = []
    for cause in causes_told(story)[:1]:
        sure = cause["confidence"]
        told = f"{sure:.2f}" if isinstance(sure, int | float) else str(sure)
        known = "; ".join(text for text in cause["evidence_for"] if text not in said)
        words = cause["name"].replace("-", " ")
        meant = meaning(cause["cause"])
        lines.append(
            f"Why: {words} ({cause['cause']}, confidence {told})"
            + (f": {meant}." if meant else ".")
            + (f" Evidence: {known}." if known else "")
        )
        lines += [f"Against it: {text}." for text in cause["evidence_against"]]
    return lines


def _changed(story: RescueStory, original: RunView | None) -> str:
    if not story["chosen"]:
        return ""
    pairs = settings_changed(story, original)
    said = ", ".join(f"{name} {before} → {after}" for name, before, after in pairs)
    name = str(story["chosen"].get("name", "")).replace("-", " ")
    return f"What was changed: {said}" + (f" ({name})." if name else ".")


def _proof(story: RescueStory) -> str:
    """On how many seeds, how likely by chance, and what did not help."""
    rows = story["verified"]
    if story["status"] != "verified" or not rows:
        return ""
    better = sum(bool(row["better"]) for row in rows)
    chance = story.get("p_value")
    said = f"Proof: better, and nothing severe, on {better} of {len(rows)} fresh seeds"
    said += "." if chance is None else f"; chance alone would do that with p = {chance:.2g}."
    failed = Counter(row["origin"] for row in story["tried"] if not row["helped"])
    others = [called for origin, called in COMPARED.items() if failed[origin]]
    others += [row["name"] for row in story["tried"] if _asked_in_vain(row)]
    return f"{said} What did not help: {', '.join(others)}." if others else said


def _asked_in_vain(row: TriedRow) -> bool:
    return row["origin"] == "asked for" and not row["helped"]


def _remains(story: RescueStory, runs: Mapping[str, RunView]) -> str:
    """Warnings that stand in the runs with the fix: they are why those are not called healthy."""
    if story["status"] != "verified":
        return ""
    fixed = [runs[row["after"]["run"]] for row in story["verified"] if row["after"]["run"] in runs]
    warned = [(run, [f for f in run.findings if f.counts]) for run in fixed]
    warned = [(run, found) for run, found in warned if found]
    if not warned:
        return ""
    rules = dict.fromkeys(f"{f.name.replace('-', ' ')} ({f.rule})" for _, fs in warned for f in fs)
    return (
        f"What remains: a warning stands in {len(warned)} of the {len(fixed)} runs with the fix: "
        f"{_listed(list(rules))}. It is worth a look, and was not what made the run collapse."
    )


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
