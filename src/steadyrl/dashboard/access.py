"""Who may ask: pages of this dashboard, by the names it was given, and from afar with a token."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from werkzeug.exceptions import MethodNotAllowed
from werkzeug.utils import redirect
from werkzeug.wrappers import Request, Response

HERE = "127.0.0.1"
COOKIE = "steadyrl"
TOKEN = "token"


@dataclass(frozen=True)
class Access:
    """The names under which the dashboard answers, and the token that it asks for, if it does."""

    hosts: frozenset[str]
    token: str = ""

    def refusal(self, request: Request) -> Response | None:
        """Other hosts' names (a page elsewhere that resolves to us), other sites, other methods."""
        if request.environ.get("HTTP_HOST", "") not in self.hosts:
            return Response("this dashboard does not answer to that name\n", status=403)
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed(["GET", "HEAD"])
        site = request.headers.get("Sec-Fetch-Site", "none")
        opened = request.headers.get("Sec-Fetch-Mode") == "navigate"
        if site not in ("same-origin", "none") and not opened:
            return Response("only its own pages may ask\n", status=403)
        return self._without_token(request) if self.token else None

    def _without_token(self, request: Request) -> Response | None:
        """The token is taken out of the address at once, into a cookie that no script can read."""
        given = request.args.get(TOKEN)
        if given is not None and _same(given, self.token):
            rest = [(n, v) for n, v in request.args.items(multi=True) if n != TOKEN]
            response = redirect(request.path + (f"?{urlencode(rest)}" if rest else ""), code=303)
            response.set_cookie(COOKIE, self.token, httponly=True, samesite="Strict")
            return response
        if _same(request.cookies.get(COOKIE, ""), self.token):
            return None
        return Response("open the address that `steadyrl dashboard` printed\n", status=403)


def access_of(host: str, port: int) -> Access:
    """From this machine it is open; from any other it takes a token."""
    if host in (HERE, "localhost"):
        return Access(_named((HERE, "localhost"), port))
    return Access(_named((host,), port), secrets.token_urlsafe(24))


def _named(names: Iterable[str], port: int) -> frozenset[str]:
    return frozenset(f"{name}:{port}" for name in names)


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())
