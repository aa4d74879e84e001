"""A TCP server of the driver, which its workers connect to."""

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class TcpServer:
    """Serves in a thread from the beginning of a `with` block to its end."""

    def __init__(self, name: str, host: str) -> None:
        """Listen on `host`, which the workers must reach; `name` is that of the thread."""
        self._socket = socket.create_server((host, 0), backlog=1024)
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port for the workers."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def _serve(self) -> None:
        """Accept connections until that raises an `OSError`: the server is closed."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(OSError):  # `accept` returns only after this
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
