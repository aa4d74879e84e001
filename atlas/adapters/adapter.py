"""The protocol of adapters in Python: commands come in as JSON lines, events go out as JSON lines.

docs/atlas.md describes each command. A method of the same name runs it, and returns the fields of
its event `done`. It has the fields that it needs as parameters: a producer, consumer or admin
client in place of its id. What a library lacks, its adapter does not define.
"""

import inspect
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, TextIO, TypeVar

COMMANDS = frozenset(
    [
        "begin",
        "producer",
        "send",
        "flush",
        "begin_transaction",
        "commit_transaction",
        "abort_transaction",
        "send_offsets",
        "consumer",
        "poll",
        "commit",
        "position",
        "committed",
        "seek",
        "share_consumer",
        "acknowledge",
        "streams",
        "process",
        "admin",
        "create_topic",
        "delete_topic",
        "create_partitions",
        "describe_topic",
        "list_topics",
        "describe_configs",
        "alter_config",
        "list_groups",
        "describe_group",
        "delete_group",
        "delete_records",
        "describe_cluster",
        "close",
        "sleep",
    ]
)
_HANDLES = frozenset({"producer", "consumer", "admin"})
T = TypeVar("T")
UNANSWERED = "unanswered"
"""The error of a command that the library has not ended within `timeout_ms`."""


class Failure(NamedTuple):
    """An error in the words of the library; `kind` is the field `class` of the protocol."""

    error: str
    message: str
    kind: str = "unknown"

    def fields(self) -> dict[str, str]:
        """Return the fields of an event."""
        return {"error": self.error, "message": self.message[:500], "class": self.kind}


class UnsupportedError(Exception):
    """The library lacks it."""


class UnansweredError(Exception):
    """The library has not ended a call that it can't bound itself."""


class Adapter:
    """Runs the commands of one client library; the handles of producers and consumers have ids."""

    client: ClassVar[str]
    """The id of the client in `atlas/clients.py`."""
    version: ClassVar[str]
    supports: ClassVar[tuple[str, ...]]

    def __init__(self, output: TextIO) -> None:
        self.bootstrap = ""
        self.handles: dict[str, Any] = {}
        self._output = output
        self._lock = threading.Lock()
        self._start_s = time.monotonic()  # noqa: TID251 - a client's program has its own clock

    def emit(self, **event: Any) -> None:
        """Write an event with its time; any thread may call it."""
        now_s = time.monotonic()  # noqa: TID251 - the same
        event["at_ms"] = round((now_s - self._start_s) * 1000, 3)
        with self._lock:
            self._output.write(json.dumps(event) + "\n")
            self._output.flush()

    def failure_of(self, error: BaseException) -> Failure:
        """Return an exception as the library itself names and classifies it."""
        return Failure(type(error).__name__, str(error))

    def delivered(self, number: int, offset: int | None) -> None:
        """Report the success of the record that the command `number` sent."""
        self.emit(event="delivered", send=number, offset=-1 if offset is None else offset)

    def undelivered(self, number: int, failure: Failure) -> None:
        """Report the error of the record that the command `number` sent."""
        self.emit(event="undelivered", send=number, **failure.fields())

    # Commands that all adapters have ---------------------------------------------------------

    def begin(self, bootstrap: str) -> None:
        """Forget what was before, and use this cluster."""
        for handle in list(self.handles):
            self.forget(self.handles.pop(handle))
        self.bootstrap = bootstrap

    def close(self, id: str, timeout_ms: int) -> dict[str, Any]:
        """Close a client; one that does not close in time is forgotten."""
        handle = self.handles.pop(id)
        began_s = time.monotonic()  # noqa: TID251 - a client's program has its own clock
        try:
            self.stop(handle, timeout_ms)
        except BaseException:
            self.forget(handle)
            raise
        took_s = time.monotonic() - began_s  # noqa: TID251 - the same
        return {"took_ms": round(took_s * 1000)}

    def stop(self, handle: Any, timeout_ms: int) -> None:
        """Close a producer, consumer or admin client as a user does."""

    def forget(self, handle: Any) -> None:
        """End a producer, consumer or admin client at once, whatever state it is in."""

    def sleep(self, ms: int) -> None:
        """Do nothing for some time."""
        threading.Event().wait(ms / 1000)

    # The loop --------------------------------------------------------------------------------

    def run(self, lines: TextIO) -> None:
        """Run commands until `end` or the end of the input."""
        self.emit(
            event="ready", client=self.client, version=self.version, supports=list(self.supports)
        )
        for line in lines:
            command = json.loads(line)
            number, name = command.pop("n"), command.pop("command")
            if name == "end":
                break
            self._run_command(number, name, command)

    def _run_command(self, number: int, name: str, arguments: dict[str, Any]) -> None:
        method: Callable[..., Mapping[str, Any] | None] | None = None
        if name in COMMANDS:
            method = getattr(self, name, None)
        if method is None:
            self.emit(n=number, event="unsupported")
            return
        arguments["number"] = number
        try:
            for kind in _HANDLES & arguments.keys():
                arguments[kind] = self.handles[arguments[kind]]
            values = method(**_taken(method, arguments))
        except UnsupportedError:
            self.emit(n=number, event="unsupported")
        except UnansweredError:
            failure = Failure(UNANSWERED, "the library has not ended the call")
            self.emit(n=number, event="failed", **failure.fields())
        except Exception as error:  # noqa: BLE001 - any error is the outcome of the command
            self.emit(n=number, event="failed", **self.failure_of(error).fields())
        else:
            self.emit(n=number, event="done", **(values or {}))


def _taken(method: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return those fields of a command that a method has as parameters."""
    names = inspect.signature(method).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in names.values()):
        return dict(arguments)
    return {name: value for name, value in arguments.items() if name in names}


def offsets_of(
    partition_class: Callable[[str, int], T], offsets: Mapping[str, Mapping[str, int]]
) -> dict[T, int]:
    """Return offsets by the partitions of a library, from those of a command."""
    return {
        partition_class(topic, int(index)): offset
        for topic, partitions in offsets.items()
        for index, offset in partitions.items()
    }


def encoded(*texts: str | None) -> tuple[bytes | None, ...]:
    """Return values and keys as bytes."""
    return tuple(None if text is None else text.encode() for text in texts)


def mapped(
    settings: Mapping[str, Any], names: Mapping[str, str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the settings under the library's names, and those that it does not have.

    None stands for the library's default.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    known = {names[name]: value for name, value in given.items() if name in names}
    return known, sorted(set(given) - set(names))


def main(adapter: type[Adapter]) -> None:
    """Run an adapter on standard input and output; what libraries print goes to standard error."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    adapter(output).run(sys.stdin)
    output.flush()
    # Threads of libraries may not end by themselves.
    os._exit(0)
