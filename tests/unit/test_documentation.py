"""Links lead somewhere, pages are found, what is named exists, commands are typed right."""

from __future__ import annotations

import argparse
import importlib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

import steadyrl
from steadyrl.cli.main import COMMANDS
from steadyrl.cli.settings import parse_setting_flags
from steadyrl.core.catalogue import CATALOGUE
from steadyrl.core.errors import ConfigError
from steadyrl.core.package_files import preset_names
from steadyrl.core.presets import load_config
from steadyrl.core.registry import ALGORITHMS
from steadyrl.stability.explain import all_rules
from website.checks import broken_links, lost_pages, navigation, requests
from website.markdown import anchors, commands, links, spans
from website.names import RULE, groups, linked, settings
from website.reference import BESIDE, PARTS
from website.staging import PICTURES, ROOT, hand_written, staged_pages

PAGES = {page: (ROOT / page).read_text("utf-8") for page in hand_written()}
NOTES = "docs/from-the-notes.md"
OF_PYTHON = {  # names of code, not of settings or signals
    "env.faults", "env.reset", "gymnasium.make", "gymnasium.register", "gymnasium.spaces.flatten",
    "live.now", "os.system", "run.drive", "safetensors.numpy.save", "torch.func.jvp", "torch.relu",
    "torch.optim",
}  # fmt: skip
FILES = re.compile(
    r".*\.(bin|csv|html|ipynb|json|jsonl|log|md|npz|onnx|pt|py|safetensors|toml|txt|yaml|yml|zip)"
)


@cache
def staged() -> Mapping[str, str]:
    return staged_pages()


def pictures(prefix: str) -> set[str]:
    found = (file for file in (ROOT / "docs").rglob("*") if file.suffix in PICTURES)
    return {prefix + file.relative_to(ROOT / "docs").as_posix() for file in found}


# Links and pages


def test_every_link_of_the_repository_leads_somewhere() -> None:
    assert list(broken_links(PAGES, pictures("docs/"))) == []


def test_every_link_of_the_site_leads_somewhere() -> None:
    assert list(broken_links(staged(), pictures(""))) == []


def test_every_page_of_the_site_can_be_found() -> None:
    assert list(lost_pages(staged(), navigation(ROOT / "mkdocs.yml"))) == []


def test_every_rule_signal_preset_and_setting_has_a_page() -> None:
    pages = staged()
    for folder, names in {
        "rules": [rule.id for rule in all_rules()],
        "signals": CATALOGUE,
        "presets": preset_names(),
        "settings": settings(),
    }.items():
        assert [name for name in names if f"{folder}/{name}.md" not in pages] == []


def test_the_api_page_has_every_exported_name_and_what_it_names_exists() -> None:
    exported = {name for _, names in PARTS for name in names}
    assert exported == set(steadyrl.__all__) - {"__version__"}
    for _, places in BESIDE:
        for place in places:
            module = ROOT / "src" / f"{place.rpartition('.')[0].replace('.', '/')}.py"
            package = ROOT / "src" / f"{place.replace('.', '/')}.py"
            name = place.rpartition(".")[2]
            assert package.is_file() or f"class {name}" in module.read_text("utf-8"), place


def test_the_site_is_built_by_the_version_that_was_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (pinned,) = [line for line in project["optional-dependencies"]["docs"] if "zensical" in line]
    assert pinned in (ROOT / "constraints.txt").read_text("utf-8").splitlines()


# What is named exists


def test_dotted_names_are_settings_signals_or_code() -> None:
    known = {*settings(), *groups(), *CATALOGUE, *OF_PYTHON}
    dotted = re.compile(r"[a-z_]+(\.[a-z_]+)+")
    free = ("environment.settings.", "steadyrl.", "nn.")
    unknown = [
        f"{page}:{line}: {name}"
        for page, text in PAGES.items()
        for line, name in spans(text)
        if page != "CHANGELOG.md"  # tells of names that have gone, too
        and dotted.fullmatch(name)
        and not FILES.fullmatch(name)
        and name not in known
        and not name.startswith(free)
    ]
    assert unknown == []


def test_rules_that_are_named_exist() -> None:
    known = {rule.id for rule in all_rules()}
    unknown = [
        f"{page}: {name}"
        for page, text in PAGES.items()
        for name in set(RULE.findall(text)) - known
        if page != "CHANGELOG.md"  # tells of rules that have gone, too
    ]
    assert unknown == []


# Commands are typed right


class Parsed(Exception):
    """The arguments were accepted; nothing is run."""


class Parser(argparse.ArgumentParser):
    """Stops where a command would begin, with what it was given."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        raise Parsed(super().parse_args(args, namespace), list(args))

    def error(self, message: str) -> NoReturn:
        raise AssertionError(message)


def parse(call: Sequence[str]) -> None:
    """Through the command's own parser, settings included; an AssertionError says what is wrong."""
    name, *rest = call
    assert name in COMMANDS, f"no command '{name}'"
    command = importlib.import_module(f"steadyrl.cli.{COMMANDS[name][0]}")
    try:
        command.main(Parser(prog=name, allow_abbrev=False), list(rest))
    except Parsed as parsed:
        arguments, own = parsed.args
        left = list((Counter(rest) - Counter(own)).elements())
        _settings_exist(arguments, parse_setting_flags(left) if own != rest else {})


