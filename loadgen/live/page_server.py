"""Serve the live page, its data and the metrics over HTTP, in threads of the driver."""

import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from loadgen import page
from loadgen.live.metrics import metrics_text

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_TIMEOUT_S = 10
Content = Callable[[], dict[str, Any]]


class PageServer:
    """Serves `/`, `/live.json` and `/metrics` until `close`."""

    def __init__(self, host: str, port: int, content: Content) -> None:
        """Listen on an address; port 0 is any free one.

        Args:
            host: a name or an IPv4 address of this machine.
            port: the port.
            content: returns what the page shows, as JSON values.

        Raises:
            OSError: the address is taken, or not one of this machine.
        """

        class Handler(_Handler):
            pass

        Handler.content = staticmethod(content)
        Handler.names = LOOPBACK if host in LOOPBACK else None
        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        self._host = host
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="live-page", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{self._host}:{self._server.server_address[1]}/"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    content: Content
    names: tuple[str, ...] | None
    """The names by which a page on loopback may be requested: others are a rebound DNS name."""
    timeout = _TIMEOUT_S

    def do_GET(self) -> None:
        """Respond with the page, its data or the metrics."""
        host = self.headers.get("Host", "").rpartition(":")[0].strip("[]")
        if self.names is not None and host not in self.names:
            self._respond(HTTPStatus.FORBIDDEN, "text/plain", "this page is for this machine only")
            return
        path = self.path.partition("?")[0]
        if path == "/":
            run = self.content()["run"]
            text, kind = page.render("live/live.html", {}, run=run), "text/html"
        elif path == "/live.json":
            text, kind = msgspec.json.encode(self.content()).decode(), "application/json"
        elif path == "/metrics":
            text, kind = metrics_text(self.content()), "text/plain; version=0.0.4"
        else:
            text = "there are /, /live.json and /metrics\n"
            self._respond(HTTPStatus.NOT_FOUND, "text/plain", text)
            return
        self._respond(HTTPStatus.OK, kind, text)

    def _respond(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the terminal shows the progress of the load."""
