"""A network of byte streams: bytes arrive late, in other pieces, or not at all, but in order.

A `Link` is a TCP connection of two streams. Each piece of data has its own delay, but no piece
overtakes another on its stream. A link may be closed in the middle of a send. Each side then
notices it later, or never (half-open). Data that a client sent before it closed may still arrive.
"""

from collections import deque
from collections.abc import Callable, Iterable
from hashlib import blake2b
from random import Random
from typing import Any, Protocol

from simulation.network_conditions import NetworkConditions
from simulation.timeline import SocketAddress, Timeline

SIZE_BYTES = 4
"""The size in front of a frame."""


class ClientEnd(Protocol):
    """The callbacks of a client for its connection."""

    def on_open(self) -> None:
        """The connection is open."""

    def on_bytes(self, data: bytes) -> None:
        """Take received bytes."""

    def on_closed(self, reason: str) -> None:
        """The connection was closed, or could not be opened."""


class Stream:
    """One direction of a link."""

    __slots__ = (
        "_deliver",
        "_end",
        "_is_paused",
        "_last_due_ms",
        "_network",
        "_queue",
        "is_lost",
        "name",
        "on_drained",
        "unread_bytes",
    )

    def __init__(
        self,
        network: "Network",
        name: str,
        deliver: Callable[[bytes], None],
        end: Callable[[], None],
    ) -> None:
        self._network = network
        self.name = name
        self._deliver = deliver
        self._end = end
        self._queue: deque[tuple[int, bytes | None]] = deque()
        self._last_due_ms = 0
        self._is_paused = False
        self.is_lost = False
        """Data that is sent from now on does not arrive."""
        self.unread_bytes = 0
        self.on_drained: Callable[[], None] | None = None

    def send(self, data: bytes) -> None:
        """Send bytes, in one piece or several."""
        if self.is_lost or not data:
            return
        network = self._network
        self.unread_bytes += len(data)
        if len(data) > 1 and network.random.random() < network.conditions.split_chance:
            middle = network.random.randrange(1, len(data))
            self._put(data[:middle])
            self._put(data[middle:])
        else:
            self._put(data)

    def finish(self) -> None:
        """End the stream after the data that was sent."""
        if not self.is_lost:
            self.is_lost = True
            self._put(None)

    def drop(self, keep: int = 0) -> None:
        """Lose data on the way except the first pieces, and all later data."""
        while len(self._queue) > keep:
            self._queue.pop()
        self.is_lost = True

    def break_off(self) -> None:
        """Close the connection at the receiver, after the data that still arrives."""
        self.is_lost = True
        self._put(None)

    @property
    def queue_length(self) -> int:
        """The number of pieces on the way."""
        return len(self._queue)

    def pause(self) -> None:
        """Stop delivery to the receiver."""
        self._is_paused = True

    def resume(self) -> None:
        """Resume delivery to the receiver."""
        if self._is_paused:
            self._is_paused = False
            self._network.schedule.call_soon(self._arrive)

    def _put(self, piece: bytes | None) -> None:
        network = self._network
        due_ms = max(self._last_due_ms, network.schedule.time_ms + network.delay_ms())
        self._last_due_ms = due_ms
        self._queue.append((due_ms, piece))
        network.schedule.at(due_ms, self._arrive)

    def _arrive(self) -> None:
        queue = self._queue
        if self._is_paused or not queue:
            return
        now_ms = self._network.schedule.time_ms
        pieces: list[bytes] = []
        while queue and queue[0][0] <= now_ms:
            piece = queue.popleft()[1]
            if piece is None:
                queue.clear()
                if pieces:
                    self._take(pieces)
                self._end()
                return
            pieces.append(piece)
        if pieces:
            self._take(pieces)

    def _take(self, pieces: list[bytes]) -> None:
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self.unread_bytes -= len(data)
        self._network.note(self.name, data)
        self._deliver(data)
        if self.on_drained is not None:
            self.on_drained()


