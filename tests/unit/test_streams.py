"""Commands whose standard streams are closed, full or read by nobody any more."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.store.reader import RunReader

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no disk that is always full here")


@pytest.fixture
def config(small_config: Callable[..., DDPGConfig], tmp_path: Path) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text(small_config().to_yaml(), "utf-8")
    return file


def _steadyrl(*arguments: str, streams: str = "", folder: Path) -> subprocess.CompletedProcess[str]:
    """Through a shell, which can close streams."""
    command = ["sh", "-c", f'exec "$@" {streams}', "sh", sys.executable, "-m", "steadyrl"]
    return subprocess.run(
        [*command, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def _status(folder: Path) -> object:
    summary = RunReader.open(folder / "runs" / "run").summary()
    assert summary is not None
    return summary["status"]


def test_a_training_goes_on_when_nobody_reads_what_it_says(config: Path, tmp_path: Path) -> None:
    heard, said = os.pipe()
    os.close(heard)  # as if `tee` had ended: every line that is written fails
    done = subprocess.run(
        [sys.executable, "-m", "steadyrl", "train", str(config), "--name", "run"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=said,
        text=True,
        check=False,
    )
    os.close(said)
    assert done.returncode == 0
    assert "finished" in done.stdout
    assert _status(tmp_path) == "finished"


@pytest.mark.parametrize(
    "streams", [">&-", "2>&-", "<&- >&- 2>&-", pytest.param("2>/dev/full", marks=needs_full)]
)
def test_a_training_needs_no_streams(streams: str, config: Path, tmp_path: Path) -> None:
    done = _steadyrl("train", str(config), "--name", "run", streams=streams, folder=tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert _status(tmp_path) == "finished"


@needs_full
def test_a_result_that_cannot_be_written_is_an_error_in_words(config: Path, tmp_path: Path) -> None:
    done = _steadyrl("train", str(config), "--name", "run", streams=">/dev/full", folder=tmp_path)
    assert done.returncode == 1
    assert "error: stdout takes no more: No space left on device." in done.stderr
    assert "Traceback" not in done.stderr
    assert _status(tmp_path) == "finished"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"], ["rules"]])
@pytest.mark.parametrize(
    ("streams", "code"), [(">&-", 0), pytest.param(">/dev/full", 1, marks=needs_full)]
)
def test_what_only_prints_fares_the_same(
    arguments: list[str], streams: str, code: int, tmp_path: Path
) -> None:
    done = _steadyrl(*arguments, streams=streams, folder=tmp_path)
    assert done.returncode == code
    assert done.stderr.count("\n") == code  # one sentence, or nothing


@pytest.mark.parametrize("closed", [">&-", "| true"])
def test_a_failure_is_told_though_nobody_reads(closed: str, tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from steadyrl.cli import main, presets\n"
        "def broken(parser, rest):\n"
        "    sys.stdout.write('half a line')\n"
        "    raise RuntimeError('a bug of ours') if rest else SystemExit(2)\n"
        "presets.main = broken\n"
        "sys.exit(main.main(sys.argv[1:]))\n"
    )
    for arguments, code in ((["presets", "x"], 1), (["presets"], 2)):
        told = f'exec 3>&1; "$@" {closed}' if closed == ">&-" else '"$@" | true; exit ${PIPESTATUS}'
        command = ["bash", "-c", told, "bash", sys.executable, "-c", script, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code
        assert ("a bug of ours" in done.stderr) is (code == 1)


def test_lines_come_in_their_order_and_at_once_if_that_is_asked_for(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from steadyrl.core.streams import lasting_streams\n"
        "print('before')\n"
        "with lasting_streams():\n"
        "    print('within')\n"
        "    if sys.argv[1:]:\n"
        "        import os, signal\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "print('after')\n"
    )
    usual = [sys.executable, "-c", script]
    done = subprocess.run(usual, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["before", "within", "after"]
    killed = [sys.executable, "-u", "-c", script, "killed"]
    done = subprocess.run(killed, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["before", "within"]


def test_a_stderr_that_is_full_and_does_not_wait_is_passed_over(tmp_path: Path) -> None:
    heard, said = os.pipe()
    os.set_blocking(said, False)
    script = (
        "import sys\n"
        "from steadyrl.core.streams import lasting_streams\n"
        "with lasting_streams():\n"
        "    for _ in range(100_000):\n"
        "        print('a line that nobody reads', file=sys.stderr)\n"
        "print('done')\n"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=said, text=True, check=True
    )
    os.close(said)
    os.close(heard)
    assert done.stdout == "done\n"


def test_a_closed_stream_is_not_the_next_file_that_is_opened(tmp_path: Path) -> None:
    script = (
        "import os\n"
        "from steadyrl.core.streams import lasting_streams\n"
        "with lasting_streams(), open('kept', 'w') as file:\n"
        "    os.write(2, b'as a C library complains')\n"
        "    os.write(1, b'or says who made it')\n"
        "    file.write('what was to be kept')\n"
    )
    child = (
        "import subprocess, sys\n"
        "from steadyrl.core.streams import lasting_streams\n"
        "with lasting_streams():\n"
        "    command = [sys.executable, '-c', sys.argv[1]]\n"
        "    sys.exit(subprocess.run(command, close_fds=False).returncode)\n"
    )
    closed = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c"]
    without = script.replace("lasting_streams(), ", "").replace(
        "from steadyrl.core.streams import lasting_streams\n", ""
    )
    for command in ([*closed, script], [*closed, child, without]):
        assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0
        assert (tmp_path / "kept").read_text("utf-8") == "what was to be kept"
        (tmp_path / "kept").unlink()
