"""What a client does in a situation: the same commands for all clients.

A workload yields steps and gets their replies. Each one ends in the same way: the lane makes the
cluster healthy again, the same client object has to succeed once more, and it is closed.
"""

from collections.abc import Callable, Mapping
from typing import Any

from atlas import reading_workloads as reading
from atlas import transaction_workloads as transactions
from atlas.steps import ADMIN_SETTINGS, CLOSE_MS, HEAL, Answer, Session, Step, Steps, closing

Workload = Callable[[Session], Steps]
_BATCHES = 3
_PRODUCERS = 3


def _sends(session: Session, first: int, count: int, producer: str = "p") -> Steps:
    topic = session.get("topic", "orders")
    partitions = session.get("partitions", session.partitions.get(topic, 1))
    for index in range(first, first + count):
        value = str(index).ljust(session.get("value_bytes", 1), ".")
        arguments = {
            "producer": producer,
            "topic": topic,
            "partition": index % partitions,
            "key": session.get("key", None),
            "value": value,
        }
        yield Step("send", arguments, "main", session.report_ms)


def _flush(session: Session, producer: str = "p") -> Answer:
    arguments = {"producer": producer, "timeout_ms": session.report_ms}
    return (yield Step("flush", arguments, "main", session.report_ms))


def _open(session: Session, producer: str = "p") -> Answer:
    arguments = {"id": producer, "settings": session.producer_settings()}
    return (yield Step("producer", arguments, "main", session.report_ms))


def _afterwards(session: Session, producer: str = "p") -> Steps:
    """Find out whether a producer is usable, and close it."""
    yield Step(HEAL, {}, "afterwards")
    topic = session.get("topic", "orders")
    record = {"producer": producer, "topic": topic, "partition": 0, "key": None, "value": "after"}
    sent = yield Step("send", record, "afterwards", session.report_ms)
    flushing = {"producer": producer, "timeout_ms": session.report_ms}
    yield Step("flush", flushing, "afterwards", session.report_ms)
    session.is_usable = session.delivered.get(sent.number, False)
    yield from closing(producer)


def _with_producer(session: Session, body: Steps) -> Steps:
    """Open a producer, run the body with it, and find out whether it is usable afterwards."""
    opened = yield from _open(session)
    if not opened.is_done:
        return
    yield from body
    yield from _afterwards(session)


def produce(session: Session) -> Steps:
    """Send `records` records, and wait for their outcome together."""

    def body() -> Steps:
        yield from _sends(session, 0, session.get("records", 3))
        yield from _flush(session)

    return _with_producer(session, body())


def produce_each(session: Session) -> Steps:
    """Send `records` records, and wait for the outcome of each before the next one."""

    def body() -> Steps:
        for index in range(session.get("records", 3)):
            yield from _sends(session, index, 1)
            yield from _flush(session)

    return _with_producer(session, body())


def produce_idle(session: Session) -> Steps:
    """Send records, do nothing for `idle_ms`, and send as many again."""

    def body() -> Steps:
        count = session.get("records", 1)
        yield from _sends(session, 0, count)
        yield from _flush(session)
        idle_ms = session.get("idle_ms", 500)
        yield Step("sleep", {"ms": idle_ms}, "main", idle_ms)
        yield from _sends(session, count, count)
        yield from _flush(session)

    return _with_producer(session, body())


def batches(session: Session) -> Steps:
    """Send `batches` times `records` records without waiting between them.

    A `value_bytes` near the size of a batch keeps them apart.
    """

    def body() -> Steps:
        count = session.get("batches", _BATCHES) * session.get("records", 1)
        yield from _sends(session, 0, count)
        yield from _flush(session)

    return _with_producer(session, body())


def producers(session: Session) -> Steps:
    """Open `producers` producers one after the other, each of which sends a record and closes.

    A service that restarts in a loop does that. The last one stays open until it was asked again.
    """
    count = session.get("producers", _PRODUCERS)
    for index in range(count):
        producer = f"p{index}"
        opened = yield from _open(session, producer)
        if not opened.is_done:
            return
        yield from _sends(session, index, 1, producer)
        yield from _flush(session, producer)
        if index < count - 1:
            leaving = {"id": producer, "timeout_ms": CLOSE_MS}
            yield Step("close", leaving, "main", CLOSE_MS)
    yield from _afterwards(session, producer)


def _with_admin(session: Session, name: str, arguments: Mapping[str, Any], after: str) -> Steps:
    settings = session.admin_settings()
    opened = yield Step("admin", {"id": "a", "settings": settings}, "main", session.call_ms)
    if not opened.is_done:
        return
    timeout = {"admin": "a", "timeout_ms": session.call_ms}
    yield Step(name, {**arguments, **timeout}, "main", session.call_ms)
    yield Step(HEAL, {}, "afterwards")
    fields = {"topic": session.get("after_topic", "after")} if after == "create_topic" else {}
    succeeded = yield Step(after, {**fields, **timeout}, "afterwards", session.call_ms)
    session.is_usable = succeeded.is_done
    yield from closing("a")


def create_topic(session: Session) -> Steps:
    """Create a topic with an admin client."""
    arguments = {
        "topic": session.get("topic", "new"),
        "partitions": session.get("partitions", 1),
        "replication_factor": session.get("replication_factor", 1),
    }
    return _with_admin(session, "create_topic", arguments, "create_topic")


def admin(session: Session) -> Steps:
    """Make the `call` of an admin client with the other arguments as its fields."""
    call = session.get("call", "describe_cluster")
    own = {"call", *ADMIN_SETTINGS}
    arguments = {name: value for name, value in session.arguments.items() if name not in own}
    if "config" in arguments:
        # Kafka has values of configuration keys as text.
        arguments["config"] = {key: str(value) for key, value in arguments["config"].items()}
    return _with_admin(session, call, arguments, "list_topics")


WORKLOADS: dict[str, Workload] = {
    "produce": produce,
    "produce_each": produce_each,
    "produce_idle": produce_idle,
    "batches": batches,
    "producers": producers,
    "transaction": transactions.transaction,
    "process": transactions.process,
    "consume": reading.consume,
    "group": reading.group,
    "rebalance": reading.rebalance,
    "share": reading.share,
    "streams": reading.streams,
    "create_topic": create_topic,
    "admin": admin,
}