def _settings_exist(arguments: argparse.Namespace, changes: Mapping[str, Any]) -> None:
    config = str(getattr(arguments, "config", None) or getattr(arguments, "target", None) or "")
    if config.partition("/")[0] in ALGORITHMS and "/" in config:
        load_config(config, changes)
    for setting in changes:
        free = setting.startswith("environment.settings.")
        assert free or setting in settings(), f"no setting '{setting}'"


SHOWN = [
    pytest.param(call, id=f"{page}:{line}")
    for page, text in PAGES.items()
    for line, call in commands(text)
    if call and call[0] not in ("--help", "--version")
]


@pytest.mark.parametrize("call", SHOWN)
def test_commands_that_are_shown_parse(call: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    parse(call)


def test_a_command_that_is_typed_wrong_is_noticed() -> None:
    for call in (
        ["trian", "ddpg/stage1"],
        ["train", "ddpg/stage1", "--no-such-setting", "1"],
        ["diagnose", "runs/one", "--no-such-flag"],
    ):
        with pytest.raises((AssertionError, ConfigError)):
            parse(call)


# The map from the field notes


def test_what_the_field_notes_are_mapped_to_exists(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [line for line in PAGES[NOTES].splitlines() if line.startswith("| ")]
    ours = [span for row in rows for cell in row.split(" | ")[1:] for _, span in spans(cell)]
    assert len(ours) > 150
    for name in ours:
        if name.startswith("steadyrl "):
            parse(name.split()[1:])
        elif name.startswith("--"):
            assert name.split()[0] in ("--gates", "--limits", "--name", "--runs"), name
        elif name != "make demo":
            _named(name)


def _named(name: str) -> None:
    known = {*settings(), *groups(), *CATALOGUE, *preset_names()}
    setting, colon, value = name.partition(": ")
    if colon:
        assert any(
            value in leaf.kind or leaf.kind == "bool" for leaf in settings()[setting].values()
        )
    elif not name.startswith("environment.settings."):
        choices = {choice for of in settings().values() for leaf in of.values()
                   for choice in re.findall(r"'(\w+)'", leaf.kind)}  # fmt: skip
        assert name in known | choices | {"ladder", "runs"}, name


# The tools themselves


def test_links_that_lead_nowhere_are_told() -> None:
    pages = {
        "a.md": "# A b\n[x](b.md) [y](b.md#two) [z](#a-b) [w](gone.md) `[c](code.md)`\n"
        "```\n[d](block.md)\n```\n![p](p.png) [far](https://example.org/x)\n",
        "b.md": "# One\n[back](a.md#nowhere)\n",
    }
    assert list(broken_links(pages, {"p.png"})) == [
        "a.md:2: b.md has no heading '#two'",
        "a.md:2: gone.md does not exist",
        "b.md:2: a.md has no heading '#nowhere'",
    ]


def test_pages_that_nobody_finds_are_told() -> None:
    pages = {"index.md": "", "lost.md": "", "rules/index.md": "[C1](C1.md)", "rules/C1.md": ""}
    found = list(lost_pages(pages, {"index.md", "rules/index.md", "missing.md"}))
    assert found == [
        "mkdocs.yml: the navigation names missing.md, which does not exist",
        "lost.md: neither in the navigation of mkdocs.yml nor in its folder's index",
    ]


def test_requests_that_would_leave_the_machine_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="https://x.org">x</a><img src="p.png">')
    (tmp_path / "b.html").write_text('<script src="https://cdn.example/x.js"></script>')
    (tmp_path / "c.css").write_text("body { background: url(//example.org/x.png) }")
    assert [line.partition(":")[0] for line in requests(tmp_path)] == ["b.html", "c.css"]


def test_headings_become_anchors_as_forges_spell_them() -> None:
    text = (
        "# Which `batch` size: ladder\n## Again\n## Again\n```\n# no heading\n```\n## 快速 开始\n"
    )
    assert anchors(text) == {"which-batch-size-ladder", "again", "again-1", "快速-开始"}


def test_names_are_linked_where_they_stand_in_prose_only() -> None:
    text = "# C208\nC208, `policy.kl`, [C208](x.md), `C208 x`, `tau`\n```\nC208\n```\n"
    assert linked(text, "presets/index.md") == (
        "# C208\n[C208](../rules/C208.md), [`policy.kl`](../signals/policy.kl.md), [C208](x.md), "
        "`C208 x`, `tau`\n```\nC208\n```\n"
    )
    assert list(links("`[x](y.md)` [z](w.md)")) == [(1, "w.md")]


def test_commands_are_found_in_shell_blocks() -> None:
    text = (
        "```bash\nother x\nsteadyrl check a.yaml   # why\n"
        "steadyrl train b \\\n  --seed 1 > log\n```\n"
    )
    assert [call for _, call in commands(text)] == [
        ["check", "a.yaml"],
        ["train", "b", "--seed", "1"],
    ]
