"""Following logs that grow: what is new is told as it appears."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from steadyrl.core.choices import Limits
from steadyrl.core.errors import OutputLost, SteadyError
from steadyrl.judging import judge
from steadyrl.live_judge import LiveJudge
from steadyrl.report.console import PlainConsole
from steadyrl.report.findings import print_diagnoses, print_findings, print_intervention
from steadyrl.store.foreign.run import ForeignRun
from steadyrl.store.reader import RunReader
from steadyrl.verdict import Verdict

if TYPE_CHECKING:
    from steadyrl.judging import Recorded


def follow(
    runs: Sequence[Recorded],
    *,
    every: float,
    limits: Limits | None = None,
    sleep: Callable[[float], None],
    console: Console | None = None,
) -> int:
    """Look again and again until Ctrl-C; a finding is told once, a new likely cause as well."""
    console = console or PlainConsole()
    told: dict[str, set[tuple[str, str]]] = {str(run.path): set() for run in runs}
    causes: dict[str, str] = {}
    lost: set[str] = set()
    judges = {id(run): LiveJudge(run, limits) for run in runs if isinstance(run, RunReader)}
    console.print(f"[dim]watching {len(runs)} runs; Ctrl-C ends it[/]")
    first = True
    try:
        while True:
            for run in runs:
                try:
                    verdict = _news(run, judges.get(id(run)), first, limits)
                    if verdict is not None:
                        _tell(verdict, told[str(run.path)], causes, console)
                    lost.discard(str(run.path))
                except OutputLost:
                    raise  # nobody would hear that there is nobody to hear
                except SteadyError as error:  # it may come back, and the others go on
                    if str(run.path) not in lost:
                        console.print(f"[yellow]{escape(str(error))}[/]", highlight=False)
                    lost.add(str(run.path))
            first = False
            sleep(every)
    except KeyboardInterrupt:
        return 0


def _news(
    run: Recorded, live: LiveJudge | None, first: bool, limits: Limits | None
) -> Verdict | None:
    """The verdict on a run in which something is new."""
    if live is not None:
        found = live.judged()
        return found.verdict if found else None
    assert isinstance(run, ForeignRun)
    return judge(run, limits) if run.refresh() or first else None


def _tell(
    verdict: Verdict, told: set[tuple[str, str]], causes: dict[str, str], console: Console
) -> None:
    begin = verdict.run not in causes
    found = [*verdict.findings, *verdict.machine]
    new = [f for f in found if (f.rule, f.severity) not in told]
    acted = [action for action in verdict.interventions if ("action", action.told) not in told]
    likely = verdict.diagnoses[0] if verdict.diagnoses else None
    changed = likely is not None and causes.get(verdict.run) != likely.cause
    if begin or new or acted or changed:
        state = f"[bold]{escape(verdict.run)}[/]  {escape(verdict.sentence)}"
        console.print(f"{state} after {verdict.steps:,} Steps", highlight=False)
        for action in acted:
            print_intervention(action, console)
        print_findings(new, console, verdict.unit)
    if likely is not None and changed:
        print_diagnoses([likely], console, verdict.changes)
    causes[verdict.run] = likely.cause if likely else ""
    told |= {(finding.rule, finding.severity) for finding in new}
    told |= {("action", action.told) for action in acted}
