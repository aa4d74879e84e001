"""Transactions over several partitions."""

from client import Producer
from loadgen.clients.load_client import Event
from loadgen.clients.transaction_client import TransactionClient
from loadgen.clients.transaction_records import TransactionRecord


class Transactional(TransactionClient):
    """Each event is a transaction of `batches` batches, in partitions that follow each other."""

    async def fill(self, producer: Producer, event: Event) -> None:
        """See `TransactionClient`."""
        tenant = self.tenant
        partitions = len(self.run.topology.leaders[tenant.topic])
        for number in range(tenant.batches * tenant.records):
            record = TransactionRecord(event.event_id, number)
            partition = (self.partition + number // tenant.records) % partitions
            await self.send(producer, record, partition)
