"""The viewer is what it says it is: vendored files by checksum, data that cannot become markup."""

from __future__ import annotations

import gzip
import hashlib
import json
from importlib.resources import files

from hypothesis import given
from hypothesis import strategies as st

from steadyrl.viewer.frame import inert, render_page, script, style
from steadyrl.views.pages import Page, text

VENDOR = files("steadyrl.viewer") / "vendor"
LARGEST = 100_000  # bytes of script and styles as they travel


def test_vendored_files_are_those_that_were_built() -> None:
    about = json.loads((VENDOR / "VENDOR.json").read_text("utf-8"))
    kept = {file.name for file in VENDOR.iterdir() if file.name != "VENDOR.json"}
    assert about["sha256"].keys() == kept
    for name, digest in about["sha256"].items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest


def test_every_vendored_package_comes_with_its_licence_and_checksum() -> None:
    packages = json.loads((VENDOR / "VENDOR.json").read_text("utf-8"))["packages"]
    for name in ("uplot", "preact", "htm"):
        assert packages[name]["integrity"].startswith("sha512-")
        assert (VENDOR / f"LICENSE-{name}.txt").read_text("utf-8").strip()


def test_the_viewer_is_small() -> None:
    assert len(gzip.compress((script() + style()).encode())) < LARGEST


def test_nothing_in_the_viewer_ends_the_block_it_stands_in() -> None:
    assert "</script" not in script()
    assert "</style" not in style()


@given(st.text())
def test_data_is_the_same_when_read_back_and_never_markup(content: str) -> None:
    written = inert(json.dumps({"text": content}))
    assert json.loads(written) == {"text": content}
    assert not set("<>&\u2028\u2029") & set(written)


def test_a_page_of_hostile_text_has_one_data_block_and_one_script() -> None:
    evil = "</script><script>alert(1)</script><!--"
    page = render_page(Page(kind="x", title=evil, told=[evil], blocks=[text(evil, title=evil)]))
    assert page.count("<script") == page.count("</script>") == 2
