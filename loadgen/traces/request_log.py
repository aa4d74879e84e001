"""Make rows of Kafka's request log: the lines of `kafka.request.logger` of Kafka 3.x and 4.x.

A line has the time of the response, `Completed request:` and a JSON object. The arrival of the
request is `totalTimeMs` earlier. The log has no sizes but those of record batches, no record counts
and no producer ids of batches; the class says what it takes instead.

Sources: RequestChannel.Request.updateRequestMetrics, RequestConvertToJson.requestDescMetrics
"""

import re
from functools import cache
from typing import Any

import msgspec
import numpy as np

from loadgen.traces.request_fields import (
    PartitionCounts,
    batches_of,
    fetched_bytes,
    first_partition,
    learn_topic_ids,
    topic_name,
    topics_of,
    value,
)
from protocol.api_keys import ApiKey
from protocol.messages import API_NAMES

PREFIX = b"Completed request:"
BETWEEN_BROKERS = frozenset(
    {
        "AllocateProducerIds",
        "AlterPartition",
        "AssignReplicasToDirs",
        "BeginQuorumEpoch",
        "BrokerHeartbeat",
        "BrokerRegistration",
        "ControlledShutdown",
        "ControllerRegistration",
        "EndQuorumEpoch",
        "Envelope",
        "FetchSnapshot",
        "LeaderAndIsr",
        "StopReplica",
        "UpdateMetadata",
        "Vote",
        "WriteTxnMarkers",
    }
)
"""APIs that only brokers and controllers send: no load of a client."""

_TIME = re.compile(
    rb"(?P<date>\d{4}-\d\d-\d\d)[T ](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    rb"(?:[,.](?P<fraction>\d{1,6}))?"
)
_HEADER_BYTES = 12
"""API key, version, correlation id, length of the client id, and tagged fields."""
_TOPIC_BYTES, _PARTITION_BYTES = 6, 8


class _Header(msgspec.Struct, rename="camel"):
    request_api_key_name: str
    client_id: str | None = None


class _Request(msgspec.Struct, rename="camel"):
    """The JSON object of a line, as far as rows depend on it."""

    request_header: _Header
    connection: str
    request: Any = None
    response: Any = None
    is_forwarded: bool = False
    principal: str = "User:ANONYMOUS"
    total_time_ms: float = 0.0


class RequestLog:
    """The rows of one log.

    Brokers are counted by the hosts in the connections. A batch has the newest producer id that its
    connection got, or else the newest one that its host got with the same client id.
    """

    def __init__(self) -> None:
        self._counts = PartitionCounts()
        self._names: dict[str, str] = {}
        self._brokers: dict[str, int] = {}
        self._producer_ids: dict[object, int] = {}
        self._decoder = msgspec.json.Decoder(_Request)

    def row_of(self, line: bytes) -> dict[str, Any] | None:
        """Return the row of a client's request; None for other lines.

        Raises:
            ValueError: a line with `Completed request:` has no time, or other content.
        """
        start = line.find(PREFIX)
        if start < 0:
            return None
        time = _TIME.search(line, 0, start)
        if time is None:
            raise ValueError("no date and time before 'Completed request:'")
        found = self._decoder.decode(_object(line, start + len(PREFIX)))
        api = _api_name(found.request_header.request_api_key_name)
        if found.is_forwarded or api in BETWEEN_BROKERS or _is_of_follower(api, found.request):
            return None
        return self._row(api, found, _time_us(time) - round(found.total_time_ms * 1000))

    def _row(self, api: str, found: _Request, time_us: int) -> dict[str, Any]:
        if api in {"Metadata", "CreateTopics"}:
            learn_topic_ids(found.response, self._names)
        client_id = found.request_header.client_id or ""
        local, _, remote = found.connection.partition("-")
        host = local.rpartition(":")[0]
        client = (remote.rpartition(":")[0], client_id)
        topics = topics_of(found.request)
        batches = batches_of(found.request)
        transactional_id = value(found.request, "transactional_id") or ""
        if api == "InitProducerId" and value(found.response, "producer_id", -1) >= 0:
            for owner in (found.connection, client):
                self._producer_ids[owner] = found.response["producerId"]
        size = self._size(api, client_id, topics, batches.batch_bytes)
        return {
            "time_us": time_us,
            "api": api,
            "user": found.principal.removeprefix("User:"),
            "client_id": client_id,
            "connection": found.connection,
            "broker": self._brokers.setdefault(host, len(self._brokers) + 1),
            "request_bytes": size,
            "response_bytes": fetched_bytes(found.response) if "Fetch" in api else 0,
            "batch_bytes": batches.batch_bytes,
            "producer_id": self._producer_id(found.connection, client) if api == "Produce" else -1,
            "topic": topic_name(topics[0], self._names) if topics else "",
            "partition": first_partition(topics[0]) if topics else -1,
            "topics": len(topics),
            "records": 0,
            "mutations": self._counts.mutations(api, found.request, found.response, self._names),
            "group": value(found.request, "group_id") or "",
            "transactional_id": transactional_id,
        }

    def _producer_id(self, connection: str, client: tuple[str, str]) -> int:
        found = self._producer_ids.get(connection)
        return self._producer_ids.get(client, -1) if found is None else found

    def _size(self, api: str, client_id: str, topics: list[Any], batch_bytes: int) -> int:
        """Return about the size of a Produce request; 0 for other APIs."""
        if api != "Produce":
            return 0
        around = sum(
            _TOPIC_BYTES
            + len(topic_name(topic, self._names))
            + _PARTITION_BYTES * len(value(topic, "partition_data", []))
            for topic in topics
        )
        return _HEADER_BYTES + len(client_id) + around + batch_bytes


def _time_us(time: re.Match[bytes]) -> int:
    """Return the microseconds since 1970 of a time, which has no time zone."""
    seconds = int(time["hour"]) * 3600 + int(time["minute"]) * 60 + int(time["second"])
    fraction = (time["fraction"] or b"").decode().ljust(6, "0")
    return _day_us(time["date"].decode()) + seconds * 1_000_000 + int(fraction)


@cache
def _day_us(date: str) -> int:
    return int(np.datetime64(date, "us").astype(np.int64))


def _object(line: bytes, start: int) -> bytes:
    """Return the JSON object; a layout may have the name of the logger behind it."""
    end = line.rfind(b"}") + 1
    return line[start:end]


def _api_name(kafka_name: str) -> str:
    """Return `CreateTopics` for `CREATE_TOPICS`."""
    try:
        return API_NAMES[ApiKey[kafka_name]]
    except KeyError:
        return "".join(word.capitalize() for word in kafka_name.split("_"))


def _is_of_follower(api: str, request: Any) -> bool:
    replica_id = value(request, "replica_id", value(value(request, "replica_state"), "replica_id"))
    return api == "Fetch" and replica_id is not None and int(replica_id) >= 0
