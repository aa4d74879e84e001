"""A conversation with a cluster as data, and its JSON.

In arguments, `~` in a string stands for a prefix that no other conversation uses. `topic_id#0` is
the first topic id that a response of this conversation contained (see `canonical.py`), and
`now+5` a timestamp 5 ms after the start. Bytes are text or `{"hex": ...}`, records are
`{"batches": [...]}` (see `arguments.py`).
"""

from pathlib import Path
from typing import Any, TypeAlias

import msgspec

FOLDER = Path(__file__).parent / "conversations"
RELEASE = "4.4"
"""Of the Apache Kafka that kept conversations are from, and of clusters that name none."""


class _Step(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="step",
):
    """What happens next."""


class Send(_Step, frozen=True, tag="send"):
    """A request, and its response unless `is_awaited` is false: a `Receive` then reads it."""

    api: str
    version: int
    arguments: dict[str, Any] = {}
    connection: str = "a"
    is_awaited: bool = True


class SendBytes(_Step, frozen=True, tag="send_bytes"):
    """A frame as it is, behind its size; then whatever comes."""

    hex: str
    connection: str = "a"


class Receive(_Step, frozen=True, tag="receive"):
    """The response to the oldest request of this connection that has none."""

    connection: str = "a"


class Wait(_Step, frozen=True, tag="wait"):
    """Real time."""

    duration_ms: int


class Disconnect(_Step, frozen=True, tag="disconnect"):
    """The client closes the connection. Its next use opens another."""

    connection: str = "a"


class StopBroker(_Step, frozen=True, tag="stop_broker"):
    """A broker shuts down."""

    node_id: int


class StartBroker(_Step, frozen=True, tag="start_broker"):
    """It starts again."""

    node_id: int


Step: TypeAlias = Send | SendBytes | Receive | Wait | Disconnect | StopBroker | StartBroker


class Connection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where a connection goes, and the client id of its requests.

    With a `user` it authenticates by an unsigned token of SASL/OAUTHBEARER before its first
    request, on a listener with SASL, in clusters with an authorizer.
    """

    broker: int = 1
    listener: str = "PLAINTEXT"
    client_id: str = "client"
    user: str = ""


class Conversation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Steps in order. A connection that is not described has the defaults.

    `share_version` is the level of Kafka's feature share.version, 0 for that of the release.
    `release` is the one of both clusters.
    """

    steps: tuple[Step, ...]
    connections: dict[str, Connection] = {}
    brokers: int = 1
    share_version: int = 0
    release: str = RELEASE

    @property
    def has_authorizer(self) -> bool:
        """Whether it is for clusters with an authorizer."""
        return any(connection.user for connection in self.connections.values())

    def to_json(self) -> str:
        """Return it on one line, the same for equal conversations."""
        return msgspec.json.encode(self, order="sorted").decode()


class KeptConversation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A conversation and what Apache Kafka answered to each step, in canonical form.

    `open_difference` says what our broker still does otherwise; empty when nothing.
    """

    about: str
    release: str
    conversation: Conversation
    answers: list[Any]
    open_difference: str = ""

    def save(self, path: Path) -> None:
        """Write it, indented."""
        text = msgspec.json.format(msgspec.json.encode(self), indent=1).decode()
        path.write_text(text + "\n", encoding="utf-8")


def load(path: Path) -> KeptConversation:
    """Read a kept conversation.

    Raises:
        msgspec.ValidationError: a field is missing, unknown or of another type.
    """
    return msgspec.json.decode(path.read_bytes(), type=KeptConversation)


def kept_paths() -> list[Path]:
    """Return the files of all kept conversations."""
    return sorted(FOLDER.rglob("*.json"))
