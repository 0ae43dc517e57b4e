"""Binds the dashboard to a port of this machine."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from steadyrl.core.errors import ConfigError
from steadyrl.dashboard.access import HERE, TOKEN, Access, access_of
from steadyrl.dashboard.fleet import Fleet
from steadyrl.dashboard.folder import Folder
from steadyrl.dashboard.looking import Looks
from steadyrl.dashboard.server import Dashboard
from steadyrl.store.kept import Kept, usual

EVERYWHERE = ("0.0.0.0", "::", "")


class _Quiet(WSGIRequestHandler):
    """Says nothing of requests, and nothing of itself to who asks."""

    server_version, sys_version = "steadyrl", ""

    def log(self, type: str, message: str, *args: object) -> None:
        """Requests are nobody's business."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Not even looked at: what is asked for may be no address."""

    def run_wsgi(self) -> None:
        """Answer; an address that is none is refused in words, not with a traceback."""
        try:
            urlsplit(self.path)
        except ValueError:
            self.send_error(400, "no address")
        else:
            super().run_wsgi()


@dataclass(frozen=True)
class Made:
    """A server that is bound and does not serve yet, its fleet, and where to look."""

    server: BaseWSGIServer
    fleet: Fleet
    address: str


def made(folder: Path, port: int, host: str = HERE, kept: Kept | None = None) -> Made:
    """Bind to a port; the system gives one if it is 0."""
    if host in EVERYWHERE:
        raise ConfigError(
            f"--host {host or repr(host)}: a dashboard answers to the names it knows. Give the "
            "name or the address by which this machine is called from there."
        )
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    fleet = Fleet(Folder(folder), Looks(kept))
    app = Dashboard(fleet, Access(frozenset()))
    try:
        server = make_server(host, port, app, threaded=True, request_handler=_Quiet)
    except (OSError, SystemExit) as error:
        raise ConfigError(
            f"{host}:{port} cannot be had: {error}. Use another --port, or 0."
        ) from None
    app.access = access_of(host, server.port)
    token = f"/?{TOKEN}={app.access.token}" if app.access.token else ""
    return Made(server, fleet, f"http://{host}:{server.port}{token}")


def serve(folder: Path, port: int, host: str, say: Callable[[str], None]) -> int:
    """Until somebody ends it."""
    here = made(folder, port, host, usual())
    here.fleet.start()
    say(f"{here.address}  {folder} (end: Ctrl-C)")
    if host != HERE:
        say("  whoever has this address may look; nothing is encrypted on the way")
    try:
        here.server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        here.server.server_close()
    return 0
