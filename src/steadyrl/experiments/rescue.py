"""Rescue: train until alarm, rank causes, try remedies against a control, verify on fresh seeds.

Diagnosis proposes, forks choose, fresh seeds prove. The accounting always holds a control (no fix),
a placebo (no fix, other randomness) and a random fix: a remedy that does no better is no remedy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from steadyrl.core.errors import ConfigError
from steadyrl.core.records import Diagnosis, Finding, without_nan
from steadyrl.core.run_config import RunConfig
from steadyrl.experiments.candidates import (
    Candidate,
    asked_for,
    candidates_for,
    choose,
    helps,
)
from steadyrl.experiments.executor import HERE, Executor
from steadyrl.experiments.proof import (
    FEWEST_SEEDS,
    USUAL_SEEDS,
    Measure,
    Proof,
    improves,
    measure_for,
    prove,
)
from steadyrl.experiments.trials import (
    Outcome,
    Trial,
    read_outcome,
    run_trial,
    run_trials,
    set_aside,
)
from steadyrl.judging import judge, judged
from steadyrl.run import default_name
from steadyrl.store.files import write_atomically, write_json
from steadyrl.store.reader import RunReader


@dataclass
class Rescue:
    """Everything a rescue found, as it is written to rescue.json."""

    status: str  # no remedy, not verified, verified; what the verdict says if nothing was tried
    message: str
    findings: Sequence[Finding] = ()
    diagnoses: Sequence[Diagnosis] = ()
    tried: list[dict[str, Any]] = field(default_factory=list)
    verified: list[dict[str, Any]] = field(default_factory=list)
    chosen: Candidate | None = None
    control: Outcome | None = None
    measure: Measure | None = None  # what the proof was decided by
    p_value: float | None = None
    proofs: list[str] = field(default_factory=list)  # tried in this folder, by all starts so far

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary; what was not measured is null."""
        record: dict[str, Any] = {
            "status": self.status,
            "message": self.message,
            "findings": [finding.to_json() for finding in self.findings],
            "diagnoses": [diagnosis.to_json() for diagnosis in self.diagnoses],
            "tried": self.tried,
            "verified": self.verified,
            "control": None if self.control is None else _row(self.control),
            "chosen": None if self.chosen is None else asdict(self.chosen),
            "measure": self.measure,
            "p_value": self.p_value,
            "proofs": self.proofs,
        }
        plain: dict[str, Any] = without_nan(record)
        return plain


def default_folder(config: RunConfig) -> Path:
    """Where a rescue lies when nothing else is said."""
    return Path("runs", f"rescue-{default_name(config)}")


def rescue(
    config: RunConfig,
    folder: Path,
    *,
    seeds: int = USUAL_SEEDS,
    executor: Executor = HERE,
    also: Sequence[Mapping[str, Any]] = (),
    say: Callable[[str], None] = lambda _line: None,
) -> Rescue:
    """The whole loop. Run it again on the same folder and it goes on where it stopped."""
    if seeds < FEWEST_SEEDS:
        raise ConfigError(
            f"seeds = {seeds}: on so few fresh seeds chance alone looks like a proof. Use "
            f"{FEWEST_SEEDS} or more, better {USUAL_SEEDS}."
        )
    for changes in also:
        config.replaced(changes)  # refuse a wrong change before hours are spent
    original = folder / "original"
    say(f"training {config.unit.of(config.budget)} until something severe is found")
    findings, diagnoses, candidates = _plan(config, folder, original)
    candidates += [asked_for(changes) for changes in also]
    result = Rescue("no remedy", "", findings, diagnoses)
    if not any(finding.severity == "severe" for finding in findings):
        if not any(diagnosis.likely for diagnosis in diagnoses):
            return _written(_left_alone(result, original, also), folder)
        # All checkpoints of such a run are good, and from the last of them nothing is left to do.
        candidates = [replace(candidate, restart=True) for candidate in candidates]
    for diagnosis in diagnoses[:2]:
        say(f"suspect {diagnosis.cause} {diagnosis.name} ({diagnosis.confidence:.2f})")
    outcomes, control = _try(candidates, config, folder, executor, say)
    result.control = control
    result.tried = [_account(c, config, outcomes, control) for c in candidates]
    chosen = choose(candidates, config, outcomes, control)
    if chosen is None:
        result.message = "no change did better than the control and the placebo"
        return _written(result, folder)
    result.chosen = chosen
    say(f"verifying {chosen.name} on {seeds} fresh seeds against the original config")
    proof = prove(
        config,
        chosen.changes,
        folder,
        seeds=seeds,
        executor=executor,
        say=lambda outcome: say(f"  {outcome.name}: {_describe(outcome)}"),
    )
    _conclude(result, chosen, proof, folder)
    _write_config(config, chosen, result, folder)
    return _written(result, folder)


def _conclude(result: Rescue, chosen: Candidate, proof: Proof, folder: Path) -> None:
    """What the fresh seeds say."""
    result.verified, result.measure, result.p_value = _seeds(proof), proof.measure, proof.p_value
    result.status = "verified" if proof.holds else "not verified"
    result.message = f"{chosen.name}: {proof.statement}"
    result.proofs = _proofs(folder, f"{chosen.name} on {proof.wanted} seeds")
    if len(result.proofs) > 1:
        result.message += f"; proof {len(result.proofs)} of this folder, each with its own chance"


def _left_alone(result: Rescue, original: Path, also: Sequence[Mapping[str, Any]]) -> Rescue:
    """Nothing severe and no likely cause: the run's own verdict is all there is to say."""
    verdict = judge(original)
    result.status = verdict.headline
    result.message = f"nothing severe, no likely cause: nothing to rescue ({verdict.sentence})"
    if also:
        result.message += ". 'steadyrl compare' tells whether a change of your own is better."
    return result


