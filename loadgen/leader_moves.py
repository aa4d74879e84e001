"""Move leaders by Kafka's own API, as its reassignment and leader election tools do.

The new leader becomes the first replica of the partition, which is its preferred leader (KIP-455),
and an election of preferred leaders (KIP-460) makes it lead.
"""

from collections.abc import Sequence

from client import clock
from client.addresses import addresses_of
from client.admin import Admin
from client.errors import ApiError, ClientError, error_of
from client.resources import Address, PartitionDescription
from client.transport import SocketTransport
from loadgen.clients.connection_settings import REQUEST_TIMEOUT_MS, security_of_tenant
from loadgen.command_error import CommandError
from loadgen.plan.plan import Plan
from protocol import messages
from protocol.errors import ErrorCode

_PREFERRED = 0


class LeaderMoveError(CommandError):
    """A leader cannot be moved; the message is one line."""


class KafkaLeaders:
    """The leaders of a cluster, as its own API shows and moves them."""

    def __init__(self, plan: Plan, bootstrap_servers: str) -> None:
        """Use the cluster with the login of the plan's first tenant."""
        self._plan, self._bootstrap = plan, addresses_of(bootstrap_servers)

    def replicas(self, topic: str, partition: int) -> tuple[int, ...]:
        """Return the brokers that may lead a partition; the first one is the preferred leader.

        Raises:
            LeaderMoveError: there is no such partition, or no broker responds.
        """
        return self._described(topic, partition).replica_ids

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the leader of a partition; None if it has none.

        Raises:
            LeaderMoveError: there is no such partition, or no broker responds.
        """
        leader_id = self._described(topic, partition).leader_id
        return None if leader_id < 0 else leader_id

    def move_leader(self, topic: str, partition: int, node_id: int | None) -> None:
        """Make a replica the leader of a partition, and its preferred one.

        Raises:
            LeaderMoveError: the broker is no replica in sync, the cluster refuses, or no broker
                responds.
        """
        described = self._described(topic, partition)
        replicas, in_sync = described.replica_ids, described.isr_ids
        if node_id is None or node_id not in replicas:
            raise LeaderMoveError(
                f"broker {node_id} is no replica of {topic}-{partition}, which has {list(replicas)}"
            )
        if node_id not in in_sync:
            raise LeaderMoveError(
                f"broker {node_id} is not in sync with {topic}-{partition}: {list(in_sync)} are"
            )
        others = [replica for replica in replicas if replica != node_id]
        try:
            with self._transport() as transport:
                cluster = self._admin(transport).describe_cluster()
                controller = cluster.brokers[cluster.controller_id]
                _reorder(transport, controller, topic, partition, [node_id, *others])
                _elect(transport, controller, topic, partition)
        except ClientError as error:
            raise LeaderMoveError(f"{topic}-{partition} got no other leader: {error}") from error

    def _described(self, topic: str, partition: int) -> PartitionDescription:
        try:
            with self._transport() as transport:
                found = self._admin(transport).describe_topics([topic])[topic]
        except ClientError as error:
            raise LeaderMoveError(f"{topic}: {error}") from error
        if isinstance(found, ApiError):
            raise LeaderMoveError(f"{topic}: {found}")
        for description in found.partitions:
            if description.index == partition:
                return description
        raise LeaderMoveError(f"{topic!r} has no partition {partition}")

    def _admin(self, transport: SocketTransport) -> Admin:
        return Admin(self._bootstrap, transport, now_ms=clock.now_ms, sleep_ms=clock.sleep_ms)

    def _transport(self) -> SocketTransport:
        security = security_of_tenant(self._plan.target, self._plan.tenants[0])
        return SocketTransport("mock-kafka-load", security, REQUEST_TIMEOUT_MS)


def _reorder(
    transport: SocketTransport,
    controller: Address,
    topic: str,
    partition: int,
    replicas: Sequence[int],
) -> None:
    topic_class = messages.AlterPartitionReassignmentsRequest.ReassignableTopic
    row = topic_class.ReassignablePartition(partition_index=partition, replicas=list(replicas))
    request = messages.AlterPartitionReassignmentsRequest(
        topics=[topic_class(name=topic, partitions=[row])], timeout_ms=REQUEST_TIMEOUT_MS
    )
    response = transport.ask(controller, request)
    _raise_for(response.error_code, response.error_message)
    for found in response.responses:
        for result in found.partitions:
            _raise_for(result.error_code, result.error_message)


def _elect(transport: SocketTransport, controller: Address, topic: str, partition: int) -> None:
    row = messages.ElectLeadersRequest.TopicPartitions(topic=topic, partitions=[partition])
    request = messages.ElectLeadersRequest(
        election_type=_PREFERRED, topic_partitions=[row], timeout_ms=REQUEST_TIMEOUT_MS
    )
    response = transport.ask(controller, request)
    _raise_for(response.error_code, None)
    for found in response.replica_election_results:
        for result in found.partition_result:
            if result.error_code != ErrorCode.ELECTION_NOT_NEEDED:
                _raise_for(result.error_code, result.error_message)


def _raise_for(error_code: int, message: str | None) -> None:
    error = error_of(error_code, message)
    if error is not None:
        raise error
