from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from steadyrl.algorithms.ddpg.config import DDPGConfig
from steadyrl.cli.main import COMMANDS, main
from steadyrl.core.errors import OutOfMemory
from steadyrl.core.records import RunSummary
from steadyrl.run import train
from steadyrl.store.reader import RunReader

Make = Callable[..., DDPGConfig]
Output = pytest.CaptureFixture[str]


def _refused(arguments: list[str], output: Output) -> str:
    assert main(arguments) == 2
    written = output.readouterr()
    assert written.out == ""
    assert written.err.startswith("error: ")
    assert written.err.count("\n") == 1
    return written.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fly"], "'fly' is not a command"),
        (["train"], "CONFIG is missing"),
        (["train", "ddpg/stage9"], "neither a config file nor a preset"),
        (["train", "ddpg/pendulum", "--bach-size", "3"], "Did you mean 'batch_size'"),
        (["train", "ddpg/pendulum", "--batch-size", "big"], "batch_size = 'big' is not allowed"),
        (["train", "ddpg/pendulum", "--tau", "2"], "it must be 1 or less"),
        (["train", "ddpg/pendulum", "--resume", "x"], "either CONFIG or --resume"),
        (["train", "--resume", "nowhere"], "nowhere: no run here"),
        (["train", "ddpg/pendulum", "--output", "x", "--name", "y"], "either --output FOLDER or"),
        (["train", "ddpg/pendulum", "--environment.id", "Nope-v0"], "Nope"),
        (["train", "ddpg/pendulum", "--compute.device", "cuda:9"], "compute.device = 'cuda:9'"),
        (["presets", "ddpg/none"], "no preset 'ddpg/none'"),
        (["report", "nowhere"], "nowhere: there is no such file or folder"),
        (["diagnose", "nowhere"], "nowhere: there is no such file or folder"),
        (["noise", "ppo/cartpole", "--after", "0"], "--after 0 is too small"),
        (["explain", "policy-jump"], "Did you mean 'policy-jumps'?"),
        (["ladder", "ppo/cartpole", "--output", "x"], "CONFIG+minibatch_size=256"),
        (["diagnose", "nowhere", "--watch", "--json"], "--json is for a single look"),
        (["diagnose", "nowhere", "--every", "0"], "--every 0 must be more than 0"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(
    arguments: list[str],
    said: str,
    capsys: Output,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in _refused(arguments, capsys)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"algorithm: ddpg\nbatch_size: [1\n", "not readable as YAML at line"),
        (b"algorithm: bc\nlearning_rates: 1\n", "Did you mean 'learning_rate'"),
        (b"\xff\xfe\x00", "cannot be read as text"),
        (b"batch_size: 64\n", "'algorithm' is missing. Add one of: ddpg"),
        (b"", "expected settings"),
    ],
)
def test_a_bad_config_file_is_one_sentence_and_exit_2(
    content: bytes, said: str, capsys: Output, tmp_path: Path
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    assert said in _refused(["train", str(file), "--runs", str(tmp_path / "runs")], capsys)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "refused",
    [["ladder", "ppo/cartpole"], ["rescue", "ddpg/stage1", "--seeds", "0"]],
    ids=lambda arguments: arguments[0],
)
def test_a_refused_experiment_leaves_its_folder_to_others(
    refused: list[str], capsys: Output, tmp_path: Path
) -> None:
    _refused([*refused, "--output", str(tmp_path / "folder")], capsys)
    assert not (tmp_path / "folder").exists()


def test_help_tells_defaults_and_that_settings_are_flags(capsys: Output) -> None:
    with pytest.raises(SystemExit):
        main(["rescue", "--help"])
    shown = capsys.readouterr().out
    assert "fresh seeds to verify on, at least 3 (default: 4)" in " ".join(shown.split())
    assert "Every setting of CONFIG is a flag" in shown


def test_a_damaged_checkpoint_is_one_sentence_and_nothing_is_lost(
    small_config: Make, capsys: Output, tmp_path: Path
) -> None:
    config = small_config(checkpoints__keep=1, checkpoints__keep_best=False)
    path = train(config, tmp_path / "run")[1]
    (only,) = (path / "checkpoints").glob("step-*")
    (only / "arrays.safetensors").write_bytes(b"garbage")
    steps = (path / "steps.jsonl").read_bytes()
    said = _refused(["train", "--resume", str(path)], capsys)
    assert "damaged" in said
    assert "no intact checkpoint" in said
    assert (path / "steps.jsonl").read_bytes() == steps


