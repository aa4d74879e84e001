"""Build toxiproxy from the Go proxy, and run it in front of one address."""

import json
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from benchmarks.server_process import pinned
from scenarios.toolchain import cached_folder, run_tool

MODULE = "github.com/Shopify/toxiproxy/v2"
VERSION = "v2.12.0"
START_SECONDS_MAX = 10


@cache
def executable() -> Path:
    """Return the path of the server; the first call builds it.

    Raises:
        CannotRunError: no Go toolchain, or it could not fetch or compile.
    """

    def build(folder: Path) -> None:
        install = ["install", f"{MODULE}/cmd/server@{VERSION}"]
        run_tool("go", install, folder, {"GOBIN": str(folder), "GOFLAGS": "-mod=mod"})

    return cached_folder(f"toxiproxy-{VERSION}", build) / "server"


@contextmanager
def serve(upstream: tuple[str, int], cpu: int | None = None) -> Iterator[tuple[int, int]]:
    """Run it in front of an address; yield its process id and its port."""
    api_port, port = _free_port(), _free_port()
    with pinned(cpu):
        process = subprocess.Popen(
            [str(executable()), "-port", str(api_port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    try:
        host, upstream_port = upstream
        body = {
            "name": "kafka",
            "listen": f"127.0.0.1:{port}",
            "upstream": f"{host}:{upstream_port}",
            "enabled": True,
        }
        request = urllib.request.Request(
            f"http://127.0.0.1:{api_port}/proxies", json.dumps(body).encode(), method="POST"
        )
        deadline_s = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                urllib.request.urlopen(request, timeout=START_SECONDS_MAX).close()
                break
            except OSError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.05)
        yield process.pid, port
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
