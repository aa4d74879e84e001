"""Consume a topic, and produce one record for each of its records, with the consumed offsets."""

from client import ConsumerGroupMetadata, OffsetAndMetadata, Producer, TopicPartition
from client.errors import ConnectionLostError
from loadgen.clients.coordinator_client import CoordinatorClient, fetch_error
from loadgen.clients.fetch_responses import (
    NO_TOPIC_ID,
    READ_COMMITTED,
    committed_batches,
    fetch_request,
    fetched_partitions,
    next_offset,
)
from loadgen.clients.load_client import Event, Run
from loadgen.clients.transaction_client import TransactionClient
from loadgen.clients.transaction_records import TransactionRecord
from loadgen.plan.plan import Tenant
from loadgen.plan.run_spec import RunSpec
from protocol import messages
from protocol.errors import ErrorCode
from protocol.records import read_records


def group_of(spec: RunSpec, tenant: Tenant) -> str:
    """Return the group of a tenant; each run has its own, which begins where the run began."""
    return f"{spec.run_id}.{tenant.group}"


class ConsumeTransformProduce(TransactionClient, CoordinatorClient):
    """Each event is a transaction with the next `records` records of some partitions, at most.

    The clients of a tenant share the partitions of the source; their group has no members.
    """

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        count = len(run.topology.leaders.get(tenant.source, ()))
        self._partitions = range(run.spec.ordinal(number), count, tenant.clients)
        self._positions: dict[int, int] = {}
        """The offset to read next by partition; empty if the committed ones are not known."""
        self._consumed: dict[int, int] = {}
        """The offsets that the current transaction commits."""
        self._polls = 0

    @property
    def group(self) -> str:
        """See `CoordinatorClient`."""
        return group_of(self.run.spec, self.tenant)

    @property
    def consumed(self) -> str:
        """See `CoordinatorClient`."""
        return self.tenant.source

    def on_committed(self) -> None:
        """See `TransactionClient`."""
        self._positions |= self._consumed

    def on_repeated(self) -> None:
        """See `TransactionClient`."""
        self._positions.clear()

    async def fill(self, producer: Producer, event: Event) -> None:
        """See `TransactionClient`."""
        tenant = self.tenant
        outputs = len(self.run.topology.leaders[tenant.topic])
        self._consumed = {}
        sources = await self._consume(event)
        for number, (partition, offset) in enumerate(sources):
            record = TransactionRecord(event.event_id, number, partition, offset)
            await self.send(producer, record, partition % outputs)
        if tenant.transactions:
            await producer.send_offsets_to_transaction(
                {
                    TopicPartition(tenant.source, partition): OffsetAndMetadata(offset)
                    for partition, offset in self._consumed.items()
                },
                ConsumerGroupMetadata(self.group),
            )

    async def commit_without_transaction(self, event: Event) -> None:
        """See `TransactionClient`."""
        error_code = await self.commit_offsets(event, self._consumed)
        if error_code:
            raise ConnectionLostError(f"OffsetCommit: error {error_code}")

    async def _consume(self, event: Event) -> list[tuple[int, int]]:
        """Return partition and offset of the next records; poll until there are some.

        Raises:
            ClientError: there is no response, or the run ended.
        """
        while not self.run.is_over:
            if not self._positions:
                await self._find_positions(event)
            found = await self._poll(event)
            if found:
                return found
        raise ConnectionLostError("the run is over")

    async def _find_positions(self, event: Event) -> None:
        committed = await self.committed_offsets(event, self._partitions, require_stable=True)
        starts = self.run.topology.start_offsets.get(self.consumed, {})
        self._positions = {
            partition: max(committed.get(partition, -1), starts.get(partition, 0))
            for partition in self._partitions
        }

    async def _poll(self, event: Event) -> list[tuple[int, int]]:
        by_node: dict[int, dict[int, int]] = {}
        for partition, offset in self._positions.items():
            by_node.setdefault(self.leader(self.consumed, partition), {})[partition] = offset
        nodes = sorted(by_node)
        self._polls += 1
        node = nodes[self._polls % len(nodes)]
        connection = await self.connection_to(node)
        request = fetch_request(
            self.consumed,
            self.run.topology.topic_ids.get(self.consumed, NO_TOPIC_ID),
            by_node[node],
            isolation_level=READ_COMMITTED,
        )
        response = await self.send_request(
            event, connection, node, request, fetch_error, topic=self.consumed
        )
        records: list[tuple[int, int]] = []
        for found in fetched_partitions(response):
            if found.error_code == ErrorCode.NONE:
                records += self._take(found, self.tenant.records - len(records))
            elif found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                await self.refresh_leaders(connection, self.consumed)
        return records

    def _take(
        self,
        found: "messages.FetchResponse.FetchableTopicResponse.PartitionData",
        count_max: int,
    ) -> list[tuple[int, int]]:
        """Return the first records of a partition, and note the offset behind them."""
        partition = found.partition_index
        position = self._positions[partition]
        offsets = [
            record.offset
            for _, batch in committed_batches(found)
            for record in read_records(batch)
            if record.offset >= position
        ]
        taken = offsets[:count_max]
        if taken:
            is_all = len(taken) == len(offsets)
            self._consumed[partition] = (
                next_offset(found.records, position) if is_all else taken[-1] + 1
            )
        elif not offsets:
            # Only markers and aborted records: the next poll reads on behind them.
            self._positions[partition] = next_offset(found.records, position)
        return [(partition, offset) for offset in taken]