def test_a_changed_setting_on_resume_is_one_sentence_and_nothing_is_lost(
    small_config: Make, capsys: Output, tmp_path: Path
) -> None:
    _, path = train(small_config(), tmp_path / "run")
    steps = (path / "steps.jsonl").read_bytes()
    said = _refused(["train", "--resume", str(path), "--batch-size", "8"], capsys)
    assert "batch_size = 8" in said
    assert (path / "steps.jsonl").read_bytes() == steps


def test_training_from_the_command_line_writes_a_run_and_one_json_document(
    small_config: Make, capsys: Output, tmp_path: Path
) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(small_config().to_yaml())
    arguments = ["train", str(file), "--runs", str(tmp_path / "runs"), "--json", "--seed", "4"]
    assert main([*arguments, "--batch-size=8", "--twin-critics"]) == 0
    written = capsys.readouterr()
    summary = json.loads(written.out)
    assert summary["status"] == "finished"
    config = RunReader.open(Path(summary["run"])).config
    assert isinstance(config, DDPGConfig)
    assert (config.seed, config.batch_size, config.twin_critics) == (4, 8, True)
    assert "300/300" in written.err
    assert main([*arguments, "--quiet"]) == 0
    again = capsys.readouterr()
    assert again.err == ""
    assert json.loads(again.out)["run"] != summary["run"]


def test_the_conclusion_shows_the_curve_the_verdict_and_the_report(
    small_config: Make, capsys: Output, tmp_path: Path
) -> None:
    file = tmp_path / "my.yaml"
    file.write_text(small_config().to_yaml())
    assert main(["train", str(file), "--quiet", "--output", str(tmp_path / "r")]) == 0
    shown = capsys.readouterr().out
    assert "mean return of 3 evaluations" in shown
    assert "finished" in shown
    assert (tmp_path / "r" / "report.html").is_file()


def test_every_command_explains_itself_with_an_example(capsys: Output) -> None:
    assert main(["--help"]) == 0
    overview = capsys.readouterr().out
    for name in COMMANDS:
        assert name in overview
        with pytest.raises(SystemExit) as left:
            main([name, "--help"])
        assert left.value.code == 0
        assert f"steadyrl {name}" in capsys.readouterr().out.partition("example")[2]


