from typing import Any

from proxy.upstream_side import BUFFERED_BYTES_HIGH, UpstreamSide


class Recorder:
    """Notes what the broker's side reports."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def upstream_opened(self, upstream: UpstreamSide) -> None:
        self.calls.append(upstream)

    def upstream_received(self, data: bytes) -> None:
        self.calls.append(data)

    def upstream_lost(self, error: Exception | None) -> None:
        self.calls.append(error)

    def upstream_blocks(self, *, is_blocked: bool) -> None:
        self.calls.append(is_blocked)


class Transport:
    """Notes the limit of its buffer."""

    def set_write_buffer_limits(self, high: int) -> None:
        self.high = high


def test_a_connection_reports_what_happens_to_the_client() -> None:
    client, transport = Recorder(), Transport()
    side, error = UpstreamSide(client), OSError()
    side.connection_made(transport)  # type: ignore[arg-type]
    side.data_received(b"data")
    side.pause_writing()
    side.resume_writing()
    side.connection_lost(error)
    assert client.calls == [side, b"data", True, False, error]
    assert transport.high == BUFFERED_BYTES_HIGH
