"""A server with canned responses to three APIs, to measure the limit of a load generator.

`python -m benchmarks.canned_responses` prints its address as a broker does and runs until SIGTERM.
"""

import asyncio
import signal
from struct import Struct

import uvloop

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.produce import PartitionResult, TopicResult, encode_response

TOPIC = "bench"
PRODUCE_VERSION = 9
INIT_PRODUCER_ID_VERSION = 1

_SIZE = Struct(">i")
_START = Struct(">ihhi")
_RESPONSE = Struct(">ii")


def _body(response: object, version: int) -> bytes:
    return bytes(response.encode(version=version))  # type: ignore[attr-defined]


def responses() -> dict[int, bytes]:
    """Return the response to each API, without size and correlation id."""
    versions = messages.ApiVersionsResponse.ApiVersion
    supported = {
        ApiKey.PRODUCE: PRODUCE_VERSION,
        ApiKey.INIT_PRODUCER_ID: INIT_PRODUCER_ID_VERSION,
        ApiKey.API_VERSIONS: 3,
    }
    api_versions = messages.ApiVersionsResponse(
        version=3,
        error_code=0,
        api_keys=[
            versions(api_key=key, min_version=0, max_version=version)
            for key, version in supported.items()
        ],
        throttle_time_ms=0,
    )
    granted = messages.InitProducerIdResponse(
        version=INIT_PRODUCER_ID_VERSION,
        throttle_time_ms=0,
        error_code=0,
        producer_id=1,
        producer_epoch=0,
    )
    stored = encode_response(
        PRODUCE_VERSION, [TopicResult(TOPIC, None, [PartitionResult(0, 0, 0)])]
    )
    return {
        ApiKey.API_VERSIONS: _body(api_versions, 3),
        ApiKey.INIT_PRODUCER_ID: _body(granted, INIT_PRODUCER_ID_VERSION),
        ApiKey.PRODUCE: b"\0" + bytes(stored),
    }


class Canned(asyncio.Protocol):
    """One connection."""

    _responses = responses()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        position, available, out = 0, len(data), []
        while available - position >= 12:
            size, api_key, _version, correlation_id = _START.unpack_from(data, position)
            end = position + 4 + size
            if end > available:
                break
            response = self._responses[api_key]
            out.append(_RESPONSE.pack(4 + len(response), correlation_id))
            out.append(response)
            position = end
        self._rest = data[position:]
        self._transport.write(b"".join(out))  # type: ignore[attr-defined]


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Canned, "127.0.0.1", 0, backlog=1024)
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    host, port = server.sockets[0].getsockname()
    print(f"bootstrap.servers={host}:{port}", flush=True)
    await stop.wait()
    server.close()


if __name__ == "__main__":
    uvloop.run(serve())
