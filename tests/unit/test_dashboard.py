"""The dashboard answers this machine alone, reads only, and never leaves its folder."""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from steadyrl.core.coarsen import columns_of
from steadyrl.core.errors import ConfigError
from steadyrl.core.records import Step
from steadyrl.dashboard import looking, serving
from steadyrl.dashboard.access import Access, access_of
from steadyrl.dashboard.fleet import Fleet, Row, group_of, worst_first
from steadyrl.dashboard.folder import DEPTH, Folder
from steadyrl.dashboard.live import follow_run, steps_added
from steadyrl.dashboard.looking import Looks
from steadyrl.dashboard.server import HEADERS, Dashboard
from steadyrl.dashboard.serving import made
from steadyrl.judging import open_run
from steadyrl.store.kept import Kept
from steadyrl.store.writer import RunWriter
from steadyrl.viewer.frame import plain
from steadyrl.views.run import run_view
from tests.rules.traces import CUT_SHORT, trace, trace_of
from tests.unit.test_foreign_runs import sb3_log
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
    rows = [{"tone": "good", "headline": "healthy", "heard": heard} for heard in (1.0, 2.0)]
    assert [row["heard"] for row in worst_first(rows)] == [2.0, 1.0]


def test_what_nobody_judged_yet_stands_below_what_can_be_read() -> None:
    waiting = Row("a", "a", "run", 9.0).to_json()
    result = Row("b", "b", "rescue", 1.0).to_json()
    well = {"tone": "good", "headline": "healthy", "heard": 2.0}
    assert worst_first([waiting, well, result]) == [result, well, waiting]


def test_two_who_ask_for_the_same_at_once_read_it_once(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    recorded(tmp_path / "runs" / "one", trace())
    (one,) = Folder(tmp_path / "runs").look().values()
    looks, both = Looks(Kept(tmp_path / "kept.sqlite")), threading.Barrier(2)
    made: list[str] = []

    def make() -> str:
        made.append("text")
        return "text"

    def ask() -> str:
        both.wait()
        return looks._once(one, "page", make)

    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(ask) for _ in range(2)]
        assert [one.result() for one in asked] == ["text", "text"]
    assert made == ["text"]


def test_nobody_waits_while_there_are_runs_that_were_never_judged(tmp_path: Path) -> None:
    for name in ("one", "two"):
        recorded(tmp_path / name, trace())
    fleet = Fleet(Folder(tmp_path))
    assert fleet.pause(fleet.renew(most=1), took=2.0) == 0.0
    assert fleet.pause(fleet.renew(most=1), took=2.0) == 20.0
    assert fleet.pause(fleet.renew(), took=2.0) == 1.0


def test_long_runs_are_judged_while_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LONG", 0)
    recorded(tmp_path / "one", trace())
    fleet = Fleet(Folder(tmp_path))
    assert fleet.pause(fleet.renew(), took=2.0) == 1.0
    assert [row.said for row in fleet.rows.values()] == [None]
    with fleet.watched():
        assert fleet.renew() == 1


def test_who_asks_for_what_is_on_the_screen_gets_no_more(tmp_path: Path) -> None:
    for name in ("one", "two"):
        recorded(tmp_path / name, trace())
    client = client_of(tmp_path)
    wanted = next(row["id"] for row in rows_of(tmp_path) if row["name"] == "two")
    answer = client.get(f"/api/fleet?visible={wanted},unknown", headers=HOST)
    (row,) = json.loads(answer.get_data(as_text=True))["rows"]
    assert row["name"] == "two"


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


def test_settings_outside_of_the_folder_are_not_read(tmp_path: Path) -> None:
    served, secret = tmp_path / "served", tmp_path / "secret.yaml"
    (served / "in" / ".hydra").mkdir(parents=True)
    for run in (served, served / "in"):
        sb3_log(run)
    secret.write_text("env: Secret-v0\n")
    (tmp_path / "params.json").write_text('{"env": "Secret-v0"}')
    (served / "in" / ".hydra" / "config.yaml").symlink_to(secret)
    folder = Folder(served)
    for one in folder.look().values():
        assert "Secret-v0" not in Looks().page(one)[1]
    assert "Secret-v0" in plain(run_view(open_run(served), "served").to_json())  # as diagnose would


