"""Report and dashboard as a browser shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from steadyrl.core.records import Step
from steadyrl.dashboard.folder import Folder
from steadyrl.judging import open_run
from steadyrl.report.html import write_report
from steadyrl.report.milestones import write_milestones
from steadyrl.store.writer import RunWriter
from tests.browser.conftest import Open, holds, served
from tests.rules.traces import CUT_SHORT, trace, trace_of
from tests.unit.test_judging import config_of_run, recorded

WAIT = 20_000  # milliseconds, for machines that have other things to do


def sick_run(path: Path) -> Path:
    return recorded(path, trace_of(CUT_SHORT))


def report_of(run: Path) -> str:
    return write_report([open_run(run)]).as_uri()


def address_of(folder: Path, base: str) -> str:
    return f"{base}/run/{next(iter(Folder(folder).look()))}"


# Whether the first canvas has anything on it.
DRAWN = """() => { const c = document.querySelector("canvas"); return c.width > 0 &&
    c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v > 0); }"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_a_report_says_what_is_wrong_and_draws_it(
    width: int, theme: str, opened: Open, tmp_path: Path
) -> None:
    page = opened(report_of(sick_run(tmp_path / "run")), width=width, theme=theme)
    page.wait_for_selector("canvas", timeout=WAIT)
    assert "Sick since" in page.locator(".verdict").inner_text()
    assert "steadyrl rescue" in page.locator(".command code").inner_text()
    assert holds(page, DRAWN)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_text_of_a_run_stays_text(opened: Open, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    run = recorded(tmp_path / evil, trace(), status="failed", message=evil)
    page = opened(report_of(run))
    page.wait_for_selector("canvas", timeout=WAIT)
    assert evil in page.locator(".verdict").inner_text()
    assert page.locator("img").count() == 0


def test_what_is_no_number_is_counted_above_its_chart(opened: Open, tmp_path: Path) -> None:
    bad = Step(99, 99_000, 9.0, {"eval.return_mean": float("nan")})
    page = opened(report_of(recorded(tmp_path / "run", [*trace(), bad])))
    page.wait_for_selector("canvas", timeout=WAIT)
    assert "1 × nan, first at 99,000" in page.locator("main").inner_text()


def test_a_link_restores_the_stretch_that_was_looked_at(opened: Open, tmp_path: Path) -> None:
    page = opened(report_of(sick_run(tmp_path / "run")))
    page.wait_for_selector("canvas", timeout=WAIT)
    page.keyboard.press("n")
    page.wait_for_selector("text=show the whole run", timeout=WAIT)
    again = opened(page.url)
    again.wait_for_selector("text=show the whole run", timeout=WAIT)
    assert "#" in page.url or "?" in page.url
    assert again.url == page.url
    whole = opened(page.url.partition("#")[0].partition("?")[0])
    whole.wait_for_selector("canvas", timeout=WAIT)
    assert not whole.locator("text=show the whole run").is_visible()


def test_arrow_keys_read_a_chart_aloud(opened: Open, tmp_path: Path) -> None:
    page = opened(report_of(sick_run(tmp_path / "run")))
    page.wait_for_selector("canvas", timeout=WAIT)
    page.locator(".plot").first.focus()
    page.keyboard.press("ArrowRight")
    assert holds(page, "document.querySelector('.at').textContent.includes('at ')")


def test_the_fleet_shows_the_worst_run_first_and_filters(opened: Open, tmp_path: Path) -> None:
    recorded(tmp_path / "well", trace())
    sick_run(tmp_path / "ill")
    with served(tmp_path) as (base, _):
        page = opened(base)
        page.wait_for_selector(".row:not(.head) >> text=ill", timeout=WAIT)
        first = "document.querySelector('.rows .row').innerText.includes('ill')"
        assert holds(page, first)
        assert holds(page, "document.querySelector('p.first').innerText === '1 sick, 1 well'")
        page.keyboard.press("/")
        assert holds(page, "document.activeElement.type === 'search'")
        page.keyboard.type("well")
        assert holds(page, "document.querySelectorAll('.rows .row').length === 1")
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url("**/run/*")


def test_a_step_that_is_written_arrives_on_the_open_page(opened: Open, tmp_path: Path) -> None:
    store = RunWriter.create(tmp_path / "run", config_of_run())
    for step in trace()[:20]:
        store.append_step(step)
    with served(tmp_path) as (base, _):
        page = opened(address_of(tmp_path, base))
        page.wait_for_selector("canvas", timeout=WAIT)
        last = trace()[20]
        store.append_step(Step(last.index, last.taken, last.seconds, {"eval.return_mean": 987.5}))
        said = f"document.querySelector('.facts').innerText.includes('{last.taken:,}')"
        assert holds(page, said)
        page.close()
    store.close()


def test_a_page_finds_its_server_again(opened: Open, tmp_path: Path) -> None:
    recorded(tmp_path / "well", trace())
    with served(tmp_path) as (base, port):
        page = opened(base)
        page.wait_for_selector("text=● live", timeout=WAIT)
    page.wait_for_selector("text=lost", timeout=WAIT)
    assert not page.locator("text=● live").is_visible()
    with served(tmp_path, port):
        page.wait_for_selector("text=● live", timeout=WAIT)
        assert not page.locator("text=lost").is_visible()
        page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_pages_can_be_used_by_everybody(
    width: int, theme: str, opened: Open, tmp_path: Path
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    runs = tmp_path / "runs"
    runs.mkdir()
    run = sick_run(runs / "run")
    page = opened(report_of(run), width=width, theme=theme)
    page.wait_for_selector("canvas", timeout=WAIT)
    for fold in page.locator("summary").all():
        fold.click()
    assert axe.Axe().run(page).response["violations"] == []
    with served(runs) as (base, _):
        page = opened(base, width=width, theme=theme)
        page.wait_for_selector(".rows .row", timeout=WAIT)
        assert axe.Axe().run(page).response["violations"] == []
        page.close()


def test_a_rule_that_spoke_leads_to_its_page(opened: Open, tmp_path: Path) -> None:
    sick_run(tmp_path / "run")
    with served(tmp_path) as (base, _):
        page = opened(base)
        page.locator(".rows .row a").first.click()
        page.wait_for_selector(".findings a", timeout=WAIT)
        name = page.locator(".findings a").first.inner_text()
        page.locator(".findings a").first.click()
        assert holds(page, f"document.body.innerText.includes('{name.split()[0]}')")
        assert "/rule/" in page.url
        page.close()


def test_lines_that_share_a_chart_are_named(opened: Open, tmp_path: Path) -> None:
    runs = [recorded(tmp_path / name, trace()) for name in ("one", "other")]
    page = opened(write_milestones(runs, [1.0], tmp_path / "page.html").as_uri())
    page.wait_for_selector("canvas", timeout=WAIT)
    assert page.locator(".legend span").all_inner_texts() == ["one", "other"]
