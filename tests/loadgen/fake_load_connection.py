"""A connection without a socket, for tests of single frames."""

from struct import Struct
from typing import Any

from loadgen.clients.load_connection import Reader, RunReader
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.produce import PartitionResult, TopicResult, encode_response
from protocol.produce_decoder import decode_request
from protocol.records import BatchHeader, read_header

VERSION = 9
_CORRELATION = Struct(">i")


class FakeWire:
    """A codec with one version of each API."""

    def version_of(self, api_key: ApiKey) -> int:
        return VERSION if api_key == ApiKey.PRODUCE else 1

    def request(self, request: Any) -> bytes:
        assert request.API_KEY == ApiKey.INIT_PRODUCER_ID
        return b"InitProducerId"


class FakeConnection:
    """A connection that records frames; tests call `response` and `lose` as the broker."""

    def __init__(self, producer_id: int = 70) -> None:
        self.wire = FakeWire()
        self.on_lost: Any = None
        self.throttled_until_us = 0
        self.is_lost = False
        self.run_reader: RunReader | None = None
        self.run_bytes_min = 0
        self.sent: list[tuple[int, BatchHeader]] = []
        self._reader: Reader | None = None
        self.is_aborted = False
        self._producer_id = producer_id

    async def exchange(self, frame: bytes, _timeout_s: float) -> Any:
        assert frame == b"InitProducerId"
        return messages.InitProducerIdResponse(
            version=1,
            throttle_time_ms=0,
            error_code=0,
            producer_id=self._producer_id,
            producer_epoch=0,
        )

    def send(self, frames: bytes, reader: Reader, count: int = 1) -> None:
        self._reader = reader
        size = len(frames) // count
        for start in range(0, len(frames), size):
            frame = frames[start : start + size]
            (correlation_id,) = _CORRELATION.unpack_from(frame, 8)
            (name_bytes,) = Struct(">h").unpack_from(frame, 12)
            request = decode_request(VERSION, frame, 14 + name_bytes + 1, len(frame))
            [(_, _, [partition])] = request.topics
            self.sent.append((correlation_id, read_header(frame, partition.start)))

    def response(
        self, correlation_id: int, now_us: int, error_code: int = 0, throttle_time_ms: int = 0
    ) -> None:
        result = PartitionResult(0, error_code)
        body = encode_response(VERSION, [TopicResult("t", None, [result])], throttle_time_ms)
        frame = _CORRELATION.pack(correlation_id) + b"\0" + bytes(body)
        assert self._reader is not None
        self._reader.responded(frame, 0, len(frame), now_us)

    def abort(self) -> None:
        self.is_aborted = True

    def lose(self, now_us: int) -> None:
        self.is_lost = True
        self.on_lost(now_us)
