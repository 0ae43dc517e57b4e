"""The dashboard's server: this machine only, reading only, and only its folder."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from steadyrl.core.errors import SteadyError
from steadyrl.dashboard.access import Access
from steadyrl.dashboard.fleet import EVERY, Fleet, worst_first
from steadyrl.dashboard.live import QUIET, STILL_HERE, event, follow_run
from steadyrl.dashboard.results import page_of, rule_page
from steadyrl.viewer.frame import plain, render_shell, script, style
from steadyrl.views.pages import Page

COMPARED = 30  # runs on one page
FIRST = 5.0  # seconds in which whoever has opened a page is told soon of what was judged
SOON = 0.2  # seconds
NO_RUN = "There is no such run in this folder. It is shown here as soon as there is"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
ROUTES = Map(
    [
        Rule("/", endpoint="shell"),
        Rule("/run/<name>", endpoint="shell"),
        Rule("/result/<name>", endpoint="shell"),
        Rule("/rule/<name>", endpoint="shell"),
        Rule("/compare", endpoint="shell"),
        Rule("/viewer.js", endpoint="script"),
        Rule("/viewer.css", endpoint="style"),
        Rule("/api/fleet", endpoint="fleet"),
        Rule("/api/runs", endpoint="runs"),
        Rule("/api/result/<identity>", endpoint="result"),
        Rule("/api/rule/<identity>", endpoint="rule"),
        Rule("/events/fleet", endpoint="fleet_stream"),
        Rule("/events/run/<identity>", endpoint="run_stream"),
    ]
)


class Dashboard:
    """A WSGI application over one folder."""

    def __init__(self, fleet: Fleet, access: Access) -> None:
        self.fleet, self.access = fleet, access

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        """Answer, or refuse: whatever it is, with the same headers."""
        request = Request(environ)
        try:
            response = self.access.refusal(request) or self._answer(request)
        except HTTPException as error:
            response = Response(f"{error.code} {error.name}\n", status=error.code)
        except SteadyError as error:
            response = Response(plain({"error": str(error)}), status=422, mimetype=JSON)
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response(environ, start_response)

    def _answer(self, request: Request) -> Response:
        endpoint, values = ROUTES.bind_to_environ(request.environ).match()
        answer: Callable[..., Response] = getattr(self, f"_{endpoint}")
        return answer(request, **values)

    def _shell(self, _: Request, **_name: str) -> Response:
        return Response(render_shell("steadyrl"), mimetype="text/html")

    def _script(self, request: Request) -> Response:
        return _packed(request, script(), "text/javascript")

    def _style(self, request: Request) -> Response:
        return _packed(request, style(), "text/css")

    def _fleet(self, request: Request) -> Response:
        if visible := request.args.get("visible"):
            ids = visible.split(",")[:200]
            self.fleet.wanted(ids)
            return _packed(request, plain({"rows": self.fleet.some(ids)}), JSON)
        version, rows, _ = self.fleet.since(0)
        found = {"version": version, "rows": worst_first(rows), **self._about()}
        return _packed(request, plain(found), JSON)

    def _about(self) -> dict[str, Any]:
        skipped = [list(pair) for pair in self.fleet.folder.skipped.items()]
        return {"folder": self.fleet.folder.called, "skipped": skipped, "now": time.time()}

    def _runs(self, request: Request) -> Response:
        ids = request.args.get("ids", "").split(",")[:COMPARED]
        found = [one for identity in ids if (one := self.fleet.get(identity))]
        if not found:
            raise NotFound
        views = [json.loads(self.fleet.looks.page(one)[1]) for one in found]
        page = Page(kind="runs", title=f"{len(views)} runs").to_json()
        return _packed(request, plain({**page, "runs": views}), JSON)

    def _result(self, request: Request, identity: str) -> Response:
        one = self.fleet.get(identity)
        if one is None:
            raise NotFound
        return _packed(request, plain(page_of(one).to_json()), JSON)

    def _rule(self, request: Request, identity: str) -> Response:
        return _packed(request, plain(rule_page(identity).to_json()), JSON)

    def _fleet_stream(self, _: Request) -> Response:
        return _stream(self._fleet_news())

    def _fleet_news(self) -> Iterator[str]:
        with self.fleet.watched():
            version, rows, ids = self.fleet.since(0)
            yield event("fleet", plain({"rows": worst_first(rows), **self._about()}))
            begun = spoken = time.monotonic()
            known = set(ids)
            while True:
                version, rows, ids = self.fleet.since(version)
                gone = sorted(known - set(ids))
                known = set(ids)
                if rows or gone:
                    spoken = time.monotonic()
                    yield event("rows", plain({"rows": rows, "gone": gone, "now": time.time()}))
                elif time.monotonic() - spoken >= QUIET:
                    spoken = time.monotonic()
                    yield STILL_HERE
                time.sleep(SOON if time.monotonic() - begun < FIRST else EVERY)

    def _run_stream(self, _: Request, identity: str) -> Response:
        return _stream(self._run_news(identity))

    def _run_news(self, identity: str) -> Iterator[str]:
        """A run may be asked for before its first file is written, or found."""
        if self.fleet.get(identity) is None:
            yield event("problem", plain(f"{NO_RUN} ..."))
        while (one := self.fleet.get(identity)) is None:
            time.sleep(EVERY)
            yield STILL_HERE
        yield from follow_run(one, self.fleet.looks)


JSON = "application/json"


SMALL = 1000  # bytes that are not worth packing


def _packed(request: Request, text: str, mimetype: str) -> Response:
    """Text that may come through a slow tunnel."""
    content = text.encode(errors="replace")
    if len(content) < SMALL or not request.accept_encodings["gzip"]:
        return Response(content, mimetype=mimetype)
    squeeze = _squeezed if mimetype != JSON else _squeezed_once
    return Response(squeeze(content), mimetype=mimetype, headers={"Content-Encoding": "gzip"})


def _squeezed_once(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=4, mtime=0)


@lru_cache(maxsize=4)
def _squeezed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _stream(messages: Iterator[str]) -> Response:
    return Response(messages, mimetype="text/event-stream")
