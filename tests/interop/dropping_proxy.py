"""A proxy between clients and brokers that loses answers: it breaks connections after an append.

It cuts both directions into Kafka's frames. Now and then it picks a Produce request: the broker
gets it and responses, so the batches are in the log; the response goes nowhere, and the client's
connection is reset. All the client can do is send the same batches again.
"""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from struct import Struct
from types import TracebackType
from typing import Any

from protocol import codec, messages, produce_decoder, records
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

HOST = "127.0.0.1"
MORE_RESPONSES_MAX = 4
# For another response. Clients send the next request at once, but a busy machine may not let them,
# so the wait is long until enough responses were lost at once.
MORE_RESPONSES_WAIT_S, MORE_RESPONSES_WAIT_MAX_S = 0.005, 0.1
START_TIMEOUT_S = 10.0
_SIZE = Struct(">i")
_REQUEST_START = Struct(">hhi")
_IN_LOG = {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}


@dataclass(slots=True)
class Tally:
    """What happened to Produce requests.

    Attributes:
        lost_at_once_min: how many responses one drop at least has to lose before the test can end.
        drops: connections reset after the broker had answered that the batches are in its log.
        responses_per_drop: how often that lost one Produce response, how often two, and so on.
        shared_requests: answered requests with batches of more than one partition.
        codes: how often the broker said what about a batch, lost responses included.
        unknown_offsets: how often it called a batch stored without telling an offset.
        codecs: how many batches were sent with which codec.
    """

    lost_at_once_min: int = 1
    drops: int = 0
    responses_per_drop: Counter[int] = field(default_factory=Counter)
    shared_requests: int = 0
    codes: Counter[ErrorCode] = field(default_factory=Counter)
    unknown_offsets: int = 0
    codecs: Counter[str] = field(default_factory=Counter)

    @property
    def has_lost_enough_at_once(self) -> bool:
        """Whether one drop has lost as many responses as it has to."""
        return max(self.responses_per_drop, default=0) >= self.lost_at_once_min

    def wants_more(self, drops: int) -> bool:
        """Whether there were fewer drops than this, or none that lost enough responses."""
        return self.drops < drops or not self.has_lost_enough_at_once

    def note_request(self, version: int, frame: bytes) -> None:
        """Count a Produce request, a frame with its size in front."""
        position = codec.decode_header(frame, 4, len(frame)).end
        if messages.is_flexible(ApiKey.PRODUCE, version):
            position = codec.skip_tagged_fields(frame, position, len(frame))
        request = produce_decoder.decode_request(version, frame, position, len(frame))
        for topic in request.topics:
            for part in topic.partitions:
                attributes = records.read_header(frame, part.start).attributes
                codec_number = attributes & records.COMPRESSION_MASK
                self.codecs[records.COMPRESSION_NAMES[codec_number]] += 1

    def note_response(self, version: int, frame: bytes) -> bool:
        """Count a Produce response; whether it says that all of its batches are in the log."""
        body_start = 9 if messages.is_flexible(ApiKey.PRODUCE, version) else 8
        response: Any = messages.ProduceResponse.decode(frame[body_start:], version=version)
        parts = [part for topic in response.responses for part in topic.partition_responses]
        self.shared_requests += len(parts) > 1
        for part in parts:
            self.codes[ErrorCode(part.error_code)] += 1
            if part.error_code in _IN_LOG and part.base_offset == -1:
                self.unknown_offsets += 1
        return all(part.error_code in _IN_LOG for part in parts)


