"""A cluster with share groups and the requests of their members, encoded and decoded."""

from base64 import urlsafe_b64encode
from typing import Any
from uuid import UUID

from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from broker.pending_response import PendingResponse
from broker.produce.append import append_batch
from broker.routes import ROUTES
from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.configs import ResourceType
from protocol.errors import ErrorCode
from protocol.records import LOG_OVERHEAD_BYTES, read_header, read_records
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context

GROUP = "g"
TOPIC = "t"
LOCK_MS = 30_000
VERSION = 1
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


def member_id(number: int) -> str:
    """Return a member id as Kafka's clients make it."""
    return urlsafe_b64encode(UUID(int=number).bytes).decode().rstrip("=")


class ShareDriver:
    """Brokers with a topic that broker 1 leads; share groups start at its begin."""

    def __init__(self, broker_count: int = 1, partition_count: int = 1, **overrides: str) -> None:
        keys = {name.replace("_", "."): value for name, value in overrides.items()}
        if keys.get("broker.api.versions") == "4.1":  # off by default before 4.2
            keys.setdefault("cluster.features", "share.version=1")
        self.cluster = make_cluster(broker_count, **keys)
        self.topic = self.cluster.create_topic(TOPIC, [(1,)] * partition_count, {})
        ensure_internal_topic(self.cluster, GROUP_METADATA)
        self.now_ms = NOW_MS
        self.configure("share.auto.offset.reset", "earliest")
        self.version = VERSION
        """That of ShareFetch and ShareAcknowledge requests."""
        self._epochs: dict[str, int] = {}

    def configure(self, name: str, value: str, group_id: str = GROUP) -> None:
        """Set a key of a group."""
        config = self.cluster.config
        layer = dict(config.resources.get((ResourceType.GROUP, group_id), {})) | {name: value}
        self.cluster.set_config(config.with_resource((ResourceType.GROUP, group_id), layer))

    @property
    def log(self) -> Any:
        """The log of the first partition."""
        return self.topic.partitions[0].log

    @property
    def coordinator_id(self) -> int:
        """The coordinator of the group."""
        node_id = self.cluster.coordinator_id(GROUP)
        assert node_id is not None
        return node_id

    def advance(self, duration_ms: int) -> None:
        """Move the clock, and run the timers that are due."""
        self.now_ms += duration_ms
        self.cluster.timers.run_due(self.now_ms)

    def produce(self, *values: bytes, partition_index: int = 0, **header: Any) -> None:
        """Append one batch, then run what waits for it."""
        batch = make_batch(*values, **header)
        context = make_context(ApiKey.PRODUCE, 9, now_ms=self.now_ms)
        partition = self.topic.partitions[partition_index]
        append_batch(context, self.cluster, self.topic, partition, batch, 0, len(batch))
        self.cluster.timers.run_due(self.now_ms)

    # Requests --------------------------------------------------------------------------------

    def send(
        self,
        request: Any,
        version: int = VERSION,
        *,
        broker_id: int = 1,
        connection_id: int = 1,
    ) -> list[Any]:
        """Send a request; return a list that has the response once there is one."""
        api_key = ApiKey(request.API_KEY)
        body = bytes(request.encode(version=version))
        decoded = codec.decode_request(api_key, version, body, 0, len(body))
        context = make_context(
            api_key, version, broker_id=broker_id, now_ms=self.now_ms, connection_id=connection_id
        )
        received: list[Any] = []

        def receive(response: Any) -> None:
            encoded = response
            if not isinstance(response, bytes | bytearray):
                encoded = response.encode(version=version)
            response_class = messages.response_class(api_key)
            received.append(response_class.decode(bytes(encoded), version=version))

        result = ROUTES[api_key].handler(context, decoded, self.cluster)
        if not isinstance(result, PendingResponse):
            receive(result)
        elif result.is_done:
            receive(result.response)
        else:
            result.attach(receive)
        return received

    def ask(self, request: Any, version: int = VERSION, **where: int) -> Any:
        """Send a request; return its immediate response, after the timers that are due."""
        (response,) = self.send(request, version, **where)
        self.cluster.timers.run_due(self.now_ms)
        return response

    def heartbeat(self, number: int, epoch: int, topics: list[str] | None = None) -> Any:
        """Send the heartbeat of a member to the coordinator."""
        request = messages.ShareGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=member_id(number),
            member_epoch=epoch,
            subscribed_topic_names=topics,
        )
        return self.ask(request, broker_id=self.coordinator_id)

    def join(self, number: int) -> Any:
        """Join as a member; return the response that has its partitions."""
        first = self.heartbeat(number, 0, [TOPIC])
        assert first.error_code == ErrorCode.NONE, ErrorCode(first.error_code)
        second = self.heartbeat(number, first.member_epoch)
        return second if second.assignment is not None else first

    def fetch(
        self,
        number: int,
        *,
        acknowledge: list[tuple[int, int, list[int]]] = (),  # type: ignore[assignment]
        epoch: int | None = None,
        partitions: list[int] | None = None,
        max_wait_ms: int = 0,
        max_records: int = 500,
        batch_size: int = 500,
        broker_id: int = 1,
        group_id: str = GROUP,
        topic_id: UUID | None = None,
        forget: list[int] | None = None,
        min_bytes: int = 1,
        max_bytes: int = 1_000_000,
        connection_id: int | None = None,
        **fields: Any,
    ) -> list[Any]:
        """Send the next ShareFetch of a member; the first one opens its session."""
        member = member_id(number)
        if epoch is None:
            epoch = self._epochs.get(member, 0)
        if partitions is None:
            partitions = [0] if epoch == 0 or acknowledge else []
        request_class: Any = messages.ShareFetchRequest
        topic_class = request_class.FetchTopic
        partition_class = topic_class.FetchPartition
        requested_id = topic_id or self.topic.topic_id
        request = request_class(
            group_id=group_id,
            member_id=member,
            share_session_epoch=epoch,
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            max_records=max_records,
            batch_size=batch_size,
            topics=[
                topic_class(
                    topic_id=requested_id,
                    partitions=[
                        partition_class(
                            partition_index=index,
                            acknowledgement_batches=[
                                _batch(partition_class, *batch) for batch in acknowledge
                            ],
                        )
                        for index in partitions
                    ],
                )
            ]
            if partitions
            else [],
            forgotten_topics_data=[
                request_class.ForgottenTopic(topic_id=requested_id, partitions=forget)
            ]
            if forget
            else [],
            **fields,
        )
        self._epochs[member] = 0 if epoch < 0 else epoch + 1
        received = self.send(
            request, self.version, broker_id=broker_id, connection_id=connection_id or number
        )
        self.cluster.timers.run_due(self.now_ms)
        return received

    def acquire(self, number: int, **fields: Any) -> list[tuple[int, int, int]]:
        """Fetch; return first offset, last offset and delivery count of what was acquired."""
        (response,) = self.fetch(number, **fields)
        assert response.error_code == ErrorCode.NONE, ErrorCode(response.error_code)
        return acquired(response)

    def acknowledge(
        self,
        number: int,
        *batches: tuple[int, int, list[int]],
        epoch: int | None = None,
        **fields: Any,
    ) -> Any:
        """Send a ShareAcknowledge of the first partition."""
        member = member_id(number)
        if epoch is None:
            epoch = self._epochs.get(member, 0)
        request_class: Any = messages.ShareAcknowledgeRequest
        topic_class = request_class.AcknowledgeTopic
        partition_class = topic_class.AcknowledgePartition
        request = request_class(
            group_id=GROUP,
            member_id=member,
            share_session_epoch=epoch,
            topics=[
                topic_class(
                    topic_id=self.topic.topic_id,
                    partitions=[
                        partition_class(
                            partition_index=0,
                            acknowledgement_batches=[
                                _batch(partition_class, *batch) for batch in batches
                            ],
                        )
                    ],
                )
            ]
            if batches
            else [],
            **fields,
        )
        self._epochs[member] = 0 if epoch < 0 else epoch + 1
        return self.ask(request, self.version, connection_id=number)

    def acknowledge_code(
        self, number: int, *batches: tuple[int, int, list[int]], **fields: Any
    ) -> ErrorCode:
        """Send a ShareAcknowledge; return the error code of the partition."""
        response = self.acknowledge(number, *batches, **fields)
        assert response.error_code == ErrorCode.NONE, ErrorCode(response.error_code)
        return ErrorCode(response.responses[0].partitions[0].error_code)


