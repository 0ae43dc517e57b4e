"""Every rule's text as the package carries it: told at once, for no rule is imported.

`make docs` writes it from the rules themselves (explain.py); a test holds that it says the same.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeVar

from steadyrl.core.errors import ConfigError
from steadyrl.core.package_files import written


class RuleText(NamedTuple):
    """What a rule says of itself."""

    id: str
    name: str
    kind: str
    headline: str
    text: str  # all of it, as Markdown


class Named(Protocol):
    """What a rule can be asked for by."""

    @property
    def id(self) -> str:
        """Such as D101."""

    @property
    def name(self) -> str:
        """Such as policy-jumps."""


N = TypeVar("N", bound=Named)


def rule_texts() -> list[RuleText]:
    """Of every rule, in the order of `all_rules`."""
    return [RuleText(**record) for record in written("rules")]


def by_id_or_name(identity: str, rules: Iterable[N]) -> N:
    """The rule that is asked for; an error that names the closest if there is none."""
    names = []
    for rule in rules:
        if identity.lower() in (rule.id.lower(), rule.name):
            return rule
        names += [rule.id, rule.name]
    close = difflib.get_close_matches(identity, names, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    raise ConfigError(f"no rule '{identity}'.{hint} 'steadyrl rules' lists them all.")


def page_of(texts: Iterable[RuleText]) -> str:
    """All rules as one Markdown page: docs/rules.md."""
    intro = "# Rules\n\nGenerated from the rules themselves by `make docs`; do not edit.\n"
    return "\n".join([intro, *(f"#{rule.text}" for rule in texts)])
