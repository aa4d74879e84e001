"""KIP-758's floor over TCP: a batch that was never stored is never a duplicate."""

from typing import Any

import pytest

from mock_kafka import ConfigValue, MockKafka
from producer_state.rules import SEQUENCE_MAX
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.interop.raw_client import RawClient
from tests.produce_requests import produce_request

VERSION = 9


def produce(client: RawClient, sequence: int, *, producer_id: int = 7, epoch: int = 0) -> Any:
    """Produce one record to partition 0 of topic t; return the partition's response."""
    batch = make_batch(
        b"%d" % sequence, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )
    request = produce_request([(0, batch)], version=VERSION)
    response = client.ask(request, messages.ProduceResponse, ApiKey.PRODUCE, VERSION)
    (partition,) = response.responses[0].partition_responses
    return partition


def test_a_producer_id_refused_on_another_connection_was_not_stored() -> None:
    """KIP-936 refuses the first batch; the second arrives on another connection and is stored."""
    config: dict[str, ConfigValue] = {
        "client.quotas": "user=<default>,producer_ids_rate=1",
        "connections.max.idle.ms": -1,
        "log.retention.ms": -1,
    }
    with MockKafka(config=config) as kafka:
        kafka.create_topic("t")
        with (
            RawClient(kafka.bootstrap_servers) as first,
            RawClient(kafka.bootstrap_servers) as other,
        ):
            assert produce(first, 0, producer_id=6).error_code == ErrorCode.NONE
            assert produce(first, 0).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
            kafka.advance(seconds=3600)
            assert produce(other, 1).error_code == ErrorCode.NONE
            for client in (first, other):
                retried = produce(client, 0)
                assert retried.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            assert produce(other, 1).error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER
        assert [record.value for record in kafka.records("t")] == [b"0", b"1"]


@pytest.mark.parametrize("sequence", [SEQUENCE_MAX, SEQUENCE_MAX - 5_000_000])
def test_no_sequence_number_before_a_new_epoch_is_a_duplicate(sequence: int) -> None:
    with MockKafka() as kafka:
        kafka.create_topic("t")
        with RawClient(kafka.bootstrap_servers) as client:
            for epoch, next_sequence in ((0, 0), (1, 0), (1, 1)):
                stored = produce(client, next_sequence, epoch=epoch)
                assert stored.error_code == ErrorCode.NONE
            refused = produce(client, sequence, epoch=1)
            again = produce(client, 0, epoch=1)
        assert refused.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert (again.error_code, again.base_offset) == (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, -1)
        assert len(kafka.records("t")) == 3
