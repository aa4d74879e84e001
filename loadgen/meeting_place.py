"""A barrier for the workers on the driver's host, which all leave within milliseconds.

That of Spark lets them go up to a second apart, since it looks once a second.
"""

import socket
from contextlib import ExitStack, suppress

from loadgen.tcp_server import TcpServer

MESSAGE_BYTES_MAX = 1024
RECEIVE_TIMEOUT_S = 2.0


class MeetingPlace(TcpServer):
    """Sends the messages of all workers to each of them, once all have come; in a thread.

    Attributes:
        arrived: how many workers have come.
    """

    def __init__(self, workers: int, host: str = "127.0.0.1") -> None:
        """Wait for so many workers, which must reach `host`."""
        super().__init__("load-meeting", host)
        self.arrived = 0
        self._workers = workers

    def _serve(self) -> None:
        with ExitStack() as stack:
            connections: list[socket.socket] = []
            lines: list[bytes] = []
            while len(lines) < self._workers:
                try:
                    connection, _ = self._socket.accept()
                    stack.enter_context(connection)
                    connection.settimeout(RECEIVE_TIMEOUT_S)
                    lines.append(_received_line(connection))
                except OSError:  # also when the place is closed
                    return
                connections.append(connection)
                self.arrived += 1
            for connection in connections:
                with suppress(OSError):  # the worker was killed
                    connection.sendall(b"".join(lines))


def meet(address: tuple[str, int], workers: int, message: str) -> list[str]:
    """Return the messages of all workers, when all have called this.

    Raises:
        OSError: the driver has ended.
    """
    with socket.create_connection(address) as connection:
        connection.sendall(f"{message}\n".encode())
        with connection.makefile(encoding="utf-8") as lines:
            found = [line.rstrip("\n") for line in lines]
    if len(found) != workers:
        raise ConnectionResetError("the driver has closed the connection")
    return found


def _received_line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) < MESSAGE_BYTES_MAX:
        part = connection.recv(MESSAGE_BYTES_MAX)
        if not part:
            raise ConnectionResetError("the worker has closed the connection")
        line += part
    return line
