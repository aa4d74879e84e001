"""Workloads with transactions: records alone, and records with the offsets that they are from."""

from collections.abc import Mapping, Sequence
from typing import Any

from atlas.experiment import Phase
from atlas.reading_workloads import read
from atlas.steps import GROUP, HEAL, Answer, Session, Step, Steps, closing

_ATTEMPTS = 3


def _end(session: Session, name: str, phase: Phase = "main") -> Answer:
    arguments = {"producer": "p", "timeout_ms": session.report_ms}
    return (yield Step(f"{name}_transaction", arguments, phase, session.report_ms))


def _begin() -> Answer:
    return (yield Step("begin_transaction", {"producer": "p"}, "main", 1_000))


def _send(session: Session, topic: str, partition: int, value: str) -> Answer:
    record = {
        "producer": "p",
        "topic": topic,
        "partition": partition,
        "key": None,
        "value": value,
    }
    return (yield Step("send", record, "main", session.report_ms))


def _open_producer(session: Session) -> Answer:
    settings = {"transactional_id": "payments", "idempotent": True, **session.producer_settings()}
    arguments = {"id": "p", "settings": settings}
    return (yield Step("producer", arguments, "main", session.report_ms))


def _afterwards(session: Session, topic: str, *, is_open: bool) -> Steps:
    """Abort what is open, then commit one more transaction with the same producer."""
    yield Step(HEAL, {}, "afterwards")
    if is_open:
        yield from _end(session, "abort", "afterwards")
    begun = yield Step("begin_transaction", {"producer": "p"}, "afterwards", 1_000)
    if not begun.is_done:
        session.is_usable = False
        return
    record = {"producer": "p", "topic": topic, "partition": 0, "key": None, "value": "after"}
    sent = yield Step("send", record, "afterwards", session.report_ms)
    committed = yield from _end(session, "commit", "afterwards")
    session.is_usable = committed.is_done and session.delivered.get(sent.number, False)


def transaction(session: Session) -> Steps:
    """Send `records` records in each of `transactions` transactions, and end each with `end`.

    With `abandon` the last one stays open. An error ends the workload; then the transaction is
    aborted.
    """
    topic = session.get("topic", "orders")
    partitions = session.partitions.get(topic, 1)
    opened = yield from _open_producer(session)
    if not opened.is_done:
        return
    index = 0
    is_open = False
    count = session.get("transactions", 1)
    for number in range(count):
        begun = yield from _begin()
        if not begun.is_done:
            break
        is_open = True
        for _ in range(session.get("records", 2)):
            yield from _send(session, topic, index % partitions, str(index))
            index += 1
        if pause_ms := session.get("pause_ms", 0):
            yield Step("sleep", {"ms": pause_ms}, "main", pause_ms)
        if session.get("abandon", False) and number == count - 1:
            flushing = {"producer": "p", "timeout_ms": session.report_ms}
            yield Step("flush", flushing, "main", session.report_ms)
            break
        ended = yield from _end(session, session.get("end", "commit"))
        if not ended.is_done:
            break
        is_open = False
    if not session.get("abandon", False):
        yield from _afterwards(session, topic, is_open=is_open)
    yield from closing("p")


def process(session: Session) -> Steps:
    """Copy the records of a topic into another one, with their offsets in the transaction.

    After an error it aborts, goes back to the first record that is not committed, and repeats, as
    the documentation of KafkaProducer has it.
    """
    topic, output = session.get("topic", "orders"), session.get("output", "invoices")
    opened = yield from _open_producer(session)
    if not opened.is_done:
        return
    settings = {"group": GROUP, "isolation": "read_committed", **session.consumer_settings()}
    arguments = {"id": "c", "settings": settings, "topics": [topic]}
    opened = yield Step("consumer", arguments, "main", session.call_ms)
    if not opened.is_done:
        return
    is_open = False
    for _ in range(_ATTEMPTS):
        records = yield from read(session, topic)
        if not records:
            continue
        begun = yield from _begin()
        if not begun.is_done:
            break
        is_open = True
        copied = yield from _copy(session, output, records)
        if copied.is_done:
            is_open = False
            break
        aborted = yield from _end(session, "abort")
        if not aborted.is_done:
            break
        is_open = False
        for (name, partition), offset in _first_offsets(records).items():
            place = {"consumer": "c", "topic": name, "partition": partition, "offset": offset}
            yield Step("seek", place, "main", 2_000)
    yield from _afterwards(session, output, is_open=is_open)
    yield from closing("p")
    yield from closing("c")


def _copy(session: Session, output: str, records: Sequence[Mapping[str, Any]]) -> Answer:
    """Send the records and their offsets in the open transaction, and commit it."""
    next_offsets: dict[str, dict[str, int]] = {}
    for record in records:
        yield from _send(session, output, 0, str(record["value"]))
        next_offsets.setdefault(record["topic"], {})[str(record["partition"])] = (
            record["offset"] + 1
        )
    arguments = {
        "producer": "p",
        "consumer": "c",
        "offsets": next_offsets,
        "timeout_ms": session.report_ms,
    }
    sent = yield Step("send_offsets", arguments, "main", session.report_ms)
    if not sent.is_done:
        return sent
    return (yield from _end(session, "commit"))


def _first_offsets(records: Sequence[Mapping[str, Any]]) -> dict[tuple[str, int], int]:
    first: dict[tuple[str, int], int] = {}
    for record in records:
        first.setdefault((record["topic"], record["partition"]), record["offset"])
    return first
