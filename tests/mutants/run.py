"""How many small faults would the tests notice? Run by `make test-mutants`.

    python -m tests.mutants.run [group ...] [--sample N] [--only PART_OF_A_PATH] [--seconds S]

pytest collects the group's tests once. For each fault a child is forked that puts the fault into
the modules already loaded and runs the tests that call the function concerned, the most specific
ones first, until one fails or their time is up. What no test notices is told at once and listed
after the table: that is also what no test reaches. A fault that keeps the tests from ending is
noticed, and counted apart. Tests that take long, or fail where nothing is wrong or where a module
was only put in its own place, are named and not asked.
"""

from __future__ import annotations

import argparse
import ast
import cProfile
import os
import pickle
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.graft import SOURCES, put_in_place
from tests.mutants.operators import Mutant, mutants_of

SECONDS = 12.0  # of the processor, under the profiler: tests that a fault is shown to may take
SLOW = 3.0  # so long together, and so long each
OPTIONS = ("-q", "-p", "no:cacheprovider", "-o", "tmp_path_retention_policy=none")

# What is mutated, and the tests that are asked: never unit/test_written.py, which compares all
# limits with pages that are generated from them, and so would notice anything.
GROUPS: Mapping[str, tuple[str, str]] = {
    "stability": (
        "stability/*.py stability/controllers/*.py maths/robust.py",
        "rules unit/test_window.py unit/test_robust_statistics.py unit/test_monitor.py "
        "unit/test_diagnose.py unit/test_choice_of_remedies.py unit/test_controllers.py "
        "unit/test_explain.py unit/test_judging.py unit/test_what_is_judged.py "
        "unit/test_foreign_runs.py",
    ),
    "rules": (
        "stability/detectors/*.py stability/causes/*.py stability/remedies/*.py "
        "stability/probes/*.py stability/checks/*.py",
        "rules",
    ),
    "foreign": (
        "store/foreign/*.py",
        "unit/test_series.py unit/test_tables.py unit/test_name_tables.py "
        "unit/test_event_records.py unit/test_run_folders.py unit/test_foreign_runs.py "
        "unit/test_event_files.py unit/test_fuzz_readers.py",
    ),
    "verdict": (
        "verdict.py judging.py",
        "unit/test_judging.py unit/test_what_is_judged.py unit/test_foreign_runs.py",
    ),
    "experiments": (
        "experiments/rescue.py experiments/candidates.py experiments/proof.py "
        "experiments/compare.py experiments/ladder.py experiments/gates.py "
        "maths/statistics.py",
        "unit/test_rescue.py unit/test_rescue_story.py unit/test_rescue_plan.py "
        "unit/test_candidates.py unit/test_compare.py unit/test_ladder.py "
        "unit/test_statistics.py unit/test_gates.py",
    ),
}


@dataclass
class Known:
    """What one test does when nothing is wrong."""

    item: pytest.Item
    seconds: float
    calls: set[tuple[str, int]]  # files and first lines of the functions it calls


class Mutations:
    """A pytest plugin that runs the tests once for each fault."""

    def __init__(self, files: Sequence[Path], sample: int, seconds: float) -> None:
        self._todo = [(file, mutant) for file in files for mutant in mutants_of(file.read_text())]
        if sample and sample < len(self._todo):
            self._todo = sorted(
                random.Random(0).sample(self._todo, sample), key=lambda p: (p[0], p[1].line)
            )
        self._files = {str(file) for file in files}
        self._seconds = seconds
        self.survivors: list[tuple[Path, Mutant]] = []
        self.counts: Counter[Path] = Counter()
        self.endless: Counter[Path] = Counter()
        self._kills: Counter[tuple[Path, str]] = Counter()
        self._trusted: dict[tuple[Path, str], bool] = {}

    def pytest_configure(self) -> None:
        """Random tests try the same examples each time, and remember none."""
        from hypothesis import Phase, settings

        phases = [Phase.explicit, Phase.generate]
        settings.register_profile(
            "mutants", database=None, derandomize=True, deadline=None, phases=phases
        )
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In place of running each test once."""
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined] # once for all
        found = pickle.loads(_in_child(lambda: pickle.dumps(self._watched(session.items)))[1])
        tests = [Known(i, *found[i.nodeid]) for i in session.items if i.nodeid in found]
        for item in session.items:
            if item.nodeid not in found:
                sys.stderr.write(f"{item.nodeid} takes too long, or fails, and is not asked.\n")
        for name in self._files:
            code, _ = _in_child(lambda: _own_text(Path(name)))  # noqa: B023
            if code:
                raise RuntimeError(f"{name} cannot be put in its own place: is it loaded?")
        for number, (file, mutant) in enumerate(self._todo):
            if number % 50 == 0:
                sys.stderr.write(f"{number} of {len(self._todo)} faults\n")
            self.counts[file] += 1
            if not self._noticed(file, mutant, tests):
                self.survivors.append((file, mutant))
                sys.stderr.write(f"{file}:{mutant.line}: {mutant.text}\n")
        return True

    def _noticed(self, file: Path, mutant: Mutant, tests: list[Known]) -> bool:
        while True:
            chosen = list(_chosen(tests, file, mutant, self._kills, self._seconds))
            limit = int(10 + 3 * sum(test.seconds for test in chosen))
            code, said = _in_child(lambda: _exposed(file, mutant, chosen), limit)  # noqa: B023
            if not said:
                self.endless[file] += code in (-signal.SIGPROF, -signal.SIGALRM)
                return code != 0  # crashed, or did not end
            killer = next((test for test in chosen if test.item.nodeid == said.decode()), None)
            self._kills[file, said.decode()] += 1
            if killer is None or self._sound(file, killer):
                return True
            tests = [test for test in tests if test is not killer]

    def _sound(self, file: Path, test: Known) -> bool:
        """Whether a test passes alone, with the file's own text put in its place."""
        key = file, test.item.nodeid
        if key not in self._trusted:
            _, said = _in_child(lambda: _own_text(file, test.item))
            self._trusted[key] = bool(said)
            if not said:
                sys.stderr.write(f"{test.item.nodeid} fails alone, and is not asked of {file}.\n")
        return self._trusted[key]

    def _watched(self, items: Sequence[pytest.Item]) -> dict[str, tuple[float, set[Any]]]:
        """The time of each test that passes in time, and which functions of the files it calls."""
        result = {}
        signal.signal(signal.SIGPROF, lambda *_: pytest.fail("takes too long"))
        for item in items:
            profile = cProfile.Profile(subcalls=False, builtins=False)
            start = time.process_time()  # not of the clock: other programs may be busy
            signal.setitimer(signal.ITIMER_PROF, SLOW)
            profile.enable()
            passed = _passes(item)
            profile.disable()
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            codes = [entry.code for entry in profile.getstats() if not isinstance(entry.code, str)]
            if passed:
                calls = {(c.co_filename, c.co_firstlineno) for c in codes}
                own = {call for call in calls if call[0] in self._files}
                result[item.nodeid] = (time.process_time() - start, own)
        return result


