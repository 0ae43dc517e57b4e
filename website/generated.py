"""Pages that are made from the rules, signals, presets, settings and commands themselves."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from functools import cache
from itertools import groupby, takewhile
from typing import Any

from steadyrl.cli.main import COMMANDS, main
from steadyrl.cli.presets import headline as preset_headline
from steadyrl.core.catalogue import CATALOGUE, Signal
from steadyrl.core.config import Leaf, flatten
from steadyrl.core.package_files import preset_names, preset_text
from steadyrl.core.presets import load_config
from steadyrl.core.registry import ALGORITHMS
from steadyrl.stability.detectors import DEFAULT, OPTIONAL
from steadyrl.stability.explain import KINDS, Rule, all_rules, explain, headline
from website.names import settings

ALGORITHM_PAGES = {
    "ddpg": "DDPG and TD3",
    "ppo": "PPO",
    "trpo": "TRPO",
    "language": "Language models",
    "bc": "Behaviour cloning",
}
WHEN = {
    "live": "between two updates",
    "fork": "at a fork",
    "start": "only at the start",
}
KIND_TITLES = {
    "check": "Checks: before any training",
    "detector": "Detectors: what is seen",
    "cause": "Causes: what explains it",
    "remedy": "Remedies: what to change",
    "probe": "Probes: questions asked on alarm",
    "question": "Questions to an environment, before and while training",
}


def generated_pages() -> dict[str, str]:
    """Every generated page by its place on the site."""
    return dict(
        [
            ("rules/index.md", _rules_index()),
            *((f"rules/{rule.id}.md", _rule_page(rule)) for rule in all_rules()),
            ("signals/index.md", _signals_index()),
            *((f"signals/{name}.md", _signal_page(signal)) for name, signal in CATALOGUE.items()),
            ("presets/index.md", _presets_index()),
            *((f"presets/{name}.md", _preset_page(name)) for name in preset_names()),
            ("settings/index.md", _settings_index()),
            *((f"settings/{name}.md", _setting_page(name)) for name in settings()),
            ("commands.md", _commands_page()),
        ]
    )


# Rules


def _rule_page(rule: Rule) -> str:
    names = "|".join(re.escape(name) for name in sorted(CATALOGUE, key=len, reverse=True))
    text = re.sub(rf"(?<![`\w.])({names})(?![\w`]|\.\w)", r"`\1`", explain(rule))
    needs = getattr(rule, "needs", ())
    if needs:
        text += f"\n**Settings.** {', '.join(f'`{name}`' for name in needs)}\n"
    return f"{text}\n```bash\nsteadyrl explain {rule.id}\n```\n\n[All rules](index.md)\n"


def _rules_index() -> str:
    parts = [
        "# Rules\n\nWhat is looked for, what explains it and what is done about it. "
        "`steadyrl explain C208` prints a rule's page in a terminal.\n"
    ]
    for kind, rules in groupby(all_rules(), key=lambda rule: KINDS[type(rule)]):
        rows = ((f"[{r.id}]({r.id}.md)", r.name, _cell(headline(r))) for r in rules)
        parts.append(f"## {KIND_TITLES[kind]}\n\n{_table(('rule', 'name', ''), rows)}")
    return "\n".join(parts)


# Signals


def _signal_page(signal: Signal) -> str:
    readers = [rule for rule in (*DEFAULT, *OPTIONAL) if signal.name in (*rule.reads, *rule.any_of)]
    rows = [
        ("unit", signal.unit),
        ("per Step", f"the {signal.reduce} of what was measured since the Step before"),
        ("TensorBoard tag", f"`{signal.tag}`"),
        ("a NaN says", signal.nan_when or "that something broke"),
        ("exact on resume", "yes" if signal.deterministic else "no: it depends on the clock"),
        ("read by", ", ".join(f"{rule.id} {rule.name}" for rule in readers) or "no detector"),
    ]
    table = _table(("", ""), rows)
    about = _sentence(signal.meaning)
    return f"# {signal.name}\n\n{about}\n\n{table}\n[All signals](index.md)\n"


def _signals_index() -> str:
    parts = [
        "# Signals\n\nEvery number that a run can record. `steadyrl signals` prints the same list; "
        "a trainer cannot record a signal that is not declared.\n"
    ]
    by_group = sorted(CATALOGUE.values(), key=lambda signal: signal.name.partition(".")[0])
    for group, signals in groupby(by_group, key=lambda signal: signal.name.partition(".")[0]):
        rows = ((f"[`{s.name}`]({s.name}.md)", _cell(s.meaning), s.unit) for s in signals)
        parts.append(f"## {group}\n\n{_table(('signal', 'meaning', 'unit'), rows)}")
    return "\n".join(parts)


# Presets


def _preset_page(name: str) -> str:
    header = list(takewhile(lambda line: line.startswith("#"), preset_text(name).splitlines()))
    body = "\n".join(preset_text(name).splitlines()[len(header) :])
    about = [line.removeprefix("#").strip() for line in header]
    told = "\n".join(f"> {line}".rstrip() for line in about).rstrip("> \n")
    rows = (
        (f"`{setting}`", f"`{value}`", f"`{default}`" if default else "none")
        for setting, value, default in _unusual(name)
    )
    return (
        f"# {name}\n\n{told}\n\n"
        f"```bash\nsteadyrl train {name}\nsteadyrl presets {name} > mine.yaml\n```\n\n"
        f"## What differs from the defaults\n\n{_table(('setting', 'here', 'default'), rows)}\n"
        f"## The whole preset\n\n```yaml\n{body}\n```\n\n[All presets](../index.md)\n"
    )


@cache
def _unusual(preset: str) -> tuple[tuple[str, str, str], ...]:
    """Settings of a preset whose value is not the default: (name, value, default)."""
    plain = load_config(preset).plain()
    found = []
    for name, value in flatten(plain):
        of = settings().get(name, {}).get(plain["algorithm"])
        if of is None:  # an entry of environment.settings: free names have no default
            found.append((name, _value(value), ""))
        elif of.needed or _value(value) != _value(of.default):
            found.append((name, _value(value), "" if of.needed else _value(of.default)))
    return tuple(found)


def _presets_index() -> str:
    parts = [
        "# Presets\n\nConfigs that come with the package, each headed by where it is from and what "
        "it scored. `steadyrl presets NAME > mine.yaml` makes one yours.\n"
    ]
    for algorithm, names in groupby(preset_names(), key=lambda name: name.partition("/")[0]):
        rows = ((f"[`{name}`]({name}.md)", _cell(preset_headline(name))) for name in names)
        parts.append(f"## {ALGORITHM_PAGES[algorithm]}\n\n{_table(('preset', ''), rows)}")
    return "\n".join(parts)


# Settings


def _setting_page(name: str) -> str:
    by_algorithm = settings()[name]
    rows = (
        (
            ALGORITHM_PAGES[algorithm],
            "must be given" if leaf.needed else f"`{_value(leaf.default)}`",
            _allowed(leaf),
            WHEN[leaf.changes],
            _cell(leaf.meaning),
        )
        for algorithm, leaf in by_algorithm.items()
    )
    rules = [rule for rule in all_rules() if name in getattr(rule, "needs", ())]
    used = [
        f"`{preset}`: `{value}`"
        for preset in preset_names()
        for setting, value, _ in _unusual(preset)
        if setting == name
    ]
    flag = "--" + name.replace("_", "-")
    parts = [
        f"# {name}\n\nFlag: `{flag}`. In a YAML file: `{'` > `'.join(name.split('.'))}`.\n",
        _table(("algorithm", "default", "allowed", "may change", "meaning"), rows),
    ]
    if rules:
        listed = ", ".join(f"{rule.id} {rule.name}" for rule in rules)
        parts.append(f"**Rules that look at it or change it.** {listed}\n")
    if used:
        parts.append("**Presets that differ.** " + ", ".join(used) + "\n")
    return "\n".join([*parts, "[All settings](index.md)\n"])


def _settings_index() -> str:
    parts = [
        "# Settings\n\nEvery setting is a line of a YAML file and a flag of `steadyrl train`, "
        "`check` and `rescue`: `environment.count` is `--environment.count 4`, `batch_size` is "
        "`--batch-size 512`. `steadyrl train CONFIG --help` lists those of a config with their "
        "values.\n"
    ]
    for algorithm in ALGORITHMS:
        rows = (
            (
                f"[`{name}`]({name}.md)",
                "must be given" if of[algorithm].needed else f"`{_value(of[algorithm].default)}`",
                _cell(of[algorithm].meaning),
            )
            for name, of in settings().items()
            if algorithm in of
        )
        table = _table(("setting", "default", "meaning"), rows)
        parts.append(f"## {ALGORITHM_PAGES[algorithm]}\n\n{table}")
    return "\n".join(parts)


def _allowed(leaf: Leaf) -> str:
    choices = re.match(r"Literal\[(.+)\]", leaf.kind)
    if choices:
        return ", ".join(f"`{choice}`" for choice in re.findall(r"'([^']+)'", choices[1]))
    kind = {
        "int": "a whole number",
        "float": "a number",
        "bool": "`true` or `false`",
        "str": "text",
    }.get(leaf.kind.removesuffix(" | None"), "")
    if leaf.kind.startswith("tuple[str"):
        kind = "a list of texts"
    elif leaf.kind.startswith("tuple"):
        kind = "a list of whole numbers"
    elif leaf.kind.startswith("dict"):
        kind = "names and values"
    null = "or `null`" if leaf.kind.endswith("| None") else ""
    return ", ".join(part for part in (kind, leaf.allowed, null) if part)


def _value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return str(list(value) if isinstance(value, tuple) else value)


# Commands


def _commands_page() -> str:
    parts = [
        "# Commands\n\nWhat `steadyrl COMMAND --help` prints. Every command takes `--json`. Exit "
        "codes: 0 fine, 1 a check failed, 2 bad input, 130 interrupted.\n"
    ]
    parts += [f"## {name}\n\n```text\n{_help_of(name).rstrip()}\n```\n" for name in COMMANDS]
    return "\n".join(parts)


def _help_of(command: str) -> str:
    told = io.StringIO()
    with redirect_stdout(told):
        try:
            main([command, "--help"])
        except SystemExit as ended:
            if ended.code:
                raise
    return told.getvalue()


# Markdown


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
