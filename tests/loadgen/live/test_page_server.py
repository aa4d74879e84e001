"""The live page over HTTP."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from loadgen.live.page_server import PageServer
from tests.loadgen.live.made_batches import batch_of_second, figures_of

CONTENT: dict[str, Any] = {
    "run": {"run": "r-1", "plan": "<b>plan</b>", "target": "a:1", "duration_s": 10.0},
    "state": "running",
    "note": None,
    "figures": figures_of(batch_of_second(0)).as_dict(),
}


@pytest.fixture
def port() -> Iterator[int]:
    server = PageServer("127.0.0.1", 0, lambda: CONTENT)
    yield urlsplit(server.url).port or 0
    server.close()


def get(port: int, path: str, **headers: str) -> tuple[int, str, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, response.headers["Content-Type"], body


def test_the_page_needs_no_other_file(port: int) -> None:
    status, kind, body = get(port, "/?x=1")
    assert (status, kind) == (200, "text/html; charset=utf-8")
    assert "&lt;b&gt;plan&lt;/b&gt;" in body
    assert "src=" not in body
    assert "href=" not in body


def test_the_data_is_json_and_the_metrics_are_text(port: int) -> None:
    assert json.loads(get(port, "/live.json")[2]) == CONTENT
    status, kind, body = get(port, "/metrics")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert 'kafka_load_events_total{tenant="shop"} 10.0' in body


def test_other_paths_are_not_found(port: int) -> None:
    assert get(port, "/other") == (
        404,
        "text/plain; charset=utf-8",
        "there are /, /live.json and /metrics\n",
    )


def test_a_page_on_loopback_refuses_other_names_of_the_host(port: int) -> None:
    assert get(port, "/live.json", Host=f"evil.example:{port}")[0] == 403
    assert get(port, "/live.json", Host=f"localhost:{port}")[0] == 200


def test_an_address_that_is_taken_is_an_error(port: int) -> None:
    with pytest.raises(OSError, match="in use"):
        PageServer("127.0.0.1", port, lambda: CONTENT)
