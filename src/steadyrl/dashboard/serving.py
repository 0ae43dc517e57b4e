"""Binds the dashboard to a port of this machine."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from steadyrl.core.errors import ConfigError
from steadyrl.dashboard.fleet import Fleet
from steadyrl.dashboard.folder import Folder
from steadyrl.dashboard.server import Dashboard, hosts_of

HERE = "127.0.0.1"


class _Quiet(WSGIRequestHandler):
    """Says nothing of requests, and nothing of itself to who asks."""

    server_version, sys_version = "steadyrl", ""

    def log(self, type: str, message: str, *args: object) -> None:
        """Requests are nobody's business."""


def made(folder: Path, port: int) -> tuple[BaseWSGIServer, Fleet]:
    """A server that is bound and does not serve yet, and its fleet."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    fleet = Fleet(Folder(folder))
    app = Dashboard(fleet, ())
    try:
        server = make_server(HERE, port, app, threaded=True, request_handler=_Quiet)
    except (OSError, SystemExit) as error:
        raise ConfigError(
            f"port {port} cannot be had: {error}. Use another --port, or 0."
        ) from None
    app.hosts = frozenset(hosts_of(server.port))
    return server, fleet


def serve(folder: Path, port: int, say: Callable[[str], None]) -> int:
    """Until somebody ends it."""
    server, fleet = made(folder, port)
    fleet.start()
    say(f"http://{HERE}:{server.port}  {folder} (end: Ctrl-C)")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
    return 0
