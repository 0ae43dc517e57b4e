"""Names of runs: short, and never the same for two of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """The shortest ends of paths that tell them apart; what is given twice gets a number."""
    whole = [Path(os.path.abspath(path)).parts for path in paths]  # noqa: PTH100 - without ".."
    names: dict[tuple[str, ...], str] = {}
    for length in count(1):
        ends = Counter(parts[-length:] for parts in set(whole))
        for parts in whole:
            if ends[parts[-length:]] == 1:
                names.setdefault(parts, str(Path(*parts[-length:])))
        if len(names) == len(set(whole)):
            break
    given: Counter[tuple[str, ...]] = Counter()
    found = []
    for parts in whole:
        given[parts] += 1
        found.append(names[parts] + (f" ({given[parts]})" if given[parts] > 1 else ""))
    return found