def _plan(
    config: RunConfig, folder: Path, original: Path
) -> tuple[list[Finding], list[Diagnosis], list[Candidate]]:
    """What is wrong and what to try, decided once at the alarm and kept for later starts."""
    file = folder / "plan.json"
    if file.exists() and json.loads(file.read_text("utf-8")).get("config") != config.to_yaml():
        for tried in folder.glob("try-*"):
            if "-abandoned-" not in tried.name:
                set_aside(tried)  # forks of another config's run
        (folder / "rescue.json").unlink(missing_ok=True)
        file.unlink()
    if not file.exists():
        run_trial(Trial(name="original", config=config, directory=original, guard="stop"))
        found = judged(original)
        plan = {
            "config": config.to_yaml(),
            "findings": [finding.to_json() for finding in found.verdict.findings],
            "diagnoses": [diagnosis.to_json() for diagnosis in found.verdict.diagnoses],
            "candidates": [asdict(candidate) for candidate in candidates_for(found)],
        }
        write_atomically(file, json.dumps(plan, indent=2).encode())
    plan = json.loads(file.read_text("utf-8"))
    return (
        [Finding.from_json(record) for record in plan["findings"]],
        [Diagnosis.from_json(record) for record in plan["diagnoses"]],
        [Candidate(**record) for record in plan["candidates"]],
    )


def _try(
    candidates: Sequence[Candidate],
    config: RunConfig,
    folder: Path,
    executor: Executor,
    say: Callable[[str], None],
) -> tuple[dict[str, Outcome], Outcome]:
    """What each change leads to, and what no change does."""
    original = folder / "original"
    say(f"trying {len(candidates)} changes and an unchanged control")
    # The control is the unchanged run, taken on to the end of its budget.
    run_trial(Trial(name="original", config=config, directory=original))
    trials = [_trial(candidate, config, original, folder) for candidate in candidates]
    outcomes: dict[str, Outcome] = {}
    for outcome in run_trials(trials, executor):
        outcomes[outcome.name] = outcome
        say(f"  {outcome.name}: {_describe(outcome)}")
    control = read_outcome("control (no fix)", original)
    say(f"  {control.name}: {_describe(control)}")
    return outcomes, control


def _trial(candidate: Candidate, config: RunConfig, original: Path, folder: Path) -> Trial:
    slug = "".join(c if c.isalnum() else "-" for c in candidate.name.lower()).strip("-")
    good = RunReader.open(original).checkpoints.last_good()
    forked = not candidate.restart and good is not None
    return Trial(
        name=candidate.name,
        config=config.replaced(candidate.changes),
        directory=folder / f"try-{slug}",
        source=original if forked else None,
        step=good if forked else None,
        changes=candidate.changes,
    )


def _proofs(folder: Path, this: str) -> list[str]:
    """What earlier starts set out to prove, and this: more attempts, more chances to succeed."""
    file = folder / "rescue.json"
    before = json.loads(file.read_text("utf-8")).get("proofs", []) if file.exists() else []
    return before if this in before else [*before, this]


def _seeds(proof: Proof) -> list[dict[str, Any]]:
    return [
        {
            "seed": RunReader.open(after.path).config.seed,
            "before": _row(before),
            "after": _row(after),
            "better": improves([after], [before], proof.measure),
        }
        for before, after in zip(proof.before, proof.after, strict=True)
    ]


def _account(
    candidate: Candidate, config: RunConfig, outcomes: Mapping[str, Outcome], control: Outcome
) -> dict[str, Any]:
    return {
        "name": candidate.name,
        "origin": candidate.origin,
        "changes": dict(candidate.changes),
        "measure": measure_for(config, candidate.changes),
        "helped": helps(candidate, config, outcomes, control),
        **_row(outcomes[candidate.name]),
    }


def _row(outcome: Outcome) -> dict[str, Any]:
    return {
        "run": outcome.path.name,  # beside rescue.json
        "status": outcome.status,
        "severe": list(outcome.severe),
        "final_return": outcome.final_return,
        "final_length": outcome.final_length,
        "score": ("" if outcome.score.higher_is_better else "-") + outcome.score.name,
    }


def _describe(outcome: Outcome) -> str:
    state = "nothing severe" if outcome.healthy else f"{outcome.status}, {' '.join(outcome.severe)}"
    return f"{outcome.said}, {state}"


def _write_config(config: RunConfig, chosen: Candidate, result: Rescue, folder: Path) -> None:
    header = [*describe_fix(chosen, result), "# changed:"]
    rescued = config.replaced(chosen.changes)
    for name, (before, after) in config.differences(rescued).items():
        header.append(f"#   {name}: {before} -> {after}")
    text = "\n".join(header) + "\n" + rescued.to_yaml()
    write_atomically(folder / "rescued.yaml", text.encode())


def describe_fix(chosen: Candidate, result: Rescue) -> list[str]:
    """The head of rescued.yaml: how sure it is and, if a cause proposed it, on what grounds."""
    grounds = [d for d in result.diagnoses if chosen.origin == f"{d.cause} {d.name}"]
    return [
        f"# {result.status}: {result.message}",
        f"# {'cause' if grounds else 'tried as'}: {chosen.origin}",
        *(f"# {d.name}: {'; '.join(d.evidence_for)}" for d in grounds),
    ]


def _written(result: Rescue, folder: Path) -> Rescue:
    write_json(folder / "rescue.json", result.to_json())
    return result
