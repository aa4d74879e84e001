"""Measure how far the clock of a worker's host is ahead of the driver's.

Each exchange over TCP has the driver's time between two of the worker's. The quickest of several
exchanges counts, and half of its round trip is the possible error, as in NTP.
"""

import socket
import struct
import threading
from contextlib import closing, suppress
from typing import NamedTuple

from loadgen import clock
from loadgen.tcp_server import TcpServer

EXCHANGES = 10
TIMEOUT_S = 2.0
_TIME = struct.Struct(">q")
_QUESTION = b"?"


class ClockOffset(NamedTuple):
    """A measurement in microseconds."""

    offset_us: int
    """Positive if this host is ahead of the driver."""
    error_us: int


def measure_offset(driver: tuple[str, int]) -> ClockOffset | None:
    """Return the offset of this host's clock; None if the driver cannot be reached."""
    found = []
    try:
        with closing(socket.create_connection(driver, TIMEOUT_S)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for _ in range(EXCHANGES):
                before_us = clock.epoch_us()
                connection.sendall(_QUESTION)
                driver_us = _received(connection)
                after_us = clock.epoch_us()
                found.append(offset_of(before_us, driver_us, after_us))
    except OSError:
        return None
    return min(found, key=lambda measured: measured.error_us)


def offset_of(before_us: int, driver_us: int, after_us: int) -> ClockOffset:
    """Return the offset by one exchange: the driver's time, and this host's before and after it."""
    return ClockOffset(
        (before_us + after_us) // 2 - driver_us, max(0, after_us - before_us + 1) // 2
    )


def _received(connection: socket.socket) -> int:
    data = b""
    while len(data) < _TIME.size:
        part = connection.recv(_TIME.size - len(data))
        if not part:
            raise ConnectionResetError("the driver has closed the connection")
        data += part
    [time_us] = _TIME.unpack(data)
    return int(time_us)


class ClockServer(TcpServer):
    """Sends the driver's time to workers that ask for it, in threads."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        """Listen on `host`, which the workers must reach."""
        super().__init__("load-clock", host)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._send_times, args=(connection,), daemon=True).start()

    def _send_times(self, connection: socket.socket) -> None:
        with closing(connection), suppress(OSError):
            connection.settimeout(TIMEOUT_S)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while connection.recv(1):
                connection.sendall(_TIME.pack(clock.epoch_us()))