class DroppingProxy:
    """One listener per broker, on ports in a row; a context manager with a separate thread.

    `drop_rate` is the share of Produce requests whose response is lost; it may be changed at any
    time, and so may `tally` be replaced.
    """

    def __init__(self, port: int, upstream_ports: Sequence[int], *, seed: int) -> None:
        self.port = port
        self.drop_rate = 0.0
        self.tally = Tally()
        self.rng = random.Random(seed)
        self._upstream_ports = tuple(upstream_ports)
        self._dropped = threading.Condition()
        self._connections: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._is_started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dropping-proxy")

    @property
    def servers(self) -> str:
        """The addresses for clients."""
        return ",".join(f"{HOST}:{self.port + i}" for i in range(len(self._upstream_ports)))

    def wait_for_drops(self, count: int, timeout_s: float) -> bool:
        """Wait until the tally has `count` drops; whether it has."""
        with self._dropped:
            return self._dropped.wait_for(lambda: self.tally.drops >= count, timeout_s)

    def __enter__(self) -> "DroppingProxy":
        self._thread.start()
        assert self._is_started.wait(START_TIMEOUT_S), "the proxy could not listen"
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def note_drop(self, response_count: int) -> None:
        """Count a connection that was reset with so many responses lost."""
        with self._dropped:
            self.tally.drops += 1
            self.tally.responses_per_drop[response_count] += 1
            self._dropped.notify_all()

    def _run(self) -> None:
        with closing(self._loop):
            self._loop.run_until_complete(self._serve())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())

    async def _serve(self) -> None:
        listeners = [
            await asyncio.start_server(self._handler(upstream_port), HOST, self.port + index)
            for index, upstream_port in enumerate(self._upstream_ports)
        ]
        self._is_started.set()
        await self._stop.wait()
        for listener in listeners:
            listener.close()
        # asyncio starts the task of an accepted connection in a later turn.
        ended: set[asyncio.Task[None]] = set()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for connection in self._connections - ended:
                connection.cancel()
                ended.add(connection)
            await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)

    def _handler(self, upstream_port: int) -> Any:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._connections.add(task)
            try:
                await _Link(self, reader, writer).run(upstream_port)
            except asyncio.CancelledError:
                pass  # the proxy ends
            finally:
                self._connections.discard(task)

        return handle


class _Link:
    """One client's connection and the one to the broker that belongs to it."""

    def __init__(
        self, proxy: DroppingProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._proxy = proxy
        self._client_reader = reader
        self._client_writer = writer
        self._versions: dict[int, int] = {}
        self._doomed: int | None = None

    async def run(self, upstream_port: int) -> None:
        try:
            reader, writer = await asyncio.open_connection(HOST, upstream_port)
        except (OSError, asyncio.CancelledError):
            self._client_writer.transport.abort()
            return
        requests = asyncio.create_task(self._forward_requests(writer))
        responses = asyncio.create_task(self._forward_responses(reader))
        try:
            await asyncio.wait({requests, responses}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            requests.cancel()
            responses.cancel()
            # Before the next await: the end of the proxy may cancel it.
            self._client_writer.transport.abort()
            # Not aborted: what the broker has of this client it may well read, and append, after
            # the client has come back and sent it again.
            writer.close()
            await asyncio.gather(requests, responses, return_exceptions=True)

    async def _forward_requests(self, upstream: asyncio.StreamWriter) -> None:
        while True:
            frame = await _read_frame(self._client_reader)
            api_key, version, correlation_id = _REQUEST_START.unpack_from(frame, 4)
            if api_key == ApiKey.PRODUCE:
                self._versions[correlation_id] = version
                proxy = self._proxy
                proxy.tally.note_request(version, frame)
                if self._doomed is None and proxy.rng.random() < proxy.drop_rate:
                    self._doomed = correlation_id
            upstream.write(frame)
            await upstream.drain()

    async def _forward_responses(self, upstream: asyncio.StreamReader) -> None:
        while True:
            frame = await _read_frame(upstream)
            (correlation_id,) = _SIZE.unpack_from(frame, 4)
            version = self._versions.pop(correlation_id, None)
            is_in_log = version is not None and self._proxy.tally.note_response(version, frame)
            if correlation_id == self._doomed:
                if is_in_log:
                    await self._drop(upstream)
                    return
                self._doomed = None  # refused: nothing to lose
            self._client_writer.write(frame)
            await self._client_writer.drain()

    async def _drop(self, upstream: asyncio.StreamReader) -> None:
        """Lose this response, or also those to all requests that the client sends until then."""
        response_count = 1
        is_enough = self._proxy.tally.has_lost_enough_at_once
        wait_s = MORE_RESPONSES_WAIT_S if is_enough else MORE_RESPONSES_WAIT_MAX_S
        for _ in range(self._proxy.rng.choice((0, MORE_RESPONSES_MAX))):
            try:
                frame = await asyncio.wait_for(_read_frame(upstream), wait_s)
            except (TimeoutError, asyncio.IncompleteReadError, OSError):
                break
            (correlation_id,) = _SIZE.unpack_from(frame, 4)
            version = self._versions.pop(correlation_id, None)
            if version is not None:
                self._proxy.tally.note_response(version, frame)
                response_count += 1
        self._proxy.note_drop(response_count)


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    """A whole frame with its size in front."""
    size = await reader.readexactly(4)
    return size + await reader.readexactly(_SIZE.unpack(size)[0])
