"""The parts that all wrappers share, with a producer that has no library."""

from typing import Any

import pytest

from scenarios.clients.interface import (
    Client,
    Config,
    Delivery,
    GroupMember,
    Producer,
    ProducerOptions,
    Record,
    Report,
    by_partition,
)


class ProducerInMemory(Producer):
    """Reports outcomes in reverse order, and fails records with the value b"bad"."""

    def __init__(self) -> None:
        self.pending: list[tuple[Report, Delivery]] = []
        self.calls: list[str] = []

    def send(self, topic: str, value: bytes | None, report: Report, **_: Any) -> None:
        error = ValueError("bad") if value == b"bad" else None
        offset = -1 if error else len(self.pending)
        self.pending.append((report, Delivery(offset, error, "ValueError" if error else None)))

    def poll(self, timeout_s: float) -> None:
        raise NotImplementedError

    def flush(self, timeout_s: float = 0) -> None:
        self.calls.append("flush")
        for report, delivery in reversed(self.pending):
            report(delivery)

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")


class ClientInMemory(Client):
    """Opens one producer."""

    def __init__(self) -> None:
        self.opened = ProducerInMemory()
        self.options: ProducerOptions | None = None

    def create_topic(self, *_: Any) -> None:
        raise NotImplementedError

    def producer(
        self, servers: str, config: Config | None = None, options: ProducerOptions | None = None
    ) -> Producer:
        self.options = options
        return self.opened

    def join(self, *_: Any, **__: Any) -> GroupMember:
        raise NotImplementedError

    def read(self, *_: Any) -> list[Record]:
        raise NotImplementedError


def test_records_come_back_with_their_offsets_in_the_order_of_sending() -> None:
    client = ClientInMemory()
    records = [Record(b"a"), Record(b"b", b"key")]
    sent = client.produce("", "t", records, acks=1, compression="lz4")
    assert sent == [Record(b"a", offset=0), Record(b"b", b"key", offset=1)]
    assert client.opened.calls == ["flush", "close"]
    assert client.options == ProducerOptions(acks=1, compression="lz4", max_request_bytes=1_000_000)


def test_a_record_that_fails_raises_its_error_and_aborts_the_producer() -> None:
    client = ClientInMemory()
    with pytest.raises(ValueError, match="bad"):
        client.produce("", "t", [Record(b"a"), Record(b"bad")])
    assert client.opened.calls == ["flush", "abort"]


def test_records_are_sorted_into_their_partitions() -> None:
    records = [Record(b"%d" % number, partition=number % 2) for number in range(4)]
    assert by_partition(records) == {0: records[::2], 1: records[1::2]}
