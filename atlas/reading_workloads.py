"""Workloads that read: consumers with assigned partitions, members of groups, share groups."""

from collections.abc import Generator, Mapping
from typing import Any

from atlas.steps import HEAL, POLL_MS, Reply, Session, Step, Steps, closing

POLLS_MAX = 8
_POLLS_AFTERWARDS = 8
_ROUNDS_MAX = 12
_RECORDS_PER_POLL = 100
AFTER = "after"
"""The value of the record that is written when the cluster is healthy again."""

Read = Generator[Step, Reply, list[Mapping[str, Any]]]


def _poll(consumer: str, phase: str = "main") -> Read:
    """Poll once; a poll that fails returns no records."""
    arguments = {"consumer": consumer, "records_max": _RECORDS_PER_POLL, "timeout_ms": POLL_MS}
    # A poll may begin with the search for the coordinator, and a rebalance.
    name = "afterwards" if phase == "afterwards" else "main"
    reply = yield Step("poll", arguments, name, POLL_MS)  # type: ignore[arg-type]
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
    settings = {"group": "billing", **session.consumer_settings()}
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
    settings = {"group": "billing", **session.consumer_settings()}
    expected = session.get("records", session.stored.get(topic, 0))
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
        # The partitions of the second member have records that nobody has read yet.
        yield Step(HEAL, {"topic": topic, "value": "rebalanced", "keep_rules": True}, "main")
        for _ in range(_ROUNDS_MAX):
            found = yield from _poll("c")
            found += yield from _poll("d")
            if any(record["value"] == "rebalanced" for record in found):
                break
        yield from closing("d")
    del expected
    yield from _afterwards(session, topic)
    yield from closing("c")


def share(session: Session) -> Steps:
    """Read all records of a topic with a share consumer, and acknowledge each."""
    topic = session.get("topic", "orders")
    settings = {"group": "billing", **session.consumer_settings()}
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
