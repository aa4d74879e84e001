"""Read a journal in every way: list, filter, export, and draw it."""

import traceback
from collections.abc import Iterator
from typing import Any

import msgspec

from broker.http_admin.operation import encode_result
from broker.journal.journal import Journal
from broker.journal.lines import Entry, Line
from broker.journal.pcap import PacketWriter
from broker.journal.rendering import JournalFilter, describe_line
from mock_kafka.views import request_of
from protocol.request_targets import TopicNames

_FILTERS = (
    JournalFilter(api="Fetch"),
    JournalFilter(topic="t"),
    JournalFilter(group="g"),
    JournalFilter(client_id="test"),
    JournalFilter(user="ANONYMOUS"),
    JournalFilter(error="UNKNOWN_SERVER_ERROR"),
    JournalFilter(outcome="responded"),
    JournalFilter(kind="request"),
    JournalFilter(fault="#1"),
    JournalFilter(broker=1),
)


def unreadable_lines(journal: Journal, topic_name: TopicNames) -> Iterator[tuple[str, bytes]]:
    """Yield a traceback and the frame of each line that cannot be read."""
    writer = PacketWriter()
    for line in journal:
        try:
            _read(line, topic_name, writer)
        except Exception:  # noqa: BLE001 - that is what we look for
            frame = line.frame if isinstance(line, Entry) else None
            yield traceback.format_exc(), frame or b""


def _read(line: Line, topic_name: TopicNames, writer: PacketWriter) -> None:
    for journal_filter in _FILTERS:
        journal_filter.fits(line, topic_name)
    if isinstance(line, Entry):
        writer.packets(line)
    for has_bodies in (False, True):
        described = describe_line(line, topic_name, has_bodies=has_bodies)
        shown: dict[str, Any] = msgspec.json.decode(encode_result(described))
        assert shown["kind"] in {"request", "connection", "disconnect"}
        assert repr(request_of(shown))
