"""What somebody who means harm may put into a folder: it hangs, fills and opens nothing."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from steadyrl.cli.main import main
from steadyrl.core.errors import CheckpointError, ConfigError, DataError, StoreError
from steadyrl.core.presets import load_config
from steadyrl.dashboard.folder import Folder
from steadyrl.dashboard.results import page_of
from steadyrl.experience.demonstration_files import read_demonstrations
from steadyrl.judging import judge
from steadyrl.stability.usual import _tiny
from steadyrl.store.checkpoints import Checkpoints
from steadyrl.store.foreign.beside import read_beside
from steadyrl.store.foreign.monitors import read_evaluations
from steadyrl.store.reader import RunReader
from steadyrl.store.results import Kind
from steadyrl.views.results import result_page
from tests.unit.test_foreign_runs import sb3_log
from tests.unit.test_pages import _ladder, _rescue
from tests.unit.test_pages import _run as small_run

Put = Callable[[Path], None]


@pytest.fixture(params=["a pipe", "a device"])
def put(request: pytest.FixtureRequest) -> Iterator[Put]:
    """Puts something in a file's place that is none; whoever opens the pipe finds it empty."""
    pipes: list[Path] = []

    def writing(pipe: Path) -> None:
        with pipe.open("wb"):
            pass

    def place(file: Path) -> None:
        file.unlink(missing_ok=True)
        if request.param == "a device":
            file.symlink_to("/dev/null")
            return
        os.mkfifo(file)
        pipes.append(file)
        threading.Thread(target=writing, args=(file,), daemon=True).start()

    yield place
    for pipe in pipes:  # let its writer go
        os.close(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))


@pytest.mark.parametrize("name", ["steps.jsonl", "events.jsonl"])
def test_a_record_that_is_no_file_is_refused(name: str, put: Put, tmp_path: Path) -> None:
    put(small_run(tmp_path / "run") / name)
    with pytest.raises(StoreError, match=f"{name}: cannot be read: it is no ordinary file"):
        judge(RunReader.open(tmp_path / "run"))


@pytest.mark.parametrize("name", ["state.json", "arrays.safetensors"])
def test_a_checkpoint_that_is_no_file_is_refused(name: str, put: Put, tmp_path: Path) -> None:
    store = Checkpoints(tmp_path, keep=2)
    put(store.save({"x": np.ones(3)}, step=3, good=True) / name)
    with pytest.raises(CheckpointError, match="it is no ordinary file"):
        store.load(3)


@pytest.mark.parametrize("name", ["0.monitor.csv", "model.zip", "events.out.tfevents.1.host"])
def test_what_is_no_file_beside_a_log_hides_nothing(name: str, put: Put, tmp_path: Path) -> None:
    put(sb3_log(tmp_path) / name)
    assert judge(tmp_path).steps == 40


@pytest.mark.parametrize("name", ["d.pkl", "d.npz", "d.hdf5"])
def test_demonstrations_that_are_no_file_are_refused(name: str, put: Put, tmp_path: Path) -> None:
    put(tmp_path / name)
    with pytest.raises(DataError, match="it is no ordinary file"):
        read_demonstrations(tmp_path / name)


def _repeated(line: str) -> str:
    """Every level refers to the one above it twelve times: a quarter of a million values."""
    text = "a0: &a0 {x: 1, y: 2}\n"
    for n in range(1, 6):
        names = [f"*a{n - 1}"] * 12
        listed, named = ", ".join(names), ", ".join(f"k{i}: {name}" for i, name in enumerate(names))
        text += line.format(n=n, listed=listed, named=named) + "\n"
    return text


LAUGHS = {
    "lists": _repeated("a{n}: &a{n} [{listed}]"),
    "merges": _repeated("a{n}: &a{n} {{<<: [{listed}]}}"),
    "names": _repeated("a{n}: &a{n} {{{named}}}"),
}


@pytest.mark.parametrize("kind", LAUGHS)
def test_settings_beside_a_log_that_repeat_themselves_are_passed_over(
    kind: str, tmp_path: Path
) -> None:
    (tmp_path / "config.yml").write_text("seed: 3\n" + LAUGHS[kind])
    assert read_beside(tmp_path).files == []


@pytest.mark.parametrize("kind", LAUGHS)
def test_a_config_that_repeats_itself_is_refused(kind: str, tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("algorithm: ddpg\n" + LAUGHS[kind])
    with pytest.raises(ConfigError, match="merge" if kind == "merges" else "repetitions"):
        load_config(tmp_path / "my.yaml")


def test_merges_that_people_write_are_understood(tmp_path: Path) -> None:
    text = "a: &a {x: 1}\nb: &b {y: 2}\nc: {<<: [*a, *b], z: 3}\nd: {<<: *a, x: 4}\n"
    (tmp_path / "config.yml").write_text(text)
    found = read_beside(tmp_path).settings
    assert (found["c/x"], found["c/y"], found["c/z"], found["d/x"]) == (1, 2, 3, 4)


def test_settings_beside_a_log_count_by_their_place(tmp_path: Path) -> None:
    given = {"a": {"rate": 1, "deep": {"rate": 2}}, "rate": 3, "b": {"rate": 4, "only": 5}}
    (tmp_path / "args.json").write_text(json.dumps(given))
    found = read_beside(tmp_path).settings
    named = {"a/rate": 1, "a/deep/rate": 2, "b/rate": 4, "b/only": 5}
    assert found == {"rate": 3, "only": 5, **named}


def _lying_zip(file: Path, name: str) -> None:
    """Fifty megabytes of zeros that are said to be a hundred bytes."""
    size = 50 << 20
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(size))
    said = size.to_bytes(4, "little")
    file.write_bytes(file.read_bytes().replace(said, (100).to_bytes(4, "little")))