class ServerTransport:
    """The broker's end of a link: the parts of an asyncio transport that the server uses."""

    def __init__(self, link: "Link", protocol: Any) -> None:
        self._link = link
        self._protocol = protocol
        self._is_closing = False
        self._is_full = False
        self._size_field = b""
        self._rest_bytes = 0
        self.frame_times: deque[int] = deque()
        """When the first byte of each response was written."""
        self.lost_ms: int | None = None
        """When the server has lost the connection."""

    def get_extra_info(self, name: str) -> Any:
        """Return the client's address or user."""
        return {"peername": (self._link.host, self._link.number), "principal": self._link.user}.get(
            name
        )

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Ignore the limits: the conditions of the network have them."""

    def writelines(self, parts: Iterable[bytes]) -> None:
        """Send several parts to the client."""
        self.write(b"".join(parts))

    def get_write_buffer_size(self) -> int:
        """Return the number of bytes that the client has not read."""
        return self._link.down.unread_bytes

    def write(self, data: bytes) -> None:
        """Send to the client."""
        if self._is_closing:
            return
        self._note_frames(data)
        self._link.send(self._link.down, data)
        if (
            not self._is_full
            and self._link.down.unread_bytes > self._link.network.conditions.unread_bytes_max
        ):
            self._is_full = True
            self._link.down.on_drained = self._on_drained
            self._protocol.pause_writing()

    def _note_frames(self, data: bytes) -> None:
        """Note the time of each frame that begins in what is written; it may come in pieces."""
        position = min(self._rest_bytes, len(data))
        self._rest_bytes -= position
        while position < len(data):
            if not self._size_field:
                self.frame_times.append(self._link.network.schedule.time_ms)
            end = position + SIZE_BYTES - len(self._size_field)
            self._size_field += data[position:end]
            if len(self._size_field) < SIZE_BYTES:
                return
            size_bytes = max(0, int.from_bytes(self._size_field, "big", signed=True))
            self._size_field = b""
            position = min(end + size_bytes, len(data))
            self._rest_bytes = end + size_bytes - position

    def _on_drained(self) -> None:
        if self._is_full and self._link.down.unread_bytes == 0:
            self._is_full = False
            if not self._is_closing:
                self._protocol.resume_writing()

    def can_write_eof(self) -> bool:
        """Return whether the direction to the client may end alone: as with TCP, it may."""
        return True

    def write_eof(self) -> None:
        """End the stream to the client after the written data, and go on reading."""
        self._link.down.finish()

    def close(self) -> None:
        """Close after the written data."""
        if not self._is_closing:
            self._is_closing = True
            self._link.down.finish()
            self._lose()

    def abort(self) -> None:
        """Close at once."""
        self._is_closing = True
        self._link.down.drop()
        self._link.down.break_off()
        self._lose()

    def _lose(self) -> None:
        self._link.network.schedule.call_soon(self._connection_lost)

    def _connection_lost(self) -> None:
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            self.lost_ms = self._link.network.schedule.time_ms
            protocol.connection_lost(None)

    def is_closing(self) -> bool:
        """Return whether the transport is closed or closing."""
        return self._is_closing

    def pause_reading(self) -> None:
        """Stop reading from the client."""
        self._link.up.pause()

    def resume_reading(self) -> None:
        """Resume reading from the client."""
        self._link.up.resume()

    def receive(self, data: bytes) -> None:
        """Pass bytes of the client to the server."""
        if not self._is_closing:
            self._protocol.data_received(data)

    def receive_end(self) -> None:
        """Report the end of the client's stream to the server."""
        if not self._is_closing and not self._protocol.eof_received():
            self.close()


