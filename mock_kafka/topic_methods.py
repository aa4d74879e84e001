"""The methods of a cluster for topics: create them, read, add and wait for records."""

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from mock_kafka.arguments import IsolationLevel, MarkerKind
from mock_kafka.config_value import ConfigValue, config_text
from mock_kafka.control import WAIT_MARGIN_S, Control

if TYPE_CHECKING:  # `BrokerProcess` imports them while the broker starts
    from mock_kafka.views import CompactedPartition, Partition, Record, Topic

__tracebackhide__ = True  # pytest shows the line of the caller

_RECORDS_PER_RESPONSE = 10_000


class TopicMethods(ABC):
    """The part of `ClusterMethods` for topics and records."""

    @property
    @abstractmethod
    def control(self) -> Control:
        """The admin port of the running cluster."""

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        config: Mapping[str, ConfigValue] | None = None,
    ) -> "Topic":
        """Create a topic; by default with the counts of the cluster's configuration.

        Raises:
            ControlError: a broker would refuse it; the message has Kafka's name of the error, and
                for an unknown key the nearest one.
        """
        texts = None if config is None else {k: config_text(v) for k, v in config.items()}
        body = {
            "partitions": partitions,
            "replication_factor": replication_factor,
            "config": texts,
        }
        given = {key: value for key, value in body.items() if value is not None}
        from mock_kafka.views import topic_of  # noqa: PLC0415 - see `BrokerProcess`

        return topic_of(self.control.ask("POST", "/v1/topics", {"name": name, **given}))

    def delete_topic(self, name: str) -> None:
        """Delete a topic and its records.

        Raises:
            ControlError: there is no such topic; the message has those there are.
        """
        self.control.ask("DELETE", f"/v1/topics/{quote(name, safe='')}")

    def topic(self, name: str) -> "Topic":
        """Return one topic with its partitions, leaders and offsets.

        Raises:
            ControlError: there is no such topic; the message has those there are.
        """
        from mock_kafka.views import topic_of  # noqa: PLC0415 - see `BrokerProcess`

        return topic_of(self.control.ask("GET", f"/v1/topics/{quote(name, safe='')}"))

    def topics(self, *, internal: bool = False) -> "list[Topic]":
        """Return all topics with their partitions, leaders and offsets.

        Internal topics such as `__consumer_offsets` are among them only with `internal`.
        """
        from mock_kafka.views import topic_of  # noqa: PLC0415 - see `BrokerProcess`

        found = map(topic_of, self.control.ask("GET", "/v1/topics"))
        return [topic for topic in found if internal or not topic.is_internal]

    def records(
        self,
        topic: str,
        partition: int | None = None,
        offset: int = 0,
        *,
        limit: int | None = None,
        isolation_level: IsolationLevel = "read_uncommitted",
    ) -> "list[Record]":
        """Return the records of a topic or partition, from `offset` on, by partition and offset.

        With `limit` they are the first ones in this order; a synthetic topic may be endless.
        Their attribute `transaction` is `open`, `committed`, `aborted` or None. With
        `read_committed` those that such a consumer can't see are omitted.

        Raises:
            ControlError: there is no such topic; the message names the existing ones.
        """
        remaining: list[tuple[int | None, int]] = [(partition, offset)]
        from mock_kafka.views import record_of  # noqa: PLC0415 - see `BrokerProcess`

        found: list[Record] = []
        path = _records_path(topic)
        while remaining and (limit is None or len(found) < limit):
            index, from_offset = remaining.pop(0)
            left = _RECORDS_PER_RESPONSE if limit is None else limit - len(found)
            query = {
                "partition": index,
                "offset": from_offset,
                "limit": min(left, _RECORDS_PER_RESPONSE),
                "encoding": "base64",
                "isolation_level": isolation_level,
            }
            response = self.control.ask("GET", path, query=query)
            found += [record_of(topic, record) for record in response["records"]]
            rest = [(int(index), next_) for index, next_ in response["next_offsets"].items()]
            remaining = rest + remaining
        return sorted(found, key=lambda record: (record.partition, record.offset))

    def delete_records(
        self, topic: str, partition: int | None = None, before_offset: int | None = None
    ) -> None:
        """Delete the records of a topic or partition: those before an offset, or all.

        It makes the checks of DeleteRecords.

        Raises:
            ControlError: there is no such topic or partition, or a broker would refuse it; the
                message has Kafka's name of the error.
        """
        given = {"partition": partition, "before_offset": before_offset}
        query = {name: value for name, value in given.items() if value is not None}
        self.control.ask("DELETE", _records_path(topic), query=query)

    def truncate(self, topic: str, partition: int, offset: int) -> "Partition":
        """Have a log lose its records from `offset` on, in all replicas; return the partition.

        It is as if an unclean election had lost them: the leader begins a new epoch, and knows
        producers by what is left. A batch with records before and behind the offset is cut.

        Raises:
            ControlError: there is no such topic or partition, or the offset is not in its log.
        """
        return self._change_log(topic, partition, "truncate", {"offset": offset})

    def leave_gap(self, topic: str, partition: int = 0, count: int = 1) -> "Partition":
        """Leave `count` offsets without records at the end of a log; return the partition.

        Compaction leaves such gaps: the last of the offsets has a batch without records, the others
        have none.

        Raises:
            ControlError: there is no such topic or partition, or it is internal or has no leader.
        """
        return self._change_log(topic, partition, "gap", {"count": count})

    def append_control_record(
        self, topic: str, partition: int = 0, kind: MarkerKind = "commit"
    ) -> "Partition":
        """Append the marker of a transaction without records; return the partition.

        The last offset of the log is then none of a record, as behind each transaction.

        Raises:
            ControlError: there is no such topic or partition, or a broker would refuse the marker.
        """
        return self._change_log(topic, partition, "control-records", {"kind": kind})

    def pause_follower(self, topic: str, partition: int, broker: int) -> "Partition":
        """Have a follower fetch nothing more while its broker is up; return the partition.

        It leaves the ISR at once, and its log ends where it is.

        Raises:
            ControlError: the broker does not follow the leader of the partition.
        """
        return self._change_log(topic, partition, f"followers/{broker}/pause")

    def resume_follower(self, topic: str, partition: int, broker: int) -> "Partition":
        """Have a paused follower fetch again: it catches up at once; return the partition."""
        return self._change_log(topic, partition, f"followers/{broker}/resume")

    def _change_log(
        self, topic: str, partition: int, change: str, body: Mapping[str, object] | None = None
    ) -> "Partition":
        path = f"/v1/topics/{quote(topic, safe='')}/partitions/{partition}/{change}"
        from mock_kafka.views import partition_of  # noqa: PLC0415 - see `BrokerProcess`

        return partition_of(self.control.ask("POST", path, body))

    def compact(self, topic: str, partition: int | None = None) -> "list[CompactedPartition]":
        """Compact a topic or partition now; return what was removed from each partition.

        It does what Kafka's log cleaner would do if the log were dirty and its active segment
        ended: it keeps the last record of each key, and removes those of aborted transactions.
        Records that `min.compaction.lag.ms` protects, and those of open transactions and all behind
        them, stay. A tombstone goes with a compaction that comes `delete.retention.ms` after its
        first one. The next record begins a new segment.

        Raises:
            ControlError: there is no such topic or partition, or it is not compacted.
        """
        from mock_kafka.views import CompactedPartition  # noqa: PLC0415 - see `BrokerProcess`

        query = {} if partition is None else {"partition": partition}
        path = f"/v1/topics/{quote(topic, safe='')}/compact"
        found = self.control.ask("POST", path, query=query)
        return [CompactedPartition(topic, **one) for one in found]

    def produce(
        self,
        topic: str,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        headers: Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> "list[Record]":
        """Store a record for each value, as a producer with acks=all does; return the records.

        All have the same key, headers, partition and timestamp, which is by default the time of the
        cluster. Strings are encoded as UTF-8. Without a partition the key decides, as in the Java
        client; a record without a key gets the partition with the lowest end offset. A missing
        topic is created if `auto.create.topics.enable` allows it. No quota is charged, and no fault
        rule fires. At most 10,000 records and 4 MiB of JSON, in base64.

        Raises:
            ControlError: a broker would refuse a record; then none is stored. The message has
                Kafka's name of the error.
        """
        from mock_kafka.views import Record  # noqa: PLC0415 - see `BrokerProcess`

        key_bytes, pairs = _bytes_of(key), _headers_of(headers)
        encoded = [_bytes_of(value) for value in values]
        if not encoded:
            return []
        document = {
            "key": _base64_of(key_bytes),
            "headers": [{"key": name, "value": _base64_of(value)} for name, value in pairs],
            "partition": partition,
            "timestamp": timestamp_ms,
        }
        shared = {name: value for name, value in document.items() if value is not None}
        body = {"records": [{**shared, "value": _base64_of(value)} for value in encoded]}
        stored = self.control.ask("POST", _records_path(topic), body)
        return [
            Record(
                topic,
                place["partition"],
                place["offset"],
                place["timestamp"],
                key_bytes,
                value,
                pairs,
            )
            for place, value in zip(stored, encoded, strict=True)
        ]

    def wait_for_records(
        self,
        topic: str,
        count: int = 1,
        *,
        partition: int | None = None,
        isolation_level: IsolationLevel = "read_uncommitted",
        timeout_s: float = 10.0,
    ) -> "list[Record]":
        """Return all records of a topic or partition as soon as there are at least `count`.

        The topic need not exist yet.

        Raises:
            TimeoutError: there were fewer for `timeout_s` of real time; the message has their
                number, and the Produce requests that came nearest.
        """
        query = {
            "count": count,
            "partition": partition,
            "isolation_level": isolation_level,
            "limit": 1,
            "timeout_ms": round(timeout_s * 1000),
        }
        path = f"{_records_path(topic)}/wait"
        self.control.ask("GET", path, query=query, timeout_s=timeout_s + WAIT_MARGIN_S)
        return self.records(topic, partition, isolation_level=isolation_level)


def _records_path(topic: str) -> str:
    return f"/v1/topics/{quote(topic, safe='')}/records"


def _bytes_of(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _headers_of(
    headers: Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]],
) -> tuple[tuple[str, bytes | None], ...]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple((name, _bytes_of(value)) for name, value in pairs)


def _base64_of(value: bytes | None) -> dict[str, str] | None:
    return None if value is None else {"base64": b64encode(value).decode()}