def test_a_zip_bomb_beside_a_log_does_not_go_off(tmp_path: Path) -> None:
    _lying_zip(tmp_path / "model.zip", "data")
    _lying_zip(tmp_path / "evaluations.npz", "timesteps.npy")
    tracemalloc.start()
    try:
        assert read_beside(tmp_path).files == []
        assert read_evaluations(tmp_path / "evaluations.npz", []) == {}
        assert tracemalloc.get_traced_memory()[1] < 5 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_that_know_no_bound_are_not_unpacked(packing: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.zip", "w", packing) as archive:
        archive.writestr("data", '{"gamma": 0.9}')
    np.savez(tmp_path / "plain.npz", observations=np.ones((4, 3)), actions=np.ones((4, 1)))
    with (
        zipfile.ZipFile(tmp_path / "plain.npz") as plain,
        zipfile.ZipFile(tmp_path / "d.npz", "w", packing) as archive,
    ):
        for name in plain.namelist():
            archive.writestr(name, plain.read(name))
    assert read_beside(tmp_path).files == []
    assert len(read_demonstrations(tmp_path / "plain.npz")) == 4
    with pytest.raises(DataError, match="packed in an unusual way"):
        read_demonstrations(tmp_path / "d.npz")


WHOLE = {"format": 2, "good": True, "arrays": {}, "state": {}}
STATES: dict[str, str] = {
    "no object": "[1, 2]",
    "nothing": "{}",
    "no state": json.dumps(WHOLE | {"state": None}),
    "arrays that are a list": json.dumps(WHOLE | {"arrays": ["x"]}),
    "a name that is none": json.dumps(WHOLE | {"state": {"__array__": [1]}}),
    "a folder as array": json.dumps(WHOLE | {"arrays": {"..": "0"}}),
    "a digest that is none": json.dumps(WHOLE | {"arrays": {"arrays.safetensors": 3}}),
    "nested too deep": json.dumps(WHOLE).replace("{}}", '{"x": ' + "[" * 5000 + "]" * 5000 + "}}"),
    "no JSON": "{",
}


@pytest.mark.parametrize("name", STATES)
def test_a_checkpoint_of_a_right_checksum_and_a_wrong_content_is_refused(
    name: str, tmp_path: Path
) -> None:
    store = Checkpoints(tmp_path, keep=2)
    path = store.save({"x": np.ones(3)}, step=3, good=True)
    digest = hashlib.sha256(STATES[name].encode()).hexdigest()
    (path / "state.json").write_text(f"{digest}\n{STATES[name]}\n")
    assert store.best() is None
    with pytest.raises(CheckpointError):
        store.load(3)


def test_json_that_is_nested_too_deep_is_damage(tmp_path: Path) -> None:
    run, deep = small_run(tmp_path / "run"), "[" * 100_000
    for name in ("summary.json", ".writer.json"):
        (run / name).write_text(deep)
    assert judge(run).steps == 2
    (tmp_path / "rescue.json").write_text(deep)
    with pytest.raises(StoreError, match="not what `steadyrl rescue` writes"):
        result_page(tmp_path, "rescue")


@pytest.mark.parametrize("content", ["[" * 100_000, "[1]", '{"hidden_size": "x"}'])
def test_a_model_that_a_config_names_is_asked_its_size_and_nothing_else(
    content: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(content)
    assert not _tiny(str(tmp_path))


@pytest.mark.parametrize("way", ["../outside", "{}/outside", "link", "inner"])
@pytest.mark.parametrize(("kind", "write"), [("rescue", _rescue), ("ladder", _ladder)])
def test_a_result_leads_to_no_run_outside_of_its_folder(
    way: str, kind: Kind, write: Callable[[Path, str], None], tmp_path: Path
) -> None:
    outside, folder = small_run(tmp_path / "outside"), tmp_path / "result"
    folder.mkdir()
    small_run(folder / "original")
    (folder / "link").symlink_to(outside)
    inner = small_run(folder / "inner")
    (inner / "steps.jsonl").unlink()
    (inner / "steps.jsonl").symlink_to(outside / "steps.jsonl")
    write(folder, "plain")
    file = folder / f"{kind}.json"
    file.write_text(file.read_text().replace('"original"', json.dumps(way.format(tmp_path))))
    with pytest.raises(StoreError, match="lies outside of it"):
        result_page(folder, kind)


def test_a_result_shows_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "result"
    folder.mkdir()
    small_run(folder / "original")
    _rescue(folder, "plain")
    (tmp_path / "secret").write_text("a secret")
    (folder / "rescued.yaml").unlink()
    (folder / "rescued.yaml").symlink_to(tmp_path / "secret")
    (found,) = (one for one in Folder(folder).look().values() if one.kind == "rescue")
    with pytest.raises(StoreError, match="lies outside of it"):
        page_of(found)


CONTROL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202e"


def test_a_log_cannot_command_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = sb3_log(tmp_path / f"log{CONTROL}\udcff")
    (log / "args.json").write_text(json.dumps({"algo": "ppo", "env_id": f"Env{CONTROL}-v0"}))
    with (log / "progress.csv").open("a") as file:
        file.write(f"{CONTROL}\n")
    for more in ([], ["--propose-mapping"]):
        assert main(["diagnose", str(log), *more]) == 0
        told = capsys.readouterr()
        assert set(told.out + told.err).isdisjoint(CONTROL[0] + "\x07\x9b\x7f\u202e\udcff")


def test_an_error_cannot_command_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.yaml").write_text('algorithm: ddpg\n"\\e]0;owned\\a\\e[2J": 3\n')
    assert main(["check", str(tmp_path / "my.yaml")]) == 2
    told = capsys.readouterr().err
    assert "owned" in told
    assert set(told).isdisjoint("\x1b\x07")
