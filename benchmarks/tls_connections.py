"""Open many TLS connections, and send a request on each twice (`HOST PORT COUNT CA_FILE PID`).

All connections stay open until the end. PID is the broker's process, whose memory is measured.
Prints its figures as JSON.
"""

import asyncio
import json
import ssl
import sys
import time
from typing import Any

import uvloop

from benchmarks import request_bytes
from benchmarks.server_process import allow_open_files, status_bytes
from protocol import messages
from protocol.api_keys import ApiKey

AT_ONCE = 50
TIMEOUT_S = 60


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self) -> bool:
        """Send ApiVersions; return whether the response is right."""
        request = messages.ApiVersionsRequest(version=0)
        self._writer.write(request_bytes.frame_request(request, 7))
        size = await self._reader.readexactly(4)
        body = await self._reader.readexactly(int.from_bytes(size))
        response = request_bytes.decode_response(ApiKey.API_VERSIONS, 0, size + body)
        return response.error_code == 0 and len(response.api_keys) > 0

    def close(self) -> None:
        """Close the connection without a farewell."""
        self._writer.transport.abort()


async def measure(host: str, port: int, count: int, ca_file: str, pid: int) -> dict[str, Any]:
    """Return the figures of a run."""
    tls = ssl.create_default_context(cafile=ca_file)
    slots = asyncio.Semaphore(AT_ONCE)
    clients: list[Client] = []
    durations_ms: list[float] = []
    answered = 0

    async def connect() -> None:
        async with slots, asyncio.timeout(TIMEOUT_S):
            streams = await asyncio.open_connection(host, port, ssl=tls, limit=4096)
            client = Client(*streams)
            assert await client.ask()
            clients.append(client)

    async def ask(client: Client) -> None:
        nonlocal answered
        async with slots, asyncio.timeout(TIMEOUT_S):
            begun_s = time.perf_counter()
            is_right = await client.ask()
            answered += is_right
            durations_ms.append((time.perf_counter() - begun_s) * 1000)

    before_bytes = status_bytes(pid, "VmRSS")
    begun_s = time.perf_counter()
    outcomes = await asyncio.gather(*(connect() for _ in range(count)), return_exceptions=True)
    connected_s = time.perf_counter() - begun_s
    bytes_each = (status_bytes(pid, "VmRSS") - before_bytes) / count
    outcomes += await asyncio.gather(*map(ask, clients), return_exceptions=True)
    for client in clients:
        client.close()
    return {
        "lost": count - answered,
        "bytes_each": round(bytes_each),
        "connected_s": round(connected_s, 1),
        "request_ms_p99": round(sorted(durations_ms)[int(len(durations_ms) * 0.99)], 2),
        "in_flight": AT_ONCE,
        "errors": sorted({repr(outcome) for outcome in outcomes if outcome is not None})[:5],
    }


if __name__ == "__main__":
    allow_open_files()
    server, server_port, number, ca_path, broker_pid = sys.argv[1:]
    figures = uvloop.run(measure(server, int(server_port), int(number), ca_path, int(broker_pid)))
    print(json.dumps(figures))
