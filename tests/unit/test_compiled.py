"""Compiled passes: the same numbers as torch's, and torch's where they cannot be had."""

from __future__ import annotations

import copy
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

from steadyrl.algorithms.common.training import prepare
from steadyrl.core.presets import load_config
from steadyrl.nets import compiling
from steadyrl.nets.compiled import CompiledNetwork, passes_of, relu_network
from steadyrl.nets.compiling import kernel
from steadyrl.nets.dense import DenseNetwork, Output
from steadyrl.run import train
from steadyrl.store.reader import RunReader
from steadyrl.views.run import run_view

HERE = torch.backends.cpu.get_cpu_capability()
KINDS = {"AVX512": ["AVX512", "AVX2"], "AVX2": ["AVX2"]}.get(HERE, [])  # what runs here
can_compile = pytest.mark.skipif(
    not KINDS or shutil.which("cc") is None, reason="no compiler, or a processor without AVX2"
)
# One unit, fewer rows than a vector, more of all than a tile, inputs more than a panel is deep.
SIZES = [(3, 1, 1), (4, 256, 256, 1), (23, 300, 33, 6), (600, 64, 17), (5, 2), (9, 40, 40, 40, 5)]


@pytest.fixture(autouse=True)
def _one_thread_and_no_memory() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    kernel.cache_clear()
    yield
    kernel.cache_clear()
    torch.set_num_threads(before)


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _pair(sizes: tuple[int, ...], output: Output = "linear") -> tuple[DenseNetwork, DenseNetwork]:
    found = relu_network(sizes, compiled=True, output=output, seed=1)
    assert isinstance(found, CompiledNetwork)
    return found, DenseNetwork(sizes, output=output, seed=1)


@can_compile
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output", ["linear", "tanh"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_compiled_passes_are_torchs(
    sizes: tuple[int, ...], output: Output, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: kind)
    compiled, plain = _pair(sizes, output)
    assert kernel() is not None
    for rows in (1, 15, 16, 17, 32, 33, 128, 513):
        inputs, slopes = _random(rows, sizes[0]), _random(rows, sizes[-1], seed=1)
        torch.testing.assert_close(
            compiled.forward(inputs), plain.forward(inputs), rtol=1e-4, atol=1e-4
        )
        hidden = zip(compiled.hidden_activations(), plain.hidden_activations(), strict=True)
        for one, other in hidden:
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
        for first in (None, 0, sizes[0] - 1):
            found = compiled.backward(slopes, inputs_from=first)
            wanted = plain.backward(slopes, inputs_from=first)
            torch.testing.assert_close(
                compiled.gradient, plain.gradient, rtol=1e-3, atol=1e-3 * rows**0.5
            )
            torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


@can_compile
def test_inputs_and_slopes_that_are_views_are_read_as_they_are() -> None:
    compiled, plain = _pair((4, 40, 2))
    inputs, slopes = _random(40, 9)[:, 2:6], _random(2, 40).t()
    torch.testing.assert_close(compiled.forward(inputs), plain.forward(inputs))
    compiled.backward(slopes)
    plain.backward(slopes)
    torch.testing.assert_close(compiled.gradient, plain.gradient, rtol=1e-4, atol=1e-4)


@can_compile
def test_asking_only_for_the_inputs_gradient_leaves_the_weights_gradient_alone() -> None:
    compiled, plain = _pair((4, 40, 1))
    for network in (compiled, plain):
        network.forward(_random(40, 4))
    found = compiled.backward(_random(40, 1), parameters=False, inputs_from=1)
    torch.testing.assert_close(found, plain.backward(_random(40, 1), inputs_from=1))
    assert not compiled.gradient.any()


@can_compile
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_stays_so(bad: float) -> None:
    compiled, _ = _pair((3, 40, 40, 2))
    inputs = _random(40, 3)
    inputs[7, 1] = bad
    outputs = compiled.forward(inputs)
    assert not torch.isfinite(outputs[7]).any()
    assert torch.isfinite(outputs[:7]).all()  # other rows do not suffer
    assert torch.isfinite(outputs[8:]).all()
    compiled.parameters[0] = torch.nan
    assert torch.isnan(compiled.forward(_random(40, 3))).all()