def test_a_run_that_has_just_been_begun_opens_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet, now = fleet_of(tmp_path), time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    fleet._walked = now
    recorded(tmp_path / "new", trace())
    (identity,) = Folder(tmp_path).look()
    assert fleet.get(identity) is None  # searched within this very second
    now += 100.0
    assert fleet.get(identity) is not None
    monkeypatch.delattr(Folder, "look")
    assert fleet.get("nobody") is None  # nor is every false address a reason to search again


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


def test_of_a_long_run_the_curves_come_before_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "LONG", 0)
    (tmp_path / "runs").mkdir()
    recorded(tmp_path / "runs" / "run", trace_of(CUT_SHORT))
    (one,) = Folder(tmp_path / "runs").look().values()
    looks = Looks(Kept(tmp_path / "kept.sqlite"))
    (_, early), (_, whole) = _messages(follow_run(one, looks), 2)
    assert early["headline"] == "reading"
    assert early["curves"] == whole["curves"]
    assert set(early) == set(whole)
    assert whole == json.loads(plain(run_view(open_run(one.path), "run").to_json()))
    ((_, again),) = _messages(follow_run(one, looks), 1)  # it is kept: nobody waits
    assert again == whole


def test_very_many_steps_at_a_time_arrive_as_a_chart_shows_them() -> None:
    spike, nothing = 2345, 4321
    values = {spike: 1e6, nothing: float("nan")}
    many = [Step(n, 9 * n, 0.0, {"critic.loss": values.get(n, 1.0)}) for n in range(1, 6001)]
    columns = columns_of(step.to_json() for step in many)
    assert columns is not None
    told = steps_added(columns)["signals"]["critic.loss"]
    assert len(told["x"]) < 1300
    at = dict(zip(told["x"], told["y"], strict=True))
    assert (at[9 * spike], at[9 * nothing]) == (1e6, "nan")
    assert (told["x"][0], told["x"][-1]) == (9, 54_000)


def test_a_rule_has_a_page(tmp_path: Path) -> None:
    answer = client_of(tmp_path).get("/api/rule/D009", headers=HOST)
    page = json.loads(answer.get_data(as_text=True))
    assert page["title"] == "D009 return collapse"
    assert "**" not in str(page)  # nothing of Markdown
    explained = next(block for block in page["blocks"] if block["title"] == "Explained by")
    assert ["C208", "early-termination-pays"] in explained["rules"]
    assert client_of(tmp_path).get("/api/rule/D999", headers=HOST).status_code == 422


def test_a_run_that_cannot_be_read_says_so_on_its_page(tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "config.yaml").write_text(f"algorithm: '{EVIL}'")
    (bad / "steps.jsonl").write_text("")
    (one,) = Folder(tmp_path).look().values()
    ((kind, text),) = _messages(follow_run(one, Looks()), 1)
    assert kind == "problem"
    assert "bad cannot be read" in text


FAR = "http://lab.example:8700"


def _from_afar(folder: Path) -> Client:
    return Client(Dashboard(fleet_of(folder), Access(frozenset({"lab.example:8700"}), "secret")))


def test_from_another_machine_nothing_is_shown_without_the_token(tmp_path: Path) -> None:
    client = _from_afar(tmp_path)
    for address in ("/", "/viewer.js", "/api/fleet", "/?token=guess", "/api/fleet?token="):
        assert client.get(address, base_url=FAR).status_code == 403


def test_the_token_leaves_the_address_for_a_cookie_that_no_script_reads(tmp_path: Path) -> None:
    client = _from_afar(tmp_path)
    answer = client.get("/run/x?token=secret&visible=a", base_url=FAR)
    assert answer.status_code == 303
    assert answer.headers["Location"].endswith("/run/x?visible=a")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert client.get("/api/fleet", base_url=FAR).status_code == 200


