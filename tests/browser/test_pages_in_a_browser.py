"""Report and dashboard as a browser shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steadyrl.core.records import Step
from steadyrl.dashboard.folder import Folder
from steadyrl.judging import open_run
from steadyrl.report.html import write_report
from steadyrl.store.writer import RunWriter
from steadyrl.viewer.frame import script, write_page
from steadyrl.views.milestones import measure_all, milestones_page
from tests.browser.conftest import Open, holds, served
from tests.rules.traces import CUT_SHORT, trace, trace_of
from tests.unit import test_pages as made
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


def test_a_page_that_was_opened_too_early_shows_the_run_when_it_is_there(
    opened: Open, tmp_path: Path
) -> None:
    folder, later = tmp_path / "folder", tmp_path / "later"
    folder.mkdir()
    later.mkdir()
    recorded(later / "run", trace())
    with served(folder) as (base, _):
        page = opened(address_of(later, base))
        page.wait_for_selector("text=There is no such run", timeout=WAIT)
        assert page.locator("canvas").count() == 0
        (later / "run").rename(folder / "run")
        page.wait_for_selector("canvas", timeout=WAIT)
        assert not page.locator("text=There is no such run").is_visible()
        page.close()


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


def healthy(folder: Path) -> Path:
    return write_report([open_run(recorded(folder / "run", trace()))])


def sick(folder: Path) -> Path:
    return write_report([open_run(sick_run(folder / "run"))])


def unknown(folder: Path) -> Path:
    return write_report([open_run(recorded(folder / "run", trace()[:4]))])


def several(folder: Path) -> Path:
    runs = [recorded(folder / "well", trace()), sick_run(folder / "ill")]
    return write_report([open_run(run) for run in runs], folder / "page.html")


def foreign(folder: Path) -> Path:
    rows = [f"{n},{0.01 + n % 7 / 1000},{n}" for n in range(1, 60)]
    names = "total_timesteps,policy.kl,rollout.return_mean"
    (folder / "progress.csv").write_text("\n".join([names, *rows]) + "\n")
    return write_report([open_run(folder)])


KINDS = [
    *(healthy, sick, unknown, several, foreign),
    *(
        made.of_rescue,
        made.of_ladder,
        made.of_comparison,
        made.of_milestones,
        made.of_inspection,
        made.of_replay,
        made.of_study,
        made.of_fault_bench,
    ),
]


def violations(page: Any) -> list[str]:
    """What would keep somebody from using a page, in both themes, on a phone and on a desk."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = []
    for width in (360, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            told = axe.run(page).response["violations"]
            found += [f"{width} {theme} {one['id']}: {one['nodes'][0]['html']}" for one in told]
        if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            found.append(f"{width} is too narrow")
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_page_can_be_used_by_everybody(
    kind: Callable[[Path], Path], opened: Open, tmp_path: Path
) -> None:
    page = opened(kind(tmp_path).as_uri())
    page.wait_for_selector("main", timeout=WAIT)
    for fold in page.locator("summary").all():
        fold.click()
    assert violations(page) == []


def test_the_dashboard_can_be_used_by_everybody(opened: Open, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    sick_run(runs / "run")
    recorded(runs / "well", trace())
    with served(runs) as (base, _):
        for address in ("/", address_of(runs, ""), "/rule/C208"):
            page = opened(base + address)
            page.wait_for_selector("main p, .rows .row", timeout=WAIT)
            assert violations(page) == [], address
            page.close()


def test_a_rule_that_spoke_leads_to_its_page(opened: Open, tmp_path: Path) -> None:
    sick_run(tmp_path / "run")
    with served(tmp_path) as (base, _):
        page = opened(base)
        page.locator(".rows .row a").first.click()
        page.wait_for_selector(".findings a", timeout=WAIT)
        name = page.locator(".findings a").first.inner_text()
        page.locator(".findings a").first.click()
        page.wait_for_url("**/rule/**", timeout=WAIT)
        page.wait_for_selector(f"h1:has-text('{name.split()[0]}')", timeout=WAIT)
        assert "/rule/" in page.url
        page.close()


def test_lines_that_share_a_chart_are_named(opened: Open, tmp_path: Path) -> None:
    runs = [recorded(tmp_path / name, trace()) for name in ("one", "other")]
    made = milestones_page(runs, measure_all(runs, [1.0]))
    page = opened(write_page(tmp_path / "page.html", made).as_uri())
    page.wait_for_selector("canvas", timeout=WAIT)
    assert page.locator(".legend span").all_inner_texts() == ["one", "other"]


def test_the_keyboard_alone_leads_from_the_fleet_to_a_value(opened: Open, tmp_path: Path) -> None:
    sick_run(tmp_path / "run")
    with served(tmp_path) as (base, _):
        page = opened(base)
        page.wait_for_selector(".rows .row", timeout=WAIT)
        page.keyboard.press("?")
        assert holds(page, "document.querySelector('[role=dialog]') !== null")
        page.keyboard.press("Escape")
        assert holds(page, "document.querySelector('[role=dialog]') === null")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_selector("canvas", timeout=WAIT)
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.className.includes('plot')"):
                break
        page.keyboard.press("ArrowRight")
        assert holds(page, "document.querySelector('.at').textContent.includes('at ')")
        page.keyboard.press("t")
        assert holds(page, "document.documentElement.dataset.theme === 'dark'")
        page.close()


def test_the_icon_turns_when_something_is_severe(opened: Open, tmp_path: Path) -> None:
    recorded(tmp_path / "well", trace())
    icon = "decodeURIComponent(document.querySelector('link[rel=icon]').href)"
    with served(tmp_path) as (base, _):
        page = opened(base)
        page.wait_for_selector(".rows .row", timeout=WAIT)
        assert holds(page, f"{icon}.includes('#1c9c5b')")
        sick_run(tmp_path / "ill")
        assert holds(page, f"{icon}.includes('#d92d20')", patience=800)
        page.close()


def test_a_large_report_draws_first_and_reads_the_rest_afterwards(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steadyrl.viewer.frame.PACKED", 1000)
    page = opened(report_of(sick_run(tmp_path / "run")))
    page.wait_for_selector("canvas", timeout=WAIT)
    assert holds(page, DRAWN)
    before = page.locator("canvas").count()
    page.locator("summary", has_text="nothing is said of").click()
    assert holds(page, f"document.querySelectorAll('canvas').length > {before}")
    assert not page.locator("text=reading ...").is_visible()


# The viewer's own function, called as by a page that follows a run: some hundred Steps at a time.
FOLLOWED = """(code) => { const thinned = new Function(code + "; return thinned;")();
    let found = { x: [], y: [], odd: [] }, longest = 0;
    for (let begin = 0; begin < 60000; begin += 600) {
        const x = Array.from({ length: 600 }, (_, i) => 128 * (begin + i));
        const y = x.map((at) => at === 128 * 7777 ? null : at === 128 * 31234 ? 1e6 : Math.sin(at));
        const odd = x.filter((at) => at === 128 * 7777).map((at) => [at, "nan"]);
        found = thinned({ x: [...found.x, ...x], y: [...found.y, ...y],
            odd: [...found.odd, ...odd] });
        longest = Math.max(longest, found.x.length);
    }
    return { longest, ...found }; }"""


def test_a_curve_that_grows_stays_bounded_and_loses_no_spike(opened: Open) -> None:
    text = script()
    code = text[text.index("const STRETCHES") : text.index("function grown")]
    found = opened("about:blank").evaluate(FOLLOWED, code)
    assert found["longest"] <= 2400
    assert max(y for y in found["y"] if y is not None) == 1e6
    assert found["odd"] == [[128 * 7777, "nan"]]
    assert found["y"][found["x"].index(128 * 7777)] is None
    assert (found["x"][0], found["x"][-1]) == (0, 128 * 59_999)
    assert found["x"] == sorted(set(found["x"]))
