"""Build toxiproxy from the Go proxy, and run it in front of one address."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from benchmarks.server_process import pinned

MODULE = "github.com/Shopify/toxiproxy/v2"
VERSION = "v2.12.0"
BUILD_SECONDS_MAX = 300
START_SECONDS_MAX = 10
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "mock-kafka"


class NoToxiproxyError(Exception):
    """It cannot be built; the message has the reason."""


@cache
def executable() -> Path:
    """Return the path of the server; the first call builds it.

    Raises:
        NoToxiproxyError: no Go toolchain, or it could not fetch or compile.
    """
    if shutil.which("go") is None:
        raise NoToxiproxyError("toxiproxy needs a Go toolchain: go is not here")
    folder = _CACHE / f"toxiproxy-{VERSION}"
    path = folder / "server"
    if path.exists():
        return path
    built = subprocess.run(
        ["go", "install", f"{MODULE}/cmd/server@{VERSION}"],
        env={**os.environ, "GOBIN": str(folder), "GOFLAGS": "-mod=mod"},
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS_MAX,
        check=False,
    )
    if built.returncode != 0:
        raise NoToxiproxyError(f"go install: {built.stderr.strip()[-500:]}")
    return path


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
