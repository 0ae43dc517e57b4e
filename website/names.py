"""Every name that a page may speak of, and the page that explains it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from posixpath import dirname, relpath

from steadyrl.core.catalogue import CATALOGUE
from steadyrl.core.config import Leaf, Settings, group_of, leaves
from steadyrl.core.package_files import preset_names
from steadyrl.core.registry import ALGORITHMS, config_class
from steadyrl.stability.explain import all_rules
from website.markdown import LINK, SPAN, rewritten

RULE = re.compile(r"\b[SDCRQE]\d{3}\b")


@cache
def settings() -> Mapping[str, Mapping[str, Leaf]]:
    """Every setting, and what it is in each algorithm that has it."""
    found: dict[str, dict[str, Leaf]] = {}
    for algorithm in ALGORITHMS:
        for leaf in leaves(config_class(algorithm)):
            found.setdefault(leaf.name, {})[algorithm] = leaf
    return found


@cache
def groups() -> frozenset[str]:
    """Settings that hold others, such as `environment`."""
    return frozenset(
        name for algorithm in ALGORITHMS for name in _groups(config_class(algorithm), "")
    )


def _groups(model: type[Settings], prefix: str) -> list[str]:
    found = [(name, group_of(model, name)) for name in model.model_fields]
    return [
        each
        for name, group in found
        if group is not None
        for each in (prefix + name, *_groups(group, f"{prefix}{name}."))
    ]


@cache
def pages() -> Mapping[str, str]:
    """A name, and the page of the site that explains it; signals before settings."""
    return {
        **{name: f"settings/{name}.md" for name in settings()},
        **{name: f"signals/{name}.md" for name in CATALOGUE},
        **{name: f"presets/{name}.md" for name in preset_names()},
        **{rule.id: f"rules/{rule.id}.md" for rule in all_rules()},
    }


def linked(text: str, page: str) -> str:
    """A page's text with each name that has a page of its own made a link to it."""
    places = pages()

    def link(shown: str, name: str) -> str:
        place = places.get(name)
        if place is None or place == page or ("." not in name and place.startswith("settings/")):
            return shown
        return f"[{shown}]({relpath(place, dirname(page) or '.')})"

    def change(line: str) -> str:
        kept: list[str] = []  # links as they are, and code spans, out of reach of what follows

        def keep(found: str) -> str:
            kept.append(found)
            return f"\0{len(kept) - 1}\0"

        line = LINK.sub(lambda found: keep(found[0]), line)
        line = SPAN.sub(lambda found: keep(link(found[0], found[2].strip())), line)
        line = RULE.sub(lambda found: keep(link(found[0], found[0])), line)
        while "\0" in line:
            line = re.sub(r"\0(\d+)\0", lambda found: kept[int(found[1])], line)
        return line

    return rewritten(text, change)
