"""A cluster and the requests of group members, encoded and decoded, for handler tests."""

from typing import Any
from uuid import UUID

import broker.handlers as _registered  # noqa: F401  # importing it registers them
from broker.cluster.cluster import Cluster
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from broker.config.broker_config import BrokerConfig
from broker.pending_response import PendingResponse
from broker.request.context import RequestContext
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_message
from protocol.errors import ErrorCode

GROUP = "g"
SESSION_MS = 10_000
START_MS = 1_000


class GroupCluster:
    """Three brokers with a topic t of two partitions; requests go to the group's coordinator."""

    def __init__(self, **overrides: str) -> None:
        numbers = iter(range(1, 1_000_000))
        config = {name.replace("_", "."): value for name, value in overrides.items()}
        self.cluster = Cluster(
            BrokerConfig(config),
            3,
            cluster_id="cluster",
            new_uuid=lambda: UUID(int=next(numbers)),
        )
        for broker in self.cluster.brokers.values():
            broker.host, broker.port = "localhost", 9000 + broker.node_id
        self.topic = self.cluster.create_topic("t", [(1,), (2,)], {})
        ensure_internal_topic(self.cluster, GROUP_METADATA)
        self.now_ms = START_MS
        coordinator_id = self.cluster.coordinator_id(GROUP)
        assert coordinator_id is not None
        self.coordinator_id = coordinator_id

    @property
    def other_id(self) -> int:
        """A broker that does not coordinate the group."""
        return next(node for node in self.cluster.brokers if node != self.coordinator_id)

    def stop_all(self) -> None:
        """Take every broker down."""
        for broker in self.cluster.brokers.values():
            broker.is_alive = False

    def handle(
        self, api_key: ApiKey, version: int, *, broker_id: int | None = None, **fields: Any
    ) -> Any:
        """Encode, decode and handle a request; return what the handler returned."""
        request_class = messages.request_class(api_key)
        request = request_class.decode(
            request_class(version=version, **fields).encode(version=version), version=version
        )
        context = self.context(api_key, version, broker_id=broker_id)
        route = ROUTES[api_key]
        if route.read_short is not None:
            body = encode_message(request, version)
            request = route.read_short(version, body, 0, len(body)) or request
        return route.handler(context, request, self.cluster)

    def context(
        self,
        api_key: ApiKey,
        version: int,
        *,
        broker_id: int | None = None,
        client_id: str = "client",
    ) -> RequestContext:
        """Return the context of a request, by default one to the group's coordinator."""
        return RequestContext(
            api_key=api_key,
            api_version=version,
            correlation_id=1,
            client_id=client_id,
            now_ms=self.now_ms,
            size_bytes=0,
            broker_id=self.coordinator_id if broker_id is None else broker_id,
            connection_id=1,
            client_host="127.0.0.1",
        )

    def send(self, api_key: ApiKey, version: int, **fields: Any) -> list[Any]:
        """`handle` a request, and encode and decode its response in the same version.

        Returns a list that has the response once there is one.
        """
        responses: list[Any] = []

        def receive(response: Any) -> None:
            body = response if isinstance(response, bytes) else response.encode(version=version)
            response_class = messages.response_class(api_key)
            responses.append(response_class.decode(bytes(body), version=version))

        result = self.handle(api_key, version, **fields)
        if not isinstance(result, PendingResponse):
            receive(result)
        elif result.is_done:
            receive(result.response)
        else:
            result.attach(receive)
        return responses

    def ask(self, api_key: ApiKey, version: int, **fields: Any) -> Any:
        """`send` a request; return its immediate response."""
        (response,) = self.send(api_key, version, **fields)
        return response

    # Members and offsets ------------------------------------------------------------------------

    def join(
        self, version: int = 3, *, protocols: dict[str, bytes] | None = None, **fields: Any
    ) -> list[Any]:
        """Send a JoinGroup of a consumer."""
        return self.send(
            ApiKey.JOIN_GROUP, version, **self.join_fields(version, protocols) | fields
        )

    def join_fields(
        self, version: int, protocols: dict[str, bytes] | None = None
    ) -> dict[str, Any]:
        """Return the fields of a consumer's JoinGroup."""
        request_class: Any = messages.JoinGroupRequest
        return {
            "group_id": GROUP,
            "member_id": "",
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": SESSION_MS,
            "protocol_type": "consumer",
            "protocols": [
                request_class.JoinGroupRequestProtocol(version=version, name=name, metadata=data)
                for name, data in (protocols or {"range": b"meta"}).items()
            ],
        }

    def sync(
        self, member_id: str, generation_id: int, version: int = 3, **fields: Any
    ) -> list[Any]:
        """Send a SyncGroup that assigns b"partitions" to the member itself."""
        assignment = messages.SyncGroupRequest.SyncGroupRequestAssignment(
            version=version, member_id=member_id, assignment=b"partitions"
        )
        defaults = {
            "group_id": GROUP,
            "member_id": member_id,
            "generation_id": generation_id,
            "assignments": [assignment],
            "protocol_type": "consumer" if version >= 5 else None,
            "protocol_name": "range" if version >= 5 else None,
        }
        return self.send(ApiKey.SYNC_GROUP, version, **(defaults | fields))

    def stable_member(self, **fields: Any) -> str:
        """Create a stable group with one member in generation 1; return the member id."""
        version = 5 if "group_instance_id" in fields else 3
        (joined,) = self.join(version, **fields)
        (synced,) = self.sync(joined.member_id, 1)
        assert synced.error_code == ErrorCode.NONE
        return str(joined.member_id)

    def commit(self, *offsets: tuple[str, int, int], version: int = 9, **fields: Any) -> list[int]:
        """Send an OffsetCommit of (topic name, index, offset); return the error code of each."""
        request_class: Any = messages.OffsetCommitRequest
        topic_class = request_class.OffsetCommitRequestTopic
        topics = [
            topic_class(
                version=version,
                name=name,
                partitions=[
                    topic_class.OffsetCommitRequestPartition(
                        version=version,
                        partition_index=index,
                        committed_offset=offset,
                        committed_metadata="note",
                    )
                ],
            )
            for name, index, offset in offsets
        ]
        defaults = {"group_id": GROUP, "topics": topics}
        response = self.ask(ApiKey.OFFSET_COMMIT, version, **(defaults | fields))
        return [partition.error_code for topic in response.topics for partition in topic.partitions]


def versions(api_key: ApiKey, low: int = 0) -> range:
    """Return the versions of the schema from `low` on."""
    schema_low, schema_high = messages.schema_versions(api_key)
    return range(max(low, schema_low), schema_high + 1)
