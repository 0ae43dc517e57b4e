"""A run of ours that goes on, judged again whenever something is new."""

from __future__ import annotations

from steadyrl.core.choices import Limits
from steadyrl.core.records import Step
from steadyrl.core.run_config import RunConfig
from steadyrl.judging import Judged, Observed, held_to, is_left, judged_as_seen, observe
from steadyrl.stability.monitor import Monitor
from steadyrl.store.intact import is_step
from steadyrl.store.reader import RunReader
from steadyrl.store.tail import Tail


class LiveJudge:
    """Judges a run of ours again and again, and reads only what is new of it."""

    def __init__(self, store: RunReader, limits: Limits | None = None) -> None:
        self._store, self._limits = store, limits
        self._tail = Tail(store.path / "steps.jsonl", is_step)
        self._known: object = None
        self._config: RunConfig | None = None
        self._observed = Observed(Monitor())

    def judged(self) -> Judged | None:
        """The run as it stands, or None if nothing has changed since the last look."""
        known = self._stamp()
        if known == self._known:
            return None
        self._known = known
        config = held_to(self._store.config_in_force(), self._limits)
        records, rewound = self._tail.new()
        if rewound or config != self._config:  # another past, or another end
            self._observed = observe(self._store, config)
            self._observed.columns, self._observed.steps = None, ()  # nobody draws it here
        self._config, seen = config, self._observed
        for step in map(Step.from_json, records):
            if step.index > seen.last:
                seen.add(step)
        return judged_as_seen(self._store, config, seen)

    def _stamp(self) -> object:
        files = [self._store.path / n for n in ("steps.jsonl", "events.jsonl", "summary.json")]
        stats = [file.stat() if file.exists() else None for file in files]
        return [(s.st_size, s.st_mtime_ns) if s else None for s in stats], is_left(self._store.path)
