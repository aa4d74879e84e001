"""The client of the admin port: errors, persistent connections, and connections that closed."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from mock_kafka import ControlError, MockKafka
from mock_kafka.control import Control


class OneResponseAConnection(BaseHTTPRequestHandler):
    """Announce a kept connection and close it after each response, as after a long idle time."""

    protocol_version = "HTTP/1.1"
    responded = 0

    def do_GET(self) -> None:
        type(self).responded += 1
        body = b'{"path": "%s"}' % self.path.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def closing_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), OneResponseAConnection) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_kept_connection_that_the_server_closed_is_replaced(closing_url: str) -> None:
    control = Control(closing_url)
    OneResponseAConnection.responded = 0
    for number in range(3):
        assert control.ask("GET", f"/{number}") == {"path": f"/{number}"}
    assert OneResponseAConnection.responded == 3
    control.close()


def test_query_values_that_are_none_are_omitted_and_booleans_are_lowercase(
    closing_url: str,
) -> None:
    control = Control(closing_url)
    response = control.ask("GET", "/x", query={"a": None, "bodies": False, "topic": "é &"})
    assert response == {"path": "/x?bodies=false&topic=%C3%A9+%26"}
    control.close()


def test_a_stopped_cluster_is_a_connection_error_with_the_url() -> None:
    with MockKafka() as kafka:
        control = kafka.control
        assert control.ask("GET", "/healthz")["status"] == "ok"
        with pytest.raises(ControlError, match="openapi") as refused:
            control.ask("GET", "/v1/nothing")
        assert refused.value.status == 404
    with pytest.raises(ConnectionError, match="still running"):
        control.ask("GET", "/healthz")


def test_the_token_is_sent_if_it_is_set() -> None:
    with MockKafka(config={"broker.admin.token": "secret"}) as kafka:
        assert kafka.topics() == []
        stranger = Control(kafka.admin_url)
        with pytest.raises(ControlError, match="Bearer TOKEN"):
            stranger.ask("GET", "/v1/topics")
        stranger.close()