@can_compile
def test_outputs_are_the_callers_to_keep_and_clones_are_independent() -> None:
    compiled, _ = _pair((3, 40, 2), "tanh")
    first = compiled.forward(_random(40, 3))
    kept = first.clone()
    twin = compiled.clone()
    twin.parameters.zero_()
    compiled.forward(_random(40, 3, seed=1))
    assert torch.equal(first, kept)
    assert torch.equal(compiled.forward(_random(40, 3)), kept)
    assert not twin.forward(_random(40, 3)).any()


@can_compile
def test_what_somebody_has_made_torchs_defaults_changes_no_number() -> None:
    compiled, plain = _pair((3, 40, 2))
    inputs, slopes = _random(40, 3), _random(40, 2)
    try:
        torch.set_default_dtype(torch.float64)
        found = compiled.forward(inputs)
        through = compiled.backward(slopes, inputs_from=0)
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(found, plain.forward(inputs))
    torch.testing.assert_close(through, plain.backward(slopes, inputs_from=0))


@can_compile
def test_a_network_of_other_numbers_is_torchs() -> None:
    try:
        torch.set_default_dtype(torch.float64)
        compiled, plain = _pair((3, 40, 2))
    finally:
        torch.set_default_dtype(torch.float32)
    for network in (compiled, plain):
        with pytest.raises(RuntimeError, match="dtype"):
            network.forward(_random(40, 3))


@can_compile
def test_others_may_not_put_another_folder_in_the_place_of_the_kernels(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "steadyrl").mkdir()
    (tmp_path / "steadyrl").chmod(0o775)  # as a user with umask 002 makes it
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel() is not None
    assert (tmp_path / "steadyrl").stat().st_mode & 0o777 == 0o755


