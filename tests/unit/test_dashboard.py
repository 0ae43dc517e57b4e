"""The dashboard answers this machine alone, reads only, and never leaves its folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from steadyrl.core.records import Step
from steadyrl.dashboard.access import Access
from steadyrl.dashboard.fleet import Fleet, group_of, worst_first
from steadyrl.dashboard.folder import DEPTH, Folder
from steadyrl.dashboard.live import follow_run
from steadyrl.dashboard.looking import Looks
from steadyrl.dashboard.server import HEADERS, Dashboard
from steadyrl.judging import open_run
from steadyrl.store.writer import RunWriter
from steadyrl.views.run import run_view
from tests.rules.traces import CUT_SHORT, trace, trace_of
from tests.unit.test_judging import config_of_run, found, recorded

HOST = {"Host": "127.0.0.1:8700"}
EVIL = "<img src=x onerror=alert(1)>"


def fleet_of(folder: Path) -> Fleet:
    fleet = Fleet(Folder(folder))
    fleet.renew()
    return fleet


def client_of(folder: Path) -> Client:
    return Client(Dashboard(fleet_of(folder), Access(frozenset({"127.0.0.1:8700"}))))


def rows_of(folder: Path) -> list[dict[str, Any]]:
    answer = client_of(folder).get("/api/fleet", headers=HOST)
    rows: list[dict[str, Any]] = json.loads(answer.get_data(as_text=True))["rows"]
    return rows


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:8701", ""])
def test_a_host_that_is_not_ours_is_refused(host: str, tmp_path: Path) -> None:
    assert client_of(tmp_path).get("/", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_every_method_but_reading_is_refused(method: str, tmp_path: Path) -> None:
    answer = client_of(tmp_path).open("/api/fleet", method=method, headers=HOST)
    assert answer.status_code == 405


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_may_not_ask(site: str, tmp_path: Path) -> None:
    headers = {**HOST, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors"}
    assert client_of(tmp_path).get("/api/fleet", headers=headers).status_code == 403


@pytest.mark.parametrize("path", ["/", "/viewer.js", "/api/fleet", "/nothing", "/run/x"])
def test_every_answer_says_what_may_run(path: str, tmp_path: Path) -> None:
    answer = client_of(tmp_path).get(path, headers=HOST)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/run/..%2f..%2fetc%2fpasswd",
        "/api/result/..%2f..%2fetc",
        "/api/runs?ids=../../etc",
        "/events/run/..%2f..%2fetc",
        "/static/../server.py",
    ],
)
def test_no_address_leads_out_of_the_folder(path: str, tmp_path: Path) -> None:
    answer = client_of(tmp_path).get(path, headers=HOST)
    text = answer.get_data(as_text=True)
    assert answer.status_code == 404 or text.startswith("<!doctype html>")  # the empty frame
    assert "root:" not in text


def test_rows_come_worst_first(tmp_path: Path) -> None:
    recorded(tmp_path / "well", trace())
    recorded(tmp_path / "sick", trace(), found("D009", "severe"), status="failed")
    rows = rows_of(tmp_path)
    assert [row["name"] for row in rows] == ["sick", "well"]
    assert rows[0]["tone"] == "bad"
    assert rows[1]["spark"]


def test_a_row_and_the_page_of_its_run_say_the_same_of_when_it_began(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace_of(CUT_SHORT))
    (row,) = rows_of(tmp_path)
    view = run_view(open_run(run), "run")
    assert view.onset is not None
    assert (row["onset"], row["headline"]) == (view.onset, view.headline)


def test_rows_of_one_tone_are_ordered_by_who_was_heard_last() -> None:
    rows = [{"tone": "good", "heard": 1.0}, {"tone": "good", "heard": 2.0}]
    assert [row["heard"] for row in worst_first(rows)] == [2.0, 1.0]


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    recorded(tmp_path / "outside" / "run", trace())
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path / "outside")
    folder = Folder(inside)
    assert folder.look() == {}
    assert "link" in folder.skipped


def test_a_run_whose_file_leads_out_of_the_folder_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "inside").mkdir()
    run = recorded(tmp_path / "inside" / "run", trace())
    (run / "summary.json").unlink()
    (run / "summary.json").symlink_to(tmp_path / "secret")
    folder = Folder(tmp_path / "inside")
    assert folder.look() == {}
    assert "leads out" in folder.skipped["run"]


def test_a_pipe_is_never_opened(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.yaml").write_text("algorithm: ddpg\n")
    os.mkfifo(run / "steps.jsonl")
    folder = Folder(tmp_path)
    assert folder.look() == {}
    assert "no ordinary file" in folder.skipped["run"]


def test_a_file_too_large_to_be_read_is_told(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace())
    with (run / "steps.jsonl").open("ab") as file:
        file.truncate(3 << 30)  # no byte of it is on the disk
    folder = Folder(tmp_path)
    assert folder.look() == {}
    assert "larger" in folder.skipped["run"]


def test_folders_that_are_too_deep_are_told(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * (DEPTH + 2))
    deep.mkdir(parents=True)
    recorded(deep / "run", trace())
    folder = Folder(tmp_path)
    assert folder.look() == {}
    assert folder.skipped


def test_a_run_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    recorded(tmp_path / "well", trace())
    bad = tmp_path / EVIL.replace("/", "")
    bad.mkdir()
    (bad / "config.yaml").write_text("algorithm: [nonsense")
    (bad / "steps.jsonl").write_text("")
    rows = {row["name"]: row["headline"] for row in rows_of(tmp_path)}
    assert rows["well"] == "healthy"
    assert rows[bad.name] == "cannot be read"


def test_ids_say_nothing_of_the_disk(tmp_path: Path) -> None:
    recorded(tmp_path / "well", trace())
    assert all(row["id"].isalnum() and "well" not in row["id"] for row in rows_of(tmp_path))


def test_runs_of_one_config_belong_together_whatever_their_seed() -> None:
    assert group_of("a/ppo-seed1") == group_of("a/ppo-seed22") == "a/ppo"


def test_a_run_that_was_removed_leaves_the_fleet(tmp_path: Path) -> None:
    run = recorded(tmp_path / "gone", trace())
    fleet = fleet_of(tmp_path)
    version, _, ids = fleet.since(0)
    assert len(ids) == 1
    for file in sorted(run.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    run.rmdir()
    fleet._walked = -1e9
    fleet.renew()
    assert fleet.since(version)[2] == []


def _messages(stream: Iterator[str], count: int) -> list[tuple[str, Any]]:
    said = []
    for message in islice(stream, count):
        kind, _, data = message.partition("\n")
        said.append((kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return said


def test_a_step_that_is_written_while_one_looks_arrives_alone(tmp_path: Path) -> None:
    store = RunWriter.create(tmp_path / "run", config_of_run())
    for step in trace()[:5]:
        store.append_step(step)
    one = next(iter(Folder(tmp_path).look().values()))
    added = Step(6, 1200, 6.0, {"critic.loss": 7.0, "q.mean": float("nan")})
    stream = follow_run(one, Looks(), sleep=lambda _: store.append_step(added))
    (first, whole), (second, news) = _messages(stream, 2)
    stream.close()  # type: ignore[attr-defined]
    store.close()
    assert (first, second) == ("run", "steps")
    assert len(whole["curves"]["critic.loss"]["x"]) == 5
    assert news["signals"]["critic.loss"] == {"x": [1200], "y": [7.0]}
    assert news["signals"]["q.mean"]["y"] == ["nan"]


def test_a_rule_has_a_page(tmp_path: Path) -> None:
    answer = client_of(tmp_path).get("/api/rule/D009", headers=HOST)
    assert "return-collapse" in json.loads(answer.get_data(as_text=True))["title"]
    assert client_of(tmp_path).get("/api/rule/D999", headers=HOST).status_code == 422
