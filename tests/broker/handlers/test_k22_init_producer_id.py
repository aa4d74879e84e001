"""InitProducerId: every request gets a new id."""

from struct import pack
from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from broker.handlers.k22_init_producer_id import handle_init_producer_id
from broker.produce.append import append_batch
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import make_cluster, make_context
from tests.broker.transactional_driver import TransactionDriver, transactional_cluster

VERSIONS = range(7)
FLEXIBLE_VERSIONS = range(2, 7)
EPOCH_MAX = 32767
KAFKAS_RULES = {"producer.state.batches": "5"}


def init(
    cluster: Cluster,
    version: int,
    *,
    transactional_id: str | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    broker_id: int = 1,
) -> Any:
    request = messages.InitProducerIdRequest(
        version=version,
        transactional_id=transactional_id,
        transaction_timeout_ms=60_000,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    context = make_context(ApiKey.INIT_PRODUCER_ID, version, broker_id=broker_id)
    decoded = messages.InitProducerIdRequest.decode(
        bytes(request.encode(version=version)), version=version
    )
    body = handle_init_producer_id(context, decoded, cluster)
    return messages.InitProducerIdResponse.decode(body, version=version)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_request_gets_a_new_producer_id_with_epoch_0(version: int) -> None:
    cluster = make_cluster(2)
    responses = [init(cluster, version, broker_id=1 + number % 2) for number in range(10)]

    assert {response.error_code for response in responses} == {ErrorCode.NONE}
    assert {response.producer_epoch for response in responses} == {0}
    assert len({response.producer_id for response in responses}) == 10


@pytest.mark.parametrize("version", range(3, 7))
@pytest.mark.parametrize(("producer_id", "producer_epoch"), [(0, 0), (17, 3)])
def test_the_producer_id_of_the_client_is_ignored(
    version: int, producer_id: int, producer_epoch: int
) -> None:
    cluster = make_cluster(1)
    first = init(cluster, version)
    response = init(cluster, version, producer_id=producer_id, producer_epoch=producer_epoch)

    assert (response.error_code, response.producer_epoch) == (ErrorCode.NONE, 0)
    assert response.producer_id not in {first.producer_id, 17}


@pytest.mark.parametrize(("producer_id", "producer_epoch"), [(5, -1), (-1, 5)])
def test_an_id_without_an_epoch_or_vice_versa_is_an_invalid_request(
    producer_id: int, producer_epoch: int
) -> None:
    response = init(make_cluster(1), 4, producer_id=producer_id, producer_epoch=producer_epoch)
    assert (response.error_code, response.producer_id) == (ErrorCode.INVALID_REQUEST, -1)


def test_an_empty_transactional_id_gets_invalid_request() -> None:
    response = init(make_cluster(1), 4, transactional_id="")
    assert (response.error_code, response.producer_id) == (ErrorCode.INVALID_REQUEST, -1)


@pytest.mark.parametrize("version", FLEXIBLE_VERSIONS)
def test_flexible_versions_have_the_window(version: int) -> None:
    cluster = make_cluster(1, **{"max.in.flight.sequence.number.per.connection": "258"})
    assert init(cluster, version).unknown_tags == {"_10000": b"\x00\x00\x01\x02"}


@pytest.mark.parametrize("version", VERSIONS)
def test_under_kafkas_rule_the_response_has_no_window(version: int) -> None:
    assert init(make_cluster(1, **KAFKAS_RULES), version).unknown_tags is None


@pytest.mark.parametrize("version", FLEXIBLE_VERSIONS)
def test_a_response_without_a_producer_id_has_no_window(version: int) -> None:
    response = init(make_cluster(1), version, transactional_id="")
    assert response.unknown_tags is None


@pytest.mark.parametrize("overrides", [{}, KAFKAS_RULES])
def test_a_producer_can_use_all_epochs_and_continue_with_a_new_id(
    overrides: dict[str, str],
) -> None:
    """Clients count epochs up themselves, to 32767; the broker only ever sees them grow."""
    cluster = make_cluster(1, **overrides)
    topic = cluster.create_topic("t", [(1,)], {})
    first = init(cluster, 4)

    def send(producer_id: int, producer_epoch: int, base_sequence: int) -> ErrorCode:
        batch = make_batch(
            b"v",
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
        )
        context = make_context(ApiKey.PRODUCE, 9)
        result = append_batch(context, cluster, topic, topic.partitions[0], batch, 0, len(batch))
        return ErrorCode(result.error_code)

    assert send(first.producer_id, 0, 0) == ErrorCode.NONE
    assert send(first.producer_id, EPOCH_MAX, 1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert send(first.producer_id, EPOCH_MAX, 0) == ErrorCode.NONE
    assert send(first.producer_id, EPOCH_MAX, 1) == ErrorCode.NONE
    assert send(first.producer_id, EPOCH_MAX - 1, 0) == ErrorCode.INVALID_PRODUCER_EPOCH

    second = init(cluster, 4, producer_id=first.producer_id, producer_epoch=EPOCH_MAX)
    assert (second.error_code, second.producer_epoch) == (ErrorCode.NONE, 0)
    assert second.producer_id != first.producer_id
    assert send(second.producer_id, 0, 0) == ErrorCode.NONE
    assert topic.partitions[0].log.log_end_offset == 4


def test_each_broker_of_a_cluster_advertises_its_own_window() -> None:
    window = "max.in.flight.sequence.number.per.connection"
    cluster = make_cluster(
        3, **{f"broker.1.{window}": "100", "broker.2.producer.state.batches": "5", window: "50"}
    )
    tagged_fields = [init(cluster, 4, broker_id=broker_id).unknown_tags for broker_id in (1, 2, 3)]
    assert tagged_fields == [{"_10000": pack(">i", 100)}, None, {"_10000": pack(">i", 50)}]

    cluster.set_config(cluster.config.with_dynamic(2, {"producer.state.batches": "1"}))
    assert init(cluster, 4, broker_id=2).unknown_tags == tagged_fields[2]


def test_errors_of_the_request_come_before_that_of_the_wrong_broker() -> None:
    cluster = transactional_cluster(2)
    coordinator = cluster.transaction_coordinator_id("tx")
    assert coordinator is not None
    driver = TransactionDriver(cluster, 3 - coordinator)
    assert driver.init()[0] == ErrorCode.NOT_COORDINATOR
    assert driver.init(timeout_ms=0)[0] == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert driver.init(timeout_ms=900_001)[0] == ErrorCode.INVALID_TRANSACTION_TIMEOUT
