"""An adapter without a client library: the value of a record says what it does.

A value may be followed by dots, as in workloads with `value_bytes`.
"""

import os
import socket
import sys
import threading
from collections.abc import Sequence

from atlas.adapters.adapter import Adapter, Failure, UnansweredError, main


class ScriptedAdapter(Adapter):
    client = "scripted"
    version = "1.0"
    supports = ("producer",)
    late: Sequence[int] = ()
    """The records whose outcome is reported once more, after the next one was sent."""

    def producer(self, id: str, settings: dict[str, object]) -> dict[str, object]:
        self.handles[id] = socket.create_connection(self._address())
        sys.stdout.write("printed by a library\n")
        sys.stdout.flush()
        return {"ignored": ["transactional_id"] if "transactional_id" in settings else []}

    def _address(self) -> tuple[str, int]:
        host, _, port = self.bootstrap.split(",")[0].rpartition(":")
        return host, int(port)

    def send(self, number: int, value: str, **_others: object) -> None:
        action = self.action
        for earlier in self.late:
            self.undelivered(earlier, Failure("TooLate", "it is"))
        self.late = [number] if action == "late" else []
        if value == "after" or action in {"deliver", "late"}:
            self.delivered(number, 7)
        elif action == "refuse":
            self.undelivered(number, Failure("TooBad", "it is", "fatal"))
        elif action == "raise":
            raise ValueError("no")
        elif action == "crash":
            os._exit(3)
        elif action == "hang":
            threading.Event().wait()

    @property
    def action(self) -> str:
        return os.environ.get("SCRIPTED_ACTION", "deliver")

    def flush(self, producer: str, timeout_ms: int) -> None:
        if self.action == "unanswered":
            raise UnansweredError

    def stop(self, handle: socket.socket, timeout_ms: int) -> None:
        if self.action == "stay":
            self.handles["left"] = handle  # until the next experiment
        else:
            handle.close()

    def forget(self, handle: object) -> None:
        assert isinstance(handle, socket.socket)
        handle.close()


if __name__ == "__main__":
    main(ScriptedAdapter)
