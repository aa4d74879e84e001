"""Workloads that read: consumers with assigned partitions, members of groups, share groups.

Those of streams groups read and write.
"""

from collections.abc import Generator, Mapping
from typing import Any

from atlas.experiment import Phase
from atlas.steps import (
    GROUP,
    HEAL,
    LOOK,
    POLL_MS,
    WRITE,
    Answer,
    Reply,
    Session,
    Step,
    Steps,
    closing,
)

POLLS_MAX = 8
_POLLS_AFTERWARDS = 8
_ROUNDS_MAX = 12
_RECORDS_PER_POLL = 100
_SHORT_POLL_MS = 150
_PROCESS_MS = 6_000
AFTER = "after"
"""The value of the record that is written when the cluster is healthy again."""
REBALANCED = "rebalanced"
"""The value of the record that is written when a second member has joined."""

Read = Generator[Step, Reply, list[Mapping[str, Any]]]


def _poll(consumer: str, phase: Phase = "main", timeout_ms: int = POLL_MS) -> Read:
    """Poll once; a poll that fails returns no records."""
    arguments = {"consumer": consumer, "records_max": _RECORDS_PER_POLL, "timeout_ms": timeout_ms}
    reply = yield Step("poll", arguments, phase, timeout_ms)
    return list(reply.values.get("records", ()))


def read(session: Session, topic: str, consumer: str = "c") -> Read:
    """Poll until as many records as expected were read, or `polls_max` times."""
    expected = session.get("records", session.stored.get(topic, 0))
    records: list[Mapping[str, Any]] = []
    for _ in range(session.get("polls_max", POLLS_MAX)):
        records += yield from _poll(consumer)
        if len(records) >= expected:
            break
    return records


def _afterwards(session: Session, topic: str) -> Steps:
    yield Step(HEAL, {"topic": topic, "value": AFTER}, "afterwards")
    session.is_usable = False
    for _ in range(_POLLS_AFTERWARDS):
        records = yield from _poll("c", "afterwards")
        if any(record["value"] == AFTER for record in records):
            session.is_usable = True
            return


def consume(session: Session) -> Steps:
    """Read all records of a topic with assigned partitions."""
    topic = session.get("topic", "orders")
    assign = {topic: list(range(session.partitions.get(topic, 1)))}
    arguments = {"id": "c", "settings": session.consumer_settings(), "assign": assign}
    opened = yield Step("consumer", arguments, "main", session.call_ms)
    if not opened.is_done:
        return
    yield from read(session, topic)
    yield from _afterwards(session, topic)
    yield from closing("c")


def group(session: Session) -> Steps:
    """Read all records of a topic as the only member of a group, commit, and leave it."""
    topic = session.get("topic", "orders")
    settings = {"group": GROUP, **session.consumer_settings()}
    arguments = {"id": "c", "settings": settings, "topics": [topic]}
    opened = yield Step("consumer", arguments, "main", session.call_ms)
    if not opened.is_done:
        return
    commit = Step("commit", {"consumer": "c", "timeout_ms": session.call_ms}, "main")
    commit = commit._replace(timeout_ms=session.call_ms)
    expected = session.get("records", session.stored.get(topic, 0))
    count = 0
    for _ in range(session.get("polls_max", POLLS_MAX)):
        records = yield from _poll("c")
        count += len(records)
        if records and session.get("commit_each", False):
            yield commit
        if count >= expected:
            break
    if pause_ms := session.get("pause_ms", 0):
        yield Step("sleep", {"ms": pause_ms}, "main", pause_ms)
    if session.get("commit", True) and count:
        yield commit
    yield from _afterwards(session, topic)
    if session.get("leave", True):
        yield from closing("c")