def _chosen(
    tests: Sequence[Known],
    file: Path,
    mutant: Mutant,
    kills: Counter[tuple[Path, str]],
    seconds: float,
) -> Iterator[Known]:
    """Tests that reach the fault: those that found one here before, then the most specific.

    What stands outside of functions is also read by tests that call none (of rules' declarations);
    there are many of them, so they come last.
    """
    first, last = mutant.scope
    here = [test for test in tests if any(name == str(file) for name, _ in test.calls)]
    if not first:
        here += [test for test in tests if not test.calls]
    called = [
        test
        for test in here
        if any(name == str(file) and first <= line <= last for name, line in test.calls)
    ]
    left = seconds
    for test in sorted(
        called or here,  # what runs at import is called by no test
        key=lambda t: (-kills[file, t.item.nodeid], not t.calls, len(t.calls) * (t.seconds + 0.01)),
    ):
        if test.seconds <= left:
            left -= test.seconds
            yield test


def _exposed(file: Path, mutant: Mutant, tests: Sequence[Known]) -> bytes:
    """The name of the first test that fails with the fault in place."""
    try:
        put_in_place(file, mutant.tree(file.read_text()))
    except Exception as error:
        return f"import: {error}".encode()
    return next((t.item.nodeid.encode() for t in tests if not _passes(t.item)), b"")


def _own_text(file: Path, test: pytest.Item | None = None) -> bytes:
    """Whether a test passes where a module's own text was put in its place."""
    put_in_place(file, ast.parse(file.read_text()))
    return b"passed" if test is None or _passes(test) else b""


def _passes(item: pytest.Item) -> bool:
    return all(not report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def _in_child(work: Any, seconds: int = 0) -> tuple[int, bytes]:
    """What a forked child makes of it; a code other than 0 if it crashed or took too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        # A busy machine is not a fault: of the clock there is far more than of the processor.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(20 * seconds)
        try:
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(work())
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def main() -> None:
    """Print the table of each group, and the faults that nobody noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("groups", nargs="*", default=list(GROUPS), metavar="group")
    parser.add_argument("--sample", type=int, default=0, help="faults per group; 0: all")
    parser.add_argument("--only", default="", help="part of the paths to mutate")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of tests, for each fault")
    chosen = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # a forked child has none of its parent's threads
    for group in chosen.groups:
        code, said = _in_child(lambda: _run(group, chosen))  # noqa: B023
        sys.stdout.write(said.decode() if not code else f"{group}: failed\n")
        sys.stdout.flush()


def _run(group: str, chosen: argparse.Namespace) -> bytes:
    globs, names = (text.split() for text in GROUPS[group])
    files = [file for glob in globs for file in sorted((SOURCES / "steadyrl").glob(glob))]
    tests = [f"tests/{name}" for name in names]
    files = [file for file in files if chosen.only in str(file)]
    mutations = Mutations(files, chosen.sample, chosen.seconds)
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
    with tempfile.TemporaryDirectory() as folder:
        code = pytest.main([*OPTIONS, f"--basetemp={folder}/tests", *tests], plugins=[mutations])
    if not mutations.counts:
        raise RuntimeError(f"nothing was looked at; pytest ended with {code}")
    unseen = Counter(file for file, _ in mutations.survivors)
    endless = mutations.endless
    lines = ["", "| module | faults | noticed | share | did not end |", "|---|---|---|---|---|"]
    rows = [
        (str(f.relative_to(SOURCES / "steadyrl")), n, unseen[f], endless[f])
        for f, n in mutations.counts.items()
    ]
    total, missed = mutations.counts.total(), len(mutations.survivors)
    rows.append((f"**{group}**", total, missed, endless.total()))
    lines += [f"| {name} | {n} | {n - u} | {1 - u / n:.0%} | {e} |" for name, n, u, e in rows]
    lines += ["", *(f"{f}:{m.line}: {m.text}" for f, m in mutations.survivors), ""]
    return "\n".join(lines).encode()


if __name__ == "__main__":
    main()
