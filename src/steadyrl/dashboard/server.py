"""The dashboard's server: this machine only, reading only, and only its folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.routing import Map, Rule
from werkzeug.wrappers import Request, Response

from steadyrl.core.errors import SteadyError
from steadyrl.dashboard.fleet import Fleet, worst_first
from steadyrl.dashboard.live import EVERY, QUIET, event, follow_run
from steadyrl.dashboard.results import result_page, rule_page
from steadyrl.judging import open_run
from steadyrl.viewer.frame import plain, render_shell, script, style
from steadyrl.views.pages import Page
from steadyrl.views.run import run_view

COMPARED = 30  # runs on one page
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

    def __init__(self, fleet: Fleet, hosts: Iterable[str]) -> None:
        self.fleet, self.hosts = fleet, frozenset(hosts)

    def __call__(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        """Answer, or refuse: whatever it is, with the same headers."""
        request = Request(environ)
        try:
            response = self._refusal(request) or self._answer(request)
        except HTTPException as error:
            response = Response(f"{error.code} {error.name}\n", status=error.code)
        except SteadyError as error:
            response = Response(plain({"error": str(error)}), status=422, mimetype=JSON)
        for name, value in HEADERS.items():
            response.headers[name] = value
        return response(environ, start_response)

    def _refusal(self, request: Request) -> Response | None:
        """Other hosts' names (a page elsewhere that resolves to us), other sites, other methods."""
        if request.environ.get("HTTP_HOST", "") not in self.hosts:
            return Response("this dashboard is for this machine only\n", status=403)
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(["GET", "HEAD"])
        site = request.headers.get("Sec-Fetch-Site", "none")
        opened = request.headers.get("Sec-Fetch-Mode") == "navigate"
        if site not in ("same-origin", "none") and not opened:
            return Response("only its own pages may ask\n", status=403)
        return None

    def _answer(self, request: Request) -> Response:
        endpoint, values = ROUTES.bind_to_environ(request.environ).match()
        answer: Callable[..., Response] = getattr(self, f"_{endpoint}")
        return answer(request, **values)

    def _shell(self, _: Request, **_name: str) -> Response:
        return Response(render_shell("steadyrl"), mimetype="text/html")

    def _script(self, _: Request) -> Response:
        return Response(script(), mimetype="text/javascript")

    def _style(self, _: Request) -> Response:
        return Response(style(), mimetype="text/css")

    def _fleet(self, request: Request) -> Response:
        if visible := request.args.get("visible"):
            self.fleet.wanted(visible.split(",")[:200])
        version, rows, _ = self.fleet.since(0)
        return _json({"version": version, "rows": worst_first(rows), **self._about()})

    def _about(self) -> dict[str, Any]:
        skipped = [list(pair) for pair in self.fleet.folder.skipped.items()]
        return {"folder": self.fleet.folder.called, "skipped": skipped, "now": time.time()}

    def _runs(self, request: Request) -> Response:
        ids = request.args.get("ids", "").split(",")[:COMPARED]
        found = [one for identity in ids if (one := self.fleet.get(identity))]
        if not found:
            raise NotFound
        views = [run_view(open_run(one.path), one.name) for one in found]
        return _json(Page(kind="runs", title=f"{len(views)} runs", runs=views).to_json())

    def _result(self, _: Request, identity: str) -> Response:
        one = self.fleet.get(identity)
        if one is None:
            raise NotFound
        return _json(result_page(one).to_json())

    def _rule(self, _: Request, identity: str) -> Response:
        return _json(rule_page(identity).to_json())

    def _fleet_stream(self, _: Request) -> Response:
        return _stream(self._fleet_news())

    def _fleet_news(self) -> Iterator[str]:
        version, rows, ids = self.fleet.since(0)
        yield event("fleet", {"rows": worst_first(rows), **self._about()})
        known, spoken = set(ids), time.monotonic()
        while True:
            version, rows, ids = self.fleet.since(version)
            gone = sorted(known - set(ids))
            known = set(ids)
            if rows or gone:
                spoken = time.monotonic()
                yield event("rows", {"rows": rows, "gone": gone, "now": time.time()})
            elif time.monotonic() - spoken >= QUIET:
                spoken = time.monotonic()
                yield ": still here\n\n"
            time.sleep(EVERY)

    def _run_stream(self, _: Request, identity: str) -> Response:
        one = self.fleet.get(identity)
        if one is None:
            raise NotFound
        return _stream(follow_run(one))


JSON = "application/json"


def _json(value: Any) -> Response:
    return Response(plain(value), mimetype=JSON)


def _stream(messages: Iterator[str]) -> Response:
    return Response(messages, mimetype="text/event-stream")


def hosts_of(port: int) -> list[str]:
    """The names under which this machine may be asked for."""
    return [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