def test_root_leaves_nothing_in_the_home_of_somebody_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stranger = tmp_path.stat().st_uid + 1
    monkeypatch.setattr(os, "getuid", lambda: 0)
    there = os.stat_result((0o40755, 0, 0, 2, stranger, stranger, 0, 0, 0, 0))
    found = Path.stat
    monkeypatch.setattr(
        Path, "stat", lambda self, **how: there if self == tmp_path else found(self, **how)
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel() is None
    assert not (tmp_path / "steadyrl").exists()


@can_compile
def test_a_tangent_can_still_be_had() -> None:
    compiled, plain = _pair((3, 40, 2))
    for network in (compiled, plain):
        network.forward(_random(40, 3))
    direction = _random(len(plain.parameters))
    torch.testing.assert_close(
        compiled.tangent(direction), plain.tangent(direction), rtol=1e-4, atol=1e-4
    )


def _no_compiler(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("CC", str(folder / "nowhere"))


def _compiler_that_nobody_can_read(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("CC", 'gcc "-O3')


def _compiler_that_fails(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("CC", "false")


def _folder_that_others_may_fill(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "steadyrl" / "kernels").mkdir(parents=True)
    (folder / "steadyrl" / "kernels").chmod(0o777)


def _no_folder(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "steadyrl").write_text("not a folder", "utf-8")


def _nobody(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A container's user: no name, no home; and somebody else was in the common folder first."""

    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", nowhere)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    theirs = folder / f"steadyrl-{os.getuid()}" / "kernels"
    theirs.mkdir(parents=True)
    theirs.chmod(0o777)


def _old_processor(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")


@pytest.mark.parametrize(
    "without",
    [
        _no_compiler,
        _compiler_that_nobody_can_read,
        _compiler_that_fails,
        _folder_that_others_may_fill,
        _no_folder,
        _nobody,
        _old_processor,
    ],
)
def test_without_a_kernel_torch_computes_and_nothing_is_said(
    without: object,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert callable(without)
    without(monkeypatch, tmp_path)
    assert kernel() is None
    network, plain = _pair((3, 40, 2), "tanh")
    inputs, slopes = _random(40, 3), _random(40, 2)
    assert torch.equal(network.forward(inputs), plain.forward(inputs))
    found, wanted = network.backward(slopes, inputs_from=0), plain.backward(slopes, inputs_from=0)
    assert found is not None
    assert wanted is not None
    assert torch.equal(found, wanted)
    assert torch.equal(network.gradient, plain.gradient)
    assert passes_of(network) == ""
    assert capfd.readouterr() == ("", "")


@can_compile
@pytest.mark.parametrize("words", ["", "env cc", "cc -g0"])
def test_a_compiler_may_be_several_words_or_the_usual_one(
    words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", words)
    assert kernel() is not None


@can_compile
def test_a_kernel_is_kept_and_one_that_is_damaged_is_made_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert kernel() is not None
    (file,) = (tmp_path / "steadyrl" / "kernels").iterdir()
    kernel.cache_clear()
    with monkeypatch.context() as context:
        context.setenv("CC", "false")
        assert kernel() is not None  # nothing needs to be compiled
    # Elsewhere: what is loaded here already is not loaded again.
    elsewhere = tmp_path / "elsewhere" / "steadyrl" / "kernels" / file.name
    elsewhere.parent.mkdir(parents=True, mode=0o700)
    elsewhere.write_bytes(file.read_bytes()[:5000])  # loading it would end the process
    elsewhere.chmod(0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    kernel.cache_clear()
    assert kernel() is not None
    assert elsewhere.read_bytes() == file.read_bytes()
    kernel.cache_clear()
    monkeypatch.setattr(compiling, "SOURCE", tmp_path / "other.c")
    (tmp_path / "other.c").write_text("int stride_of(int rows) { return rows; }\n", "utf-8")
    assert kernel() is None  # of another source, another file; and it is not the one wanted


@can_compile
def test_what_does_not_fit_is_refused_as_torch_refuses_it() -> None:
    compiled, plain = _pair((4, 40, 2))
    for wrong in (
        _random(40, 4).double(),
        _random(40, 4).to(torch.uint8),
        _random(40, 3),
        _random(40, 5),
        _random(4),
        _random(2, 40, 4),
    ):
        for network in (compiled, plain):
            with pytest.raises((RuntimeError, IndexError, ValueError)):
                network.forward(wrong)
    compiled.forward(_random(40, 4))
    for slopes in (_random(40, 1), _random(39, 2), _random(40, 2).double()):
        with pytest.raises(ValueError, match="slopes of shape"):
            compiled.backward(slopes)
    with pytest.raises(ValueError, match="inputs_from"):
        compiled.backward(_random(40, 2), inputs_from=-1)


@can_compile
def test_no_rows_are_no_gradient_and_a_network_can_be_copied() -> None:
    compiled, _ = _pair((4, 40, 2))
    compiled.gradient.fill_(7.0)
    assert compiled.forward(_random(0, 4)).shape == (0, 2)
    compiled.backward(_random(0, 2))
    assert not compiled.gradient.any()
    inputs = _random(40, 4)
    expected = compiled.forward(inputs).clone()
    assert torch.equal(copy.deepcopy(compiled).forward(inputs), expected)


def test_only_one_thread_of_a_processor_is_compiled_for() -> None:
    sizes = (3, 8, 1)
    assert type(relu_network(sizes, compiled=False)) is DenseNetwork
    assert type(relu_network(sizes, compiled=True, precision="bf16")) is DenseNetwork
    torch.set_num_threads(2)
    assert type(relu_network(sizes, compiled=True)) is DenseNetwork


@can_compile
def test_a_run_says_who_computed_it(tmp_path: Path) -> None:
    small = {"total_env_steps": 300, "learning_starts": 100, "evaluation.episodes": 0}
    for compiled, told in ((True, True), (False, False)):
        config = load_config("ddpg/pendulum", {**small, "compiled": compiled})
        _, path = train(config, tmp_path / str(compiled))
        view = run_view(RunReader.open(path), "run")
        assert ("compiled passes" in view.made_with[0]) is told
        library = kernel()
        assert library is not None
        assert (library.digest in view.made_with[0]) is told  # another compiler, other digits


@can_compile
def test_an_update_ends_in_the_same_weights_compiled_or_not() -> None:
    ends = []
    for compiled in (True, False):
        settings = {
            "total_env_steps": 112,  # twelve updates: before digits have grown apart
            "learning_starts": 100,
            "log_every": 112,
            "batch_size": 64,
            "evaluation.episodes": 0,
            "compiled": compiled,
        }
        training = prepare(load_config("ddpg/pendulum", settings))
        assert bool(training.passes) is compiled
        list(training.steps)
        state = training.learner.state_dict()["parts"]
        ends.append({part: state[part]["parameters"] for part in ("actor", "critic_0")})
        training.world.close()
    for part, weights in ends[0].items():
        torch.testing.assert_close(
            torch.from_numpy(weights), torch.from_numpy(ends[1][part]), rtol=1e-3, atol=1e-4
        )