def _batch(partition_class: Any, first: int, last: int, types: list[int]) -> Any:
    return partition_class.AcknowledgementBatch(
        first_offset=first, last_offset=last, acknowledge_types=types
    )


def part(response: Any, partition_index: int = 0) -> Any:
    """Return the entry of a partition of a response."""
    (entry,) = (
        entry
        for topic in response.responses
        for entry in topic.partitions
        if entry.partition_index == partition_index
    )
    return entry


def acquired(response: Any) -> list[tuple[int, int, int]]:
    """Return first offset, last offset and delivery count of all acquired records."""
    return [
        (batch.first_offset, batch.last_offset, batch.delivery_count)
        for topic in response.responses
        for entry in topic.partitions
        for batch in entry.acquired_records
    ]


def values(response: Any) -> list[bytes | None]:
    """Return the values of all records in a response."""
    return [
        record.value
        for topic in response.responses
        for entry in topic.partitions
        for batch in split_batches(entry.records)
        for record in read_records(batch)
    ]


def split_batches(records: bytes) -> list[bytes]:
    """Return the batches of a response."""
    batches, position = [], 0
    while position < len(records):
        end = position + LOG_OVERHEAD_BYTES + read_header(records, position).batch_length
        batches.append(records[position:end])
        position = end
    return batches