def test_help_on_a_config_lists_every_setting_with_its_value(capsys: Output) -> None:
    assert main(["train", "ddpg/stage3", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--batch-size 4096" in shown
    assert "--environment.count 1" in shown


def test_lists_and_schemas_are_json_when_asked(capsys: Output) -> None:
    assert main(["presets", "--json"]) == 0
    assert "ddpg/stage1" in json.loads(capsys.readouterr().out)
    assert main(["schema", "ddpg"]) == 0
    assert "batch_size" in json.loads(capsys.readouterr().out)["properties"]
    assert main(["signals", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["meaning"]


def test_check_warns_before_training_and_fails_when_strict(capsys: Output) -> None:
    assert main(["check", "ddpg/stage1"]) == 0
    shown = capsys.readouterr().out
    assert "S007 termination-is-free" in shown
    assert main(["check", "ddpg/stage1", "--strict"]) == 1
    assert main(["check", "ddpg/pendulum", "--strict"]) == 0
    assert "nothing to complain about" in capsys.readouterr().out


def test_preflight_finds_an_environment_in_which_failing_pays(capsys: Output) -> None:
    overrides = ["--batch-size", "64", "--learning-starts", "200", "--hidden-sizes", "[16]"]
    assert main(["check", "ddpg/stage1", "--preflight", "--json", *overrides]) == 1
    assert "P003" in [concern["rule"] for concern in json.loads(capsys.readouterr().out)]
    assert main(["check", "ddpg/residual", "--preflight", "--json", *overrides]) == 0
    assert "P003" not in [concern["rule"] for concern in json.loads(capsys.readouterr().out)]


def test_diagnose_names_the_cause_without_importing_torch(
    small_config: Make, capsys: Output, tmp_path: Path
) -> None:
    train(small_config(tau=0.0), tmp_path / "sick")
    train(small_config(), tmp_path / "well")
    script = (
        "import sys; from steadyrl.cli.main import main; "
        f"code = main(['diagnose', {str(tmp_path / 'sick')!r}, '--strict']); "
        "sys.exit(7 if 'torch' in sys.modules else code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "C204 target-not-updated" in done.stdout
    assert main(["diagnose", str(tmp_path / "sick"), str(tmp_path / "well"), "--json"]) == 0
    verdicts = json.loads(capsys.readouterr().out)
    assert verdicts[0]["verdict"] == "sick"
    assert verdicts[1]["verdict"] != "sick"


@pytest.mark.parametrize("arguments", [["-V"], ["--version"]])
def test_the_version_is_told(arguments: list[str], capsys: Output) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("steadyrl ")


def test_help_is_a_command_and_near_misses_get_a_hint(capsys: Output) -> None:
    assert main(["help"]) == 0
    assert "commands:" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["help", "diagnose"])
    assert "usage: steadyrl diagnose" in capsys.readouterr().out
    assert main(["diagnos"]) == 2
    assert "'diagnos' is not a command. Did you mean 'diagnose'?" in capsys.readouterr().err


def test_a_misspelt_preset_gets_a_hint(capsys: Output) -> None:
    assert main(["presets", "ppo/cartpol"]) == 2
    assert (
        capsys.readouterr().err == "error: no preset 'ppo/cartpol'. Did you mean 'ppo/cartpole'?\n"
    )


def test_a_folder_that_cannot_be_read_is_told_and_the_others_are_judged(
    small_config: Make, capsys: Output, tmp_path: Path
) -> None:
    path = train(small_config(total_env_steps=60), tmp_path / "run")[1]
    (tmp_path / "notes").mkdir()
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.yaml").write_text("algorithm: [")
    assert main(["diagnose", str(tmp_path / "notes"), str(broken), str(path), "--json"]) == 0
    printed = capsys.readouterr()
    assert [verdict["run"] for verdict in json.loads(printed.out)] == [str(path)]
    assert printed.err.count("left out: ") == 2
    assert main(["diagnose", str(tmp_path / "notes")]) == 2


def test_a_page_of_several_runs_takes_nobodys_place(
    small_config: Make, capsys: Output, tmp_path: Path
) -> None:
    runs = [train(small_config(total_env_steps=60, seed=n), tmp_path / f"{n}")[1] for n in (1, 2)]
    assert main(["report", str(runs[0])]) == 0
    own = (runs[0] / "report.html").read_bytes()
    capsys.readouterr()
    assert main(["report", *map(str, runs)]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "report-of-2-runs.html")
    assert (runs[0] / "report.html").read_bytes() == own


def test_a_run_that_diverged_says_how_to_replay_it(
    small_config: Make, capsys: Output, tmp_path: Path
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(small_config(learning_rate=1e30).to_yaml())
    assert main(["train", str(file), "--runs", str(tmp_path), "--name", "run"]) == 1
    assert f"steadyrl replay {tmp_path / 'run'}" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    for command in (["signals"], ["rules"], ["train", "ppo/cartpole", "--help"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "steadyrl", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait() == 0


def test_an_interrupt_while_noise_trains_ends_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Output
) -> None:
    from steadyrl import run

    monkeypatch.chdir(tmp_path)
    stopped = RunSummary(
        status="interrupted", algorithm="ddpg", task="x", seed=0, steps=1, taken=1, seconds=1.0
    )
    monkeypatch.setattr(run, "train", lambda *_, **__: (stopped, tmp_path))
    assert main(["noise", "ddpg/pendulum"]) == 130
    assert "interrupted" in capsys.readouterr().err


@pytest.mark.parametrize(
    "error",
    [ImportError("libtorch_cpu.so: failed to map segment from shared object"), MemoryError()],
)
def test_too_little_memory_for_the_program_itself_is_one_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def fails(_name: str) -> None:
        raise error

    monkeypatch.setattr("importlib.import_module", fails)
    assert main(["train", "ppo/cartpole"]) == OutOfMemory.exit_code
    told = capsys.readouterr().err
    assert told.startswith("error: not enough memory")
    assert told.count("\n") == 1
