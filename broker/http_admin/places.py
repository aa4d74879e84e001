"""The connections of the admin port: who has a place, and for how long.

There are as many places as the limit of open files allows. When all are taken, a new connection
gets the place of the one whose unfinished request began first, or else of the one that has been
idle longest after its last request. So clients that send nothing keep nobody out, and a request in
progress is never cut off. Only if every place has a request in progress is the new connection
closed.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

from broker.log import log

HEAD_S_MAX = 10.0
"""Time for the head of a request, from the connection or from the first byte on."""
WRITE_S_MAX = 30.0
"""Time after which a client is disconnected that does not read what it gets."""
LAST_BYTES = 64
"""Bytes of the end of a request that are compared with what came last."""
LOG_S_MIN = 10.0
"""Least time between two log lines about connections that lost their place."""


class Places:
    """All connections of an admin port."""

    def __init__(self, count_max: int) -> None:
        """At most `count_max` connections have a place."""
        self._count_max = count_max
        self._by_protocol: dict[web.RequestHandler, Connection] = {}
        self._receiving: OrderedDict[Connection, None] = OrderedDict()
        """Those without a complete request, by its begin."""
        self._idle: OrderedDict[Connection, None] = OrderedDict()
        """Those between two requests, by the end of the last one."""
        self._closed_count = 0
        self._next_log_s = 0.0

    @contextmanager
    def request(self, protocol: web.RequestHandler) -> Iterator[None]:
        """Take note of the begin and the end of a request whose head is complete."""
        connection = self._by_protocol.get(protocol)
        if connection is not None:  # it may have lost its place just now
            connection.head_is_complete()
        try:
            yield
        finally:
            if connection is not None and protocol in self._by_protocol:
                connection.request_has_ended()

    def body_is_complete(self, protocol: web.RequestHandler, body: bytes | None) -> None:
        """Keep the place of a connection until its request has ended.

        `body` is what came, None if that is not known because it was compressed.
        """
        connection = self._by_protocol.get(protocol)
        if connection is not None:
            connection.body_is_complete(body)

    def take(self, connection: "Connection") -> bool:
        """Give a new connection a place; return False if there is none."""
        if len(self._by_protocol) >= self._count_max:
            self._log_closed()
            oldest = next(iter(self._receiving), None) or next(iter(self._idle), None)
            if oldest is None:
                return False
            self.leave(oldest)
            oldest.abort()
        self._by_protocol[connection.protocol] = connection
        return True

    def leave(self, connection: "Connection") -> None:
        """Take the place of a connection away."""
        self._by_protocol.pop(connection.protocol, None)
        self.serve(connection)

    def receive(self, connection: "Connection") -> None:
        """Take note that a connection has an unfinished request from now on."""
        self._idle.pop(connection, None)
        self._receiving[connection] = None

    def serve(self, connection: "Connection") -> None:
        """Take note that a connection has a complete request, or no place any more."""
        self._idle.pop(connection, None)
        self._receiving.pop(connection, None)

    def rest(self, connection: "Connection") -> None:
        """Take note that a connection is idle after a request."""
        self.serve(connection)
        self._idle[connection] = None

    def _log_closed(self) -> None:
        self._closed_count += 1
        now_s = asyncio.get_running_loop().time()
        if now_s >= self._next_log_s:
            log.warning(
                "admin port closes connections", places=self._count_max, closed=self._closed_count
            )
            self._closed_count = 0
            self._next_log_s = now_s + LOG_S_MIN


class Connection(asyncio.Protocol):
    """A connection of the admin port, in front of aiohttp's protocol."""

    def __init__(self, places: Places, protocol: web.RequestHandler) -> None:
        """`protocol` gets all that this one gets while the connection has a place."""
        self.protocol = protocol
        self._places = places
        self._transport: Any = None
        self._has_place = False
        self._is_idle = False
        self._body_is_complete = False
        self._is_ahead = False
        """Whether bytes came after the body of the request in progress."""
        self._last_bytes = b""
        """The end of what came last: aiohttp does not say whether it holds a part of a head."""
        self._head_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a place, or close the connection."""
        self._transport = transport
        self._has_place = self._places.take(self)
        if not self._has_place:
            self.abort()
            return
        self._await_head()
        self.protocol.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave the place."""
        self._cancel_timers()
        if self._has_place:
            self._places.leave(self)
            self.protocol.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Begin to wait for a head if no request is in progress."""
        if self._is_idle:
            self._await_head()
        self._is_ahead = self._body_is_complete
        self._last_bytes = data[-LAST_BYTES:]
        self.protocol.data_received(data)

    def eof_received(self) -> None:
        """Tell aiohttp; the connection is closed."""
        self.protocol.eof_received()

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        self._write_timer = asyncio.get_running_loop().call_later(WRITE_S_MAX, self.abort)
        self.protocol.pause_writing()

    def resume_writing(self) -> None:
        """Tell aiohttp that the client reads."""
        if self._write_timer is not None:
            self._write_timer.cancel()
        self.protocol.resume_writing()

    def head_is_complete(self) -> None:
        """Take note that the request may be answered once its body has come."""
        self._cancel_head_timer()
        self._is_idle = self._body_is_complete = self._is_ahead = False

    def body_is_complete(self, body: bytes | None) -> None:
        """Take note that the request is complete; until its end the place is safe."""
        self._body_is_complete = True
        last = self._last_bytes
        # An empty line ends a head, and a chunked body.
        is_end = body is None or last.endswith(b"\r\n\r\n")
        self._is_ahead |= not (is_end or (body and (body.endswith(last) or last.endswith(body))))
        self._places.serve(self)

    def request_has_ended(self) -> None:
        """Take note that the request was answered."""
        self._body_is_complete = False
        if self._is_ahead:
            self._await_head()
        else:
            self._is_idle = True
            self._places.rest(self)

    def abort(self) -> None:
        """Close the connection at once."""
        self._cancel_timers()
        self._transport.abort()

    def _await_head(self) -> None:
        self._is_idle = False
        self._places.receive(self)
        self._cancel_head_timer()
        self._head_timer = asyncio.get_running_loop().call_later(HEAD_S_MAX, self.abort)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()

    def _cancel_timers(self) -> None:
        self._cancel_head_timer()
        if self._write_timer is not None:
            self._write_timer.cancel()