class Link:
    """One connection of a client to a broker."""

    def __init__(
        self, network: "Network", number: int, user: str, host: str, client: ClientEnd
    ) -> None:
        self.network = network
        self.number = number
        self.user = user
        self.host = host
        self._client: ClientEnd | None = client
        self.transport: ServerTransport | None = None
        self.is_open = False
        self.is_cut = False
        """Whether the network has closed it."""
        self.up = Stream(network, f"{number}>", self._to_server, self._end_at_server)
        self.down = Stream(network, f"{number}<", self._to_client, self._end_at_client)

    def send(self, stream: Stream, data: bytes) -> None:
        """Send on one of the streams, or close the link during the send."""
        random, conditions = self.network.random, self.network.conditions
        if not stream.is_lost and random.random() < conditions.cut_chance:
            stream.send(data[: random.randrange(len(data) + 1)])
            self.cut()
        else:
            stream.send(data)

    def send_to_broker(self, data: bytes) -> None:
        """Send data of the client."""
        self.send(self.up, data)

    def cut(self) -> None:
        """Close the link and lose data on the way; one side may never notice."""
        random, conditions = self.network.random, self.network.conditions
        self.network.trace(f"link {self.number} is cut")
        self.is_cut = True
        unaware = None
        if random.random() < conditions.half_open_chance:
            unaware = random.choice((self.up, self.down))
        for stream in (self.up, self.down):
            stream.drop(keep=random.randint(0, stream.queue_length))
            if stream is not unaware:
                stream.break_off()

    def close(self, *, is_graceful: bool = False) -> None:
        """Close the link as the client; data that it sent arrives if it waits, or may arrive."""
        self._client = None
        if self.network.random.random() < self.network.conditions.reset_chance and not is_graceful:
            self.up.drop()
            self.up.break_off()
        else:
            self.up.finish()
        if self.transport is None:
            self.up.drop()

    @property
    def is_abandoned(self) -> bool:
        """Whether the client has closed the link."""
        return self._client is None

    def arrive(self, transport: ServerTransport) -> None:
        """Accept the connection at the broker."""
        self.transport = transport

    def open_at_client(self) -> None:
        """Report the open connection to the client."""
        if self._client is not None:
            self.is_open = True
            self._client.on_open()

    def refuse(self) -> None:
        """Report the refused connection to the client."""
        client, self._client = self._client, None
        if client is not None:
            client.on_closed("connection refused")

    def _to_server(self, data: bytes) -> None:
        if self.transport is not None:
            self.transport.receive(data)

    def _end_at_server(self) -> None:
        if self.transport is not None:
            self.transport.receive_end()

    def _to_client(self, data: bytes) -> None:
        if self._client is not None:
            self._client.on_bytes(data)

    def _end_at_client(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.on_closed("connection closed")


class Network:
    """All links, and the faults of the network."""

    def __init__(
        self,
        schedule: Timeline,
        random: Random,
        conditions: NetworkConditions,
        trace: Callable[[str], None],
        *,
        is_traced: bool,
    ) -> None:
        """Create a network; `is_traced` is whether `trace` is used."""
        self.is_traced = is_traced
        self.has_sasl = False
        """Whether clients have to authenticate."""
        self.schedule = schedule
        self.random = random
        self.conditions = conditions
        self.trace = trace
        self.byte_count = 0
        """Bytes that arrived, in both directions."""
        self._digest = blake2b(digest_size=16)
        self.links: list[Link] = []
        self.accept: Callable[[Link, SocketAddress], ServerTransport | None] = _refuse
        """How a broker handles a connection: accept it, or refuse it (None)."""

    def close_half_open(self) -> None:
        """Close half-open links at the brokers."""
        for link in self.links:
            if link.transport is not None and not link.transport.is_closing():
                link.transport.receive_end()

    def delay_ms(self) -> int:
        """Return the delay of the next piece."""
        conditions, random = self.conditions, self.random
        if conditions.slow_chance and random.random() < conditions.slow_chance:
            return random.randint(0, conditions.slow_ms_max)
        return int(random.random() * (conditions.delay_ms_max + 1))

    def note(self, name: str, data: bytes) -> None:
        """Add received data to the digest of the world."""
        self.byte_count += len(data)
        head = f"{self.schedule.time_ms} {name} {len(data)} "
        self._digest.update(head.encode() + data)

    @property
    def digest(self) -> str:
        """A hash in hex of all data that arrived, with its time and connection."""
        return self._digest.hexdigest()

    def connect(self, user: str, host: str, address: SocketAddress, client: ClientEnd) -> Link:
        """Connect to a broker; report the result to the client."""
        link = Link(self, len(self.links) + 1, user, host, client)
        self.links.append(link)
        if self.random.random() >= self.conditions.black_hole_chance:
            self.schedule.after(self.delay_ms(), lambda: self._arrive(link, address))
        return link

    def _arrive(self, link: Link, address: SocketAddress) -> None:
        if link.is_abandoned:
            return
        is_refused = self.random.random() < self.conditions.refuse_chance
        transport = None if is_refused else self.accept(link, address)
        delay_ms = self.delay_ms()
        if transport is None:
            self.schedule.after(delay_ms, link.refuse)
        else:
            self.schedule.after(delay_ms, link.open_at_client)


def _refuse(_link: Link, _address: SocketAddress) -> None:
    """Refuse a connection: nobody listens."""