def rebalance(session: Session) -> Steps:
    """Have a second member join a group while the first one reads, and leave it again."""
    topic = session.get("topic", "orders")
    settings = {"group": GROUP, **session.consumer_settings()}
    opened = yield Step(
        "consumer", {"id": "c", "settings": settings, "topics": [topic]}, "main", session.call_ms
    )
    if not opened.is_done:
        return
    yield from read(session, topic)
    committing = {"consumer": "c", "timeout_ms": session.call_ms}
    yield Step("commit", committing, "main", session.call_ms)
    second = {key: value for key, value in settings.items() if key != "instance_id"}
    if "instance_id" in settings:
        second["instance_id"] = f"{settings['instance_id']}-2"
    joined = yield Step(
        "consumer", {"id": "d", "settings": second, "topics": [topic]}, "main", session.call_ms
    )
    if joined.is_done:
        yield from _settle(settings["group"])
        # The partitions of the second member have records that nobody has read yet.
        yield Step(WRITE, {"topic": topic, "value": REBALANCED})
        for _ in range(_ROUNDS_MAX):
            found = yield from _poll("c", timeout_ms=_SHORT_POLL_MS)
            found += yield from _poll("d", timeout_ms=_SHORT_POLL_MS)
            if any(record["value"] == REBALANCED for record in found):
                break
        yield from closing("d")
    yield from _afterwards(session, topic)
    yield from closing("c")


def _settle(group_id: str) -> Steps:
    """Poll both members until the broker has both in a stable group."""
    for _ in range(_ROUNDS_MAX):
        yield from _poll("c", timeout_ms=_SHORT_POLL_MS)
        yield from _poll("d", timeout_ms=_SHORT_POLL_MS)
        reply = yield Step(LOOK, {"group": group_id})
        if reply.values == {"members": 2, "state": "Stable"}:
            return


def share(session: Session) -> Steps:
    """Read all records of a topic with a share consumer, and acknowledge each."""
    topic = session.get("topic", "orders")
    settings = {"group": GROUP, **session.consumer_settings()}
    opened = yield Step(
        "share_consumer",
        {"id": "c", "settings": settings, "topics": [topic]},
        "main",
        session.call_ms,
    )
    if not opened.is_done:
        return
    for record in (yield from read(session, topic)):
        place = {name: record[name] for name in ("topic", "partition", "offset")}
        kind = session.get("acknowledge", "accept")
        yield Step("acknowledge", {"consumer": "c", "type": kind, **place}, "main", POLL_MS)
    committing = {"consumer": "c", "timeout_ms": session.call_ms}
    yield Step("commit", committing, "main", session.call_ms)
    yield from _afterwards(session, topic)
    yield from closing("c")


def streams(session: Session) -> Steps:
    """Copy all records of a topic into `output` with an application of Kafka Streams.

    It then stays in its group for `pause_ms`.
    """
    topic = session.get("topic", "orders")
    # The broker has the timeouts of the group.
    timeouts = {"session_timeout_ms", "heartbeat_interval_ms", "auto_commit"}
    settings = {
        name: value
        for name, value in {"group": GROUP, **session.consumer_settings()}.items()
        if name not in timeouts
    }
    application = {"topic": topic, "output": session.get("output", "invoices")}
    opened = yield Step(
        "streams", {"id": "s", "settings": settings, **application}, "main", session.call_ms
    )
    if not opened.is_done:
        return
    count = session.stored.get(topic, 0)
    yield from _process(session, count, "main")
    if pause_ms := session.get("pause_ms", 0):
        yield Step("sleep", {"ms": pause_ms}, "main", pause_ms)
    yield Step(HEAL, {"topic": topic, "value": AFTER}, "afterwards")
    processed = yield from _process(session, count + 1, "afterwards")
    session.is_usable = processed.is_done
    yield from closing("s")


def _process(session: Session, count: int, phase: Phase) -> Answer:
    timeout_ms = session.get("process_timeout_ms", _PROCESS_MS)
    arguments = {"streams": "s", "records": count, "timeout_ms": timeout_ms}
    return (yield Step("process", arguments, phase, timeout_ms))
