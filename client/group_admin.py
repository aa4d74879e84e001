"""The part of the admin client for groups: classic, consumer, share and streams groups.

Requests go to the coordinator of the group. Source: Kafka's `KafkaAdminClient` with its handlers,
such as `DescribeConsumerGroupsHandler`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from client.errors import ApiError, UnsupportedVersionError, error_of
from client.group_messages import (
    by_topic,
    classic_group,
    committed_offsets,
    consumer_group,
    offsets_to_commit,
    share_group,
    streams_group,
    topic_name,
)
from client.resources import (
    Address,
    ClusterDescription,
    GroupDescription,
    GroupListing,
    PartitionKey,
    PartitionOffset,
    TopicDescription,
)
from protocol import messages
from protocol.errors import ErrorCode

ResponseT = TypeVar("ResponseT", bound="messages.Message")
_GroupT = TypeVar(
    "_GroupT",
    "messages.ConsumerGroupDescribeResponse.DescribedGroup",
    "messages.DescribeGroupsResponse.DescribedGroup",
    "messages.ShareGroupDescribeResponse.DescribedGroup",
    "messages.StreamsGroupDescribeResponse.DescribedGroup",
)

RETRY_BACKOFF_MS = 100
LIST_OFFSETS_TIMEOUT_MS = 30_000
EARLIEST, LATEST = -2, -1
"""Timestamps of ListOffsets for the first offset of a log, and for the next one."""

_RETRIED = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
_OTHER_TYPE = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION})
_GROUP_KEY_TYPE = 0
_DEAD = "Dead"


class GroupAdmin(ABC):
    """The methods of `Admin` for groups.

    An error of the whole request is raised as an `ApiError`; one of a partition is in the result.
    """

    @abstractmethod
    def describe_cluster(self) -> ClusterDescription:
        """Return the brokers."""

    @abstractmethod
    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription | ApiError]:
        """Describe topics."""

    @abstractmethod
    def topic_names(self) -> Mapping[UUID, str]:
        """Return the names of all topics by id."""

    @abstractmethod
    def _ask(
        self, request: "messages.Request[ResponseT]", address: Address | None = None
    ) -> ResponseT: ...

    @abstractmethod
    def _sleep_before(self, deadline_ms: int, wait_ms: int) -> bool:
        """Sleep unless the deadline is over; return whether it is not."""

    @abstractmethod
    def _deadline_ms(self) -> int:
        """Return the time at which a call that begins now stops to retry."""

    def list_groups(
        self, states: Iterable[str] = (), types: Iterable[str] = ()
    ) -> list[GroupListing]:
        """Return all groups, or those in these states and of these types, sorted by id.

        Brokers before Kafka 4 ignore the types, and before 2.6 the states.
        """
        states = list(states)
        # Kafka 4.4 filters by this spelling only.
        states += ["not_ready"] if "NotReady" in states else []
        request = messages.ListGroupsRequest(states_filter=states, types_filter=list(types))
        found = []
        for address in self.describe_cluster().brokers.values():
            response = self._ask(request, address)
            _raise(response.error_code)
            found += [
                GroupListing(
                    group.group_id,
                    group.group_type,
                    group.group_state,
                    group.protocol_type,
                )
                for group in response.groups
            ]
        return sorted(found, key=lambda listing: listing.group_id)

    def describe_groups(
        self, group_ids: Iterable[str], *, with_topology: bool = False
    ) -> dict[str, GroupDescription | ApiError]:
        """Describe groups of any type with their members; ask for topologies if they are wanted."""
        return {group_id: self._describe(group_id, with_topology) for group_id in group_ids}

    def _describe(self, group_id: str, with_topology: bool) -> GroupDescription | ApiError:
        """Ask as for a group of one type after the other: consumer, classic, share, streams."""
        return (
            self._described(
                group_id,
                messages.ConsumerGroupDescribeRequest(
                    group_ids=[group_id], include_authorized_operations=False
                ),
                lambda response: response.groups[0],
                consumer_group,
            )
            or self._described(
                group_id,
                messages.DescribeGroupsRequest(
                    groups=[group_id], include_authorized_operations=False
                ),
                lambda response: response.groups[0],
                classic_group,
            )
            or self._described(
                group_id,
                messages.ShareGroupDescribeRequest(
                    group_ids=[group_id], include_authorized_operations=False
                ),
                lambda response: response.groups[0],
                share_group,
            )
            or self._described(
                group_id,
                messages.StreamsGroupDescribeRequest(
                    group_ids=[group_id],
                    include_authorized_operations=False,
                    include_topology_description=with_topology,
                ),
                lambda response: response.groups[0],
                streams_group,
            )
            or ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")
        )

    def _described(
        self,
        group_id: str,
        request: "messages.Request[ResponseT]",
        group_of: Callable[[ResponseT], _GroupT],
        description: Callable[[_GroupT, int, Address], GroupDescription],
    ) -> GroupDescription | ApiError | None:
        """Return the group or an error; None if the group is of another type, or does not exist."""
        try:
            node_id, address, response = self._ask_coordinator(
                group_id, request, lambda response: group_of(response).error_code
            )
        except UnsupportedVersionError:
            return None
        group = group_of(response)
        error = error_of(group.error_code, group.error_message)
        if error is not None:
            return None if error.error_code in _OTHER_TYPE else error
        return None if group.group_state == _DEAD else description(group, node_id, address)

    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, ApiError | None]:
        """Delete groups without members, with their offsets."""
        outcomes = {}
        for group_id in group_ids:
            request = messages.DeleteGroupsRequest(groups_names=[group_id])
            _, _, response = self._ask_coordinator(
                group_id, request, lambda response: response.results[0].error_code
            )
            (result,) = response.results
            outcomes[group_id] = error_of(result.error_code, result.error_message)
        return outcomes

    # Committed offsets -----------------------------------------------------------------------

    def group_offsets(self, group_id: str) -> dict[PartitionKey, PartitionOffset]:
        """Return all committed offsets of a classic, consumer or streams group."""
        request_class = messages.OffsetFetchRequest
        group = request_class.OffsetFetchRequestGroup(
            group_id=group_id, member_id=None, member_epoch=-1, topics=None
        )
        request = request_class(
            groups=[group], group_id=group_id, topics=None, require_stable=False
        )

        def found(
            response: messages.OffsetFetchResponse,
        ) -> messages.OffsetFetchResponse.OffsetFetchResponseGroup | messages.OffsetFetchResponse:
            return response.groups[0] if response.groups else response

        _, _, response = self._ask_coordinator(
            group_id, request, lambda response: found(response).error_code
        )
        _raise(found(response).error_code)
        topics = found(response).topics
        needs_names = any(not topic.name for topic in topics)
        return committed_offsets(topics, self.topic_names() if needs_names else {})

    def alter_group_offsets(
        self, group_id: str, offsets: Mapping[PartitionKey, PartitionOffset]
    ) -> dict[PartitionKey, ApiError | None]:
        """Commit offsets for a group without members."""
        names = self.topic_names()
        ids = {name: topic_id for topic_id, name in names.items()}
        request = messages.OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=-1,
            member_id="",
            group_instance_id=None,
            retention_time_ms=-1,
            topics=offsets_to_commit(offsets, ids),
        )

        def first_error(response: messages.OffsetCommitResponse) -> int:
            codes = [part.error_code for topic in response.topics for part in topic.partitions]
            return next((code for code in codes if code in _RETRIED), 0)

        _, _, response = self._ask_coordinator(group_id, request, first_error)
        results = {
            (topic_name(topic, names), part.partition_index): error_of(part.error_code)
            for topic in response.topics
            for part in topic.partitions
        }
        # From version 10 on topics have ids alone, and a topic that does not exist has none.
        unknown = error_of(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return {key: results.get(key, unknown) for key in offsets}

    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[PartitionKey]
    ) -> dict[PartitionKey, ApiError | None]:
        """Delete committed offsets of partitions of topics that no member subscribes to."""
        topic_class = messages.OffsetDeleteRequest.OffsetDeleteRequestTopic
        request = messages.OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                topic_class(
                    name=name,
                    partitions=[
                        topic_class.OffsetDeleteRequestPartition(partition_index=index)
                        for index in indexes
                    ],
                )
                for name, indexes in by_topic(partitions).items()
            ],
        )
        _, _, response = self._ask_coordinator(
            group_id, request, lambda response: response.error_code
        )
        _raise(response.error_code)
        return {
            (topic.name, part.partition_index): error_of(part.error_code)
            for topic in response.topics
            for part in topic.partitions
        }

    # Share groups ------------------------------------------------------------------------------

    def share_group_offsets(self, group_id: str) -> dict[PartitionKey, PartitionOffset]:
        """Return start offsets and lag of a share group; -1 if the first fetch has to choose it."""
        request_class = messages.DescribeShareGroupOffsetsRequest
        group = request_class.DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)
        _, _, response = self._ask_coordinator(
            group_id,
            request_class(groups=[group]),
            lambda response: response.groups[0].error_code,
        )
        (found,) = response.groups
        _raise(found.error_code, found.error_message)
        return {
            (topic.topic_name, part.partition_index): PartitionOffset(
                part.start_offset,
                part.leader_epoch,
                lag=None if part.lag < 0 else part.lag,
            )
            for topic in found.topics
            for part in topic.partitions
            if not part.error_code
        }

    def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[PartitionKey, PartitionOffset]
    ) -> dict[PartitionKey, ApiError | None]:
        """Begin partitions of a share group without members at other offsets."""
        topic_class = messages.AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
        request = messages.AlterShareGroupOffsetsRequest(
            group_id=group_id,
            topics=[
                topic_class(
                    topic_name=name,
                    partitions=[
                        topic_class.AlterShareGroupOffsetsRequestPartition(
                            partition_index=index, start_offset=offsets[name, index].offset
                        )
                        for index in indexes
                    ],
                )
                for name, indexes in by_topic(offsets).items()
            ],
        )
        _, _, response = self._ask_coordinator(
            group_id, request, lambda response: response.error_code
        )
        _raise(response.error_code, response.error_message)
        return {
            (topic.topic_name, part.partition_index): error_of(part.error_code, part.error_message)
            for topic in response.responses
            for part in topic.partitions
        }

    def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str]
    ) -> dict[str, ApiError | None]:
        """Delete the offsets of topics of a share group without members."""
        topic_class = messages.DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic
        request = messages.DeleteShareGroupOffsetsRequest(
            group_id=group_id, topics=[topic_class(topic_name=name) for name in topics]
        )
        _, _, response = self._ask_coordinator(
            group_id, request, lambda response: response.error_code
        )
        _raise(response.error_code, response.error_message)
        return {
            topic.topic_name: error_of(topic.error_code, topic.error_message)
            for topic in response.responses
        }

    # Logs --------------------------------------------------------------------------------------

    def list_offsets(
        self, partitions: Iterable[PartitionKey], timestamp_ms: int
    ) -> dict[PartitionKey, int | ApiError]:
        """Return the first offset of each partition whose record is not older than a time.

        -1 stands for none. The timestamps `EARLIEST` and `LATEST` ask for the ends of the log.
        """
        partitions = list(partitions)
        brokers = self.describe_cluster().brokers
        described = self.describe_topics(list(by_topic(partitions)))
        results: dict[PartitionKey, int | ApiError] = {}
        by_leader: dict[Address, list[PartitionKey]] = {}
        for key in partitions:
            leader_id = _leader_id(described[key[0]], key[1])
            if isinstance(leader_id, ApiError):
                results[key] = leader_id
            elif leader_id not in brokers:
                results[key] = ApiError(ErrorCode.LEADER_NOT_AVAILABLE)
            else:
                by_leader.setdefault(brokers[leader_id], []).append(key)
        for address, keys in by_leader.items():
            results |= self._list_offsets_at(address, keys, timestamp_ms)
        return results

    def _list_offsets_at(
        self, address: Address, partitions: Iterable[PartitionKey], timestamp_ms: int
    ) -> dict[PartitionKey, int | ApiError]:
        topic_class = messages.ListOffsetsRequest.ListOffsetsTopic
        request = messages.ListOffsetsRequest(
            replica_id=-1,
            isolation_level=0,
            timeout_ms=LIST_OFFSETS_TIMEOUT_MS,
            topics=[
                topic_class(
                    name=name,
                    partitions=[
                        topic_class.ListOffsetsPartition(
                            partition_index=index,
                            current_leader_epoch=-1,
                            timestamp=timestamp_ms,
                        )
                        for index in indexes
                    ],
                )
                for name, indexes in by_topic(partitions).items()
            ],
        )
        return {
            (topic.name, part.partition_index): error_of(part.error_code) or int(part.offset)
            for topic in self._ask(request, address).topics
            for part in topic.partitions
        }

    # The coordinator -------------------------------------------------------------------------

    def _ask_coordinator(
        self,
        group_id: str,
        request: "messages.Request[ResponseT]",
        error_code_of: Callable[[ResponseT], int],
    ) -> tuple[int, Address, ResponseT]:
        """Return node id and address of a group's coordinator, and its response.

        It is looked up again while it moves or loads the group, until the API timeout.
        """
        deadline_ms = self._deadline_ms()
        find = messages.FindCoordinatorRequest(
            key=group_id, key_type=_GROUP_KEY_TYPE, coordinator_keys=[group_id]
        )
        while True:
            found = self._ask(find)
            coordinator = found.coordinators[0] if found.coordinators else found
            error_code = coordinator.error_code
            if not error_code:
                address = Address(coordinator.host, coordinator.port)
                response = self._ask(request, address)
                error_code = error_code_of(response)
                if error_code not in _RETRIED:
                    return coordinator.node_id, address, response
            if error_code not in _RETRIED or not self._sleep_before(deadline_ms, RETRY_BACKOFF_MS):
                raise ApiError(error_code, coordinator.error_message)


def _leader_id(topic: TopicDescription | ApiError, partition_index: int) -> int | ApiError:
    if isinstance(topic, ApiError):
        return topic
    for partition in topic.partitions:
        if partition.index == partition_index:
            return partition.leader_id
    return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _raise(error_code: int, message: str | None = None) -> None:
    error = error_of(error_code, message)
    if error is not None:
        raise error
