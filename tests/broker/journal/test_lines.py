"""A line is decoded and joined when somebody looks at it."""

from broker.journal.lines import Entry
from broker.request.context import Sender
from broker.responses import EncodedParts
from tests.broker.cluster_builder import NOW_MS
from tests.broker.connection_driver import Client, metadata_frame
from tests.broker.journal.journalled_cluster import journalled_cluster


def sender() -> Sender:
    return Sender(Client(journalled_cluster()).connection)


def test_the_context_of_an_entry_is_read_from_its_frame_once() -> None:
    frame = metadata_frame(7)[4:]
    entry = Entry(1, 5, (sender(), NOW_MS), frame, 0)

    assert entry.context.correlation_id == 7
    assert entry.context.now_ms == NOW_MS
    assert entry.context.size_bytes == len(frame)
    assert entry.context is entry.context


def test_the_parts_of_a_response_are_joined() -> None:
    entry = Entry(1, 5, (sender(), NOW_MS), b"request", 0)
    entry.keep(EncodedParts([b"one", b"two"], 6), 6)

    assert entry.response == b"onetwo"
    assert entry.byte_count == len(b"request") + 6