def test_a_token_does_not_open_it_to_other_names(tmp_path: Path) -> None:
    client = _from_afar(tmp_path)
    assert client.get("/?token=secret", base_url="http://evil.example:8700").status_code == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
def test_it_answers_only_to_names_it_was_given(host: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="names it knows"):
        serving.made(tmp_path, 0, host)


def test_this_machine_alone_needs_no_token() -> None:
    assert access_of("127.0.0.1", 8700).token == ""
    assert len(access_of("lab.example", 8700).token) >= 32
    assert access_of("lab.example", 8700).token != access_of("lab.example", 8700).token


@pytest.mark.parametrize("path", ["/viewer.js", "/viewer.css"])
def test_the_viewer_comes_packed_to_who_can_unpack_it(path: str, tmp_path: Path) -> None:
    client = client_of(tmp_path)
    plain = client.get(path, headers=HOST).get_data()
    answer = client.get(path, headers={**HOST, "Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.get_data()) == plain
    assert len(answer.get_data()) < len(plain) / 2


def test_a_line_without_an_end_takes_little_memory(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace())
    with (run / "steps.jsonl").open("ab") as file:
        file.truncate(200 << 20)  # zeros that are nowhere on the disk
    (one,) = Folder(tmp_path).look().values()
    tracemalloc.start()
    brief = Looks().brief(one)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert brief["headline"]
    assert peak < 60 << 20


HOSTILE = [EVIL, "a\u202etxt.exe", "\x1b[31mred", "x" * 200, "' OR 1=1 --", "%2e%2e", "\u2028"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_a_name(name: str, tmp_path: Path) -> None:
    folder = name.replace("/", "")
    recorded(tmp_path / folder, trace())
    (row,) = rows_of(tmp_path)
    assert row["name"] == folder
    assert row["headline"] == "healthy"
    stream = client_of(tmp_path).get(f"/events/run/{row['id']}", headers=HOST)
    first = next(iter(stream.response))
    text = first.decode() if isinstance(first, bytes) else first
    assert text.count("\n") == 3  # one event: a name cannot begin another


def test_a_name_that_is_no_text_is_shown_all_the_same(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace())
    run.rename(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")))
    (row,) = rows_of(tmp_path)
    assert row["headline"] == "healthy"


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/random"])
def test_a_device_is_never_opened(target: str, tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace())
    (run / "events.jsonl").unlink(missing_ok=True)
    (run / "events.jsonl").symlink_to(target)
    folder = Folder(tmp_path)
    assert folder.look() == {}
    assert "no ordinary file" in folder.skipped["run"]


def test_a_link_that_leads_to_itself_ends_the_search_nowhere(tmp_path: Path) -> None:
    recorded(tmp_path / "run", trace())
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to(tmp_path / "self")
    assert [one.name for one in Folder(tmp_path).look().values()] == ["run"]


def test_a_run_that_grew_is_judged_again_while_somebody_looks(tmp_path: Path) -> None:
    run = recorded(tmp_path / "run", trace())
    fleet = fleet_of(tmp_path)
    (run / "summary.json").write_text("{}")
    fleet._looked = -1e9
    assert fleet.renew() == 0
    with fleet.watched():
        assert fleet.renew() == 1


def test_an_address_that_is_none_is_refused_without_a_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    here = made(tmp_path, 0)
    thread = threading.Thread(target=here.server.handle_request)
    thread.start()
    with socket.create_connection(("127.0.0.1", here.server.server_port), timeout=30) as asking:
        asking.sendall(b"GET http://[/ HTTP/1.0\r\n\r\n")
        answer = asking.makefile("rb").read()
    thread.join()
    here.server.server_close()
    assert b" 400 " in answer.splitlines()[0]
    assert "Traceback" not in capfd.readouterr().err
