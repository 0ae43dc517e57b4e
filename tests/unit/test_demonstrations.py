"""Demonstration files: every kind that is read, and everything that is refused."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steadyrl.core.errors import DataError
from steadyrl.environments.assembly import AssemblyEnv
from steadyrl.environments.demonstrated import scripted_demonstrations
from steadyrl.experience.demonstration_files import read_demonstrations, write_npz
from steadyrl.experience.demonstrations import made

ROWS = 12


def _transitions(**extra: Any) -> list[dict[str, Any]]:
    """As the robotics scripts write them: two trajectories of six."""
    generator = np.random.default_rng(0)
    return [
        {
            "observations": generator.normal(size=4).astype(np.float32),
            "next_observations": np.zeros(4, dtype=np.float32),
            "actions": generator.normal(size=2).astype(np.float32),
            "rewards": 0.0,
            "masks": 0.0 if row % 6 == 5 else 1.0,
            "dones": row % 6 == 5,
            **extra,
        }
        for row in range(ROWS)
    ]


def _write(path: Path, value: Any) -> Path:
    path.write_bytes(pickle.dumps(value))
    return path


# What is read


def test_a_pickled_list_of_transitions(tmp_path: Path) -> None:
    records = _transitions()
    data = read_demonstrations(_write(tmp_path / "demo.pkl", records))
    assert (len(data), data.trajectories) == (ROWS, 2)
    assert data.starts.tolist() == [0, 6]
    np.testing.assert_array_equal(data.observations[3], records[3]["observations"])
    np.testing.assert_array_equal(data.actions[11], records[11]["actions"])


def test_dictionary_observations_are_joined_or_chosen(tmp_path: Path) -> None:
    seen = {
        "state": np.arange(3.0),
        "arm": np.array([9.0]),
        "camera": np.zeros((8, 8, 3), np.uint8),
    }
    records = [{"observations": seen, "actions": np.ones(2)} for _ in range(4)]
    path = _write(tmp_path / "demo.pkl", records)
    assert read_demonstrations(path).observations[0].tolist() == [9.0, 0.0, 1.0, 2.0]
    assert read_demonstrations(path, observation_key="state").observations.shape == (4, 3)
    pictures = read_demonstrations(path, observation_key="camera")
    assert pictures.images


def test_lists_of_trajectories_in_either_shape(tmp_path: Path) -> None:
    nested = [_transitions()[:6], _transitions()[6:]]
    assert read_demonstrations(_write(tmp_path / "a.pkl", nested)).trajectories == 2
    columns = [{"obs": np.zeros((5, 3)), "acts": np.ones((5, 2))} for _ in range(3)]
    data = read_demonstrations(_write(tmp_path / "b.pkl", columns))
    assert (len(data), data.trajectories) == (15, 3)


def test_npz_round_trip(tmp_path: Path) -> None:
    data = scripted_demonstrations(3, 20, 0)
    write_npz(data, tmp_path / "demo.npz")
    again = read_demonstrations(tmp_path / "demo.npz")
    np.testing.assert_array_equal(again.observations, data.observations)
    np.testing.assert_array_equal(again.actions, data.actions)
    assert again.starts.tolist() == data.starts.tolist()


def test_flat_hdf5(tmp_path: Path) -> None:
    import h5py

    with h5py.File(tmp_path / "demo.hdf5", "w") as file:
        file["observations"] = np.zeros((10, 3), dtype=np.float32)
        file["actions"] = np.ones((10, 2), dtype=np.float32)
        file["terminals"] = np.arange(10) == 4
        file["timeouts"] = np.arange(10) == 9
    data = read_demonstrations(tmp_path / "demo.hdf5")
    assert data.starts.tolist() == [0, 5]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_real_minari_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    import minari
    from minari.data_collector import EpisodeBuffer

    generator = np.random.default_rng(0)
    buffers = [
        EpisodeBuffer(
            observations=generator.normal(size=(length + 1, 18)).astype(np.float32),
            actions=generator.uniform(-1, 1, size=(length, 7)).astype(np.float32),
            rewards=np.zeros(length).tolist(),
            terminations=[False] * length,
            truncations=[False] * (length - 1) + [True],
            infos={},
        )
        for length in (7, 4)
    ]
    env = AssemblyEnv()
    minari.create_dataset_from_buffers(
        "steadyrl/test-v0",
        buffers,
        observation_space=env.observation_space,
        action_space=env.action_space,
    )
    loaded = minari.load_dataset("steadyrl/test-v0")
    data = read_demonstrations(tmp_path / "steadyrl" / "test-v0")
    assert (len(data), data.trajectories) == (11, 2)
    for number, episode in enumerate(loaded.iterate_episodes()):
        mine = data.trajectory(number)
        np.testing.assert_array_equal(mine.actions, episode.actions)
        np.testing.assert_array_equal(mine.observations, episode.observations[:-1])


def test_filtering_keeps_the_files_row_numbers(tmp_path: Path) -> None:
    actions = np.ones((10, 2))
    actions[[0, 1, 5]] = 0.0
    data = made(np.zeros((10, 1)), actions, [0, 5], "test").without_zero_actions()
    assert data.kept.tolist() == [2, 3, 4, 6, 7, 8, 9]
    assert data.starts.tolist() == [0, 3]


def test_the_scripted_expert_finishes_its_task_within_the_documented_length() -> None:
    for seed in range(5):
        data = scripted_demonstrations(1, 418, seed)
        assert len(data) == 418
        env = AssemblyEnv()
        env.reset(seed=seed * 1000)
        info: dict[str, Any] = {}
        for action in data.actions:
            info = env.step(action)[-1]
        assert info["distance"] < 0.05


# What is refused


class _Attack:
    def __reduce__(self) -> Any:
        return os.system, ("touch never",)


class _Innocent:
    pass


class _Eval:
    def __reduce__(self) -> Any:
        return eval, ("1 + 1",)


class _Import:
    def __reduce__(self) -> Any:
        return __import__, ("os",)


class _Hidden:
    """An attack in the middle of plain data."""

    def __reduce__(self) -> Any:
        return getattr, ("", "join")


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (_Attack(), "system"),
        ([{"observations": _Attack()}], "system"),
        (_Eval(), "builtins.eval"),
        (_Import(), "builtins.__import__"),
        ([1, _Hidden()], "builtins.getattr"),
        (np.array([_Attack()], dtype=object), "system"),
        (_Innocent(), "_Innocent"),
        (Path("x"), "pathlib"),
    ],
)
def test_a_pickle_that_asks_for_more_than_data_is_refused_by_name(
    value: Any, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = _write(tmp_path / "demo.pkl", value)
    with pytest.raises(DataError, match=named) as caught:
        read_demonstrations(path)
    assert "refused" in str(caught.value)
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    "program",
    [
        # eval, reached through the module of dtypes
        b"\x80\x04\x8c\x0cnumpy.dtypes\x8c\x18__builtins__.__getitem__\x93"
        b"\x8c\x04eval\x85R\x8c\x05RAN+1\x85R.",
        b"\x80\x04\x8c\x0cnumpy.dtypes\x8c\x11_add_dtype_helper\x93.",
        b"\x80\x04\x8c\x05numpy\x8c\x07ndarray\x93.",
        b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.__init__\x93.",
        b"cnumpy.testing._private.utils\nruncstring\n.",
        b"cnumpy.lib.npyio\n_reconstruct\n.",
    ],
)
def test_names_that_only_look_like_numpys_are_refused(program: bytes, tmp_path: Path) -> None:
    (tmp_path / "demo.pkl").write_bytes(program)
    with pytest.raises(DataError):
        read_demonstrations(tmp_path / "demo.pkl")


def test_columns_with_flat_actions_are_a_trajectory(tmp_path: Path) -> None:
    part = {"observations": np.zeros((30, 3)), "actions": np.ones(30)}
    data = read_demonstrations(_write(tmp_path / "a.pkl", [part, part]))
    assert (len(data), data.trajectories, data.actions.shape[1]) == (60, 2, 1)


def test_trajectories_of_different_shapes_are_told(tmp_path: Path) -> None:
    parts = [{"obs": np.zeros((5, size)), "acts": np.ones((5, 2))} for size in (3, 4)]
    with pytest.raises(DataError, match="trajectories differ in shape"):
        read_demonstrations(_write(tmp_path / "a.pkl", parts))


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_of_every_pickle_protocol_are_read(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "demo.pkl"
    path.write_bytes(pickle.dumps(_transitions(), protocol=protocol))
    assert len(read_demonstrations(path)) == ROWS


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.pkl", b"", "not a readable pickle"),
        ("a.pkl", b"\x80\x04garbage", "not a readable pickle"),
        ("a.pkl", pickle.dumps(_transitions())[:-40], "not a readable pickle"),
        ("a.pkl", pickle.dumps([]), "expected a list of transitions"),
        ("a.pkl", pickle.dumps("text"), "expected a list of transitions, found str"),
        ("a.pkl", pickle.dumps([1, 2]), "transition 0 is a int"),
        ("a.pkl", pickle.dumps([{"x": 1}]), "none of observations"),
        ("a.npz", b"PK\x03\x04junk", "not a readable NPZ"),
        ("a.hdf5", b"junk", "not a readable HDF5"),
        ("a.txt", b"", "not a kind that can be read"),
    ],
)
def test_what_cannot_be_used_is_told(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_demonstrations(tmp_path / name)


def test_more_that_cannot_be_used(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"observations": np.zeros((3, 2)), "actions": np.zeros((4, 1))}, "3 observations for 4"),
        ({"observations": np.zeros((0, 2)), "actions": np.zeros((0, 1))}, "no transition"),
        (
            {"observations": np.full((3, 2), np.nan), "actions": np.zeros((3, 1))},
            r"observation\[0\] of transition 0 is nan",
        ),
        (
            {"observations": np.zeros((3, 2)), "actions": np.zeros((3, 1)), "dones": np.ones(2)},
            "dones has 2 entries",
        ),
        ({"observations": np.array(["a"] * 3), "actions": np.zeros((3, 1))}, "numbers are needed"),
    ]
    for arrays, said in cases:
        np.savez(tmp_path / "x.npz", **arrays)
        with pytest.raises(DataError, match=said):
            read_demonstrations(tmp_path / "x.npz")
    np.savez(
        tmp_path / "o.npz", observations=np.array([{}], dtype=object), actions=np.zeros((1, 1))
    )
    with pytest.raises(DataError, match="pickled objects"):
        read_demonstrations(tmp_path / "o.npz")
    with pytest.raises(DataError, match="there is no such file"):
        read_demonstrations(tmp_path / "gone.npz")
    with pytest.raises(DataError, match="no Minari dataset"):
        read_demonstrations(tmp_path)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"obs": {"a": {"b": 1.0}}, "acts": [0.0]}, "cannot be used"),
        ({"obs": {"a": np.zeros(2), 1: np.zeros(3)}, "acts": np.zeros(2)}, "cannot be used"),
        ({"obs": [[1.0], [1.0, 2.0]], "acts": [0.0, 1.0]}, "cannot be used"),
        ({"obs": [1.0, "2.0"], "acts": [0.0, 1.0]}, "there is text where numbers are needed"),
        ([{"obs": np.zeros((5, 3)), "acts": np.ones((5, 2))}, 3], "type int where a dictionary"),
        ([[{"obs": [1.0], "acts": [1.0]}], 3], "cannot be used"),
        ({"obs": [1e300], "acts": [0.0]}, r"observation\[0\] of transition 0 is inf"),
    ],
)
def test_parts_that_do_not_go_together_are_told(value: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read_demonstrations(_write(tmp_path / "demo.pkl", value))


def test_transitions_of_different_shapes_are_told(tmp_path: Path) -> None:
    records = _transitions()
    records[4]["actions"] = np.zeros(5)
    with pytest.raises(DataError, match="differ in shape"):
        read_demonstrations(_write(tmp_path / "demo.pkl", records))


def test_a_pickle_that_wants_all_memory_is_refused(tmp_path: Path) -> None:
    # bytearray(10**15), written by hand
    program = b"cbuiltins\nbytearray\n(L1000000000000000L\ntR."
    (tmp_path / "bomb.pkl").write_bytes(program)
    with pytest.raises(DataError, match="memory"):
        read_demonstrations(tmp_path / "bomb.pkl")
