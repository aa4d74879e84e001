"""Produce and Fetch requests for the rules that change records, and what becomes of them."""

from collections.abc import Sequence
from typing import Any

from broker.audit.comparison import Finding, audit_cluster
from broker.faults.rule import fault_rule
from broker.journal.lines import Entry
from protocol import messages
from protocol.errors import ErrorCode
from protocol.records import Record, has_valid_crc, read_header, read_records
from tests.batches import make_batch
from tests.broker.connection_driver import request_frame
from tests.broker.faults.faulty_clients import Clients
from tests.broker.faults.requests import TOPIC

PRODUCER_ID = 7


def clients_with(**rule: Any) -> Clients:
    clients = Clients(fault_rule(**rule), count=2, overrides={"audit.enable": "true"})
    clients.dispatcher.journal.is_enabled = True
    return clients


def send_batch(clients: Clients, batch: bytes, partition: int = 0) -> tuple[int, int]:
    """Send a batch; return the error code and the base offset that its producer gets."""
    topic_class = messages.ProduceRequest.TopicProduceData
    part = topic_class.PartitionProduceData(version=8, index=partition, records=batch)
    request = messages.ProduceRequest(
        version=8,
        acks=-1,
        timeout_ms=1000,
        topic_data=[topic_class(version=8, name=TOPIC, partition_data=[part])],
    )
    clients.written[0] = b""
    clients.send(request_frame(request, 8, 1))
    clients.dispatcher.acknowledgements.written(1)
    (response,) = clients.responses()
    (topic,) = messages.ProduceResponse.decode(response[4:], version=8).responses
    (result,) = topic.partition_responses
    return result.error_code, result.base_offset


def send(
    clients: Clients, *values: bytes, sequence: int = 0, codec: str = "none", partition: int = 0
) -> int:
    """Send values as an idempotent producer; return their base offset."""
    batch = make_batch(
        *values, producer_id=PRODUCER_ID, producer_epoch=0, base_sequence=sequence, codec=codec
    )
    error_code, base_offset = send_batch(clients, batch, partition)
    assert error_code in {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
    return base_offset


def stored(clients: Clients, partition: int = 0) -> list[Record]:
    """Return the records of a partition; the CRC of each batch is right."""
    log = clients.topic.partitions[partition].log
    batches = log.read(log.log_start_offset, 1 << 30, at_least_one=True)
    assert sum(map(len, batches)) == log.size_bytes
    return records_of(batches)


def records_of(batches: Sequence[bytes]) -> list[Record]:
    found: list[Record] = []
    for batch in batches:
        assert has_valid_crc(batch, 0, len(batch), read_header(batch, 0).crc)
        found += read_records(batch)
    return found


def findings(clients: Clients) -> list[Finding]:
    return audit_cluster(clients.cluster, clients.dispatcher.acknowledgements).comparison.findings


def fault_of(clients: Clients) -> str:
    lines = [line for line in clients.dispatcher.journal if isinstance(line, Entry)]
    return lines[-1].context.fault or ""
