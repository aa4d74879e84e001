"""InitProducerId: a new id each time, whatever the client remembers."""

from typing import Any

import pytest

from broker.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster

VERSIONS = range(7)


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
    return call(cluster, request, version, broker_id=broker_id)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_call_gives_a_new_id_with_epoch_0(version: int) -> None:
    cluster = make_cluster(2)
    answers = [init(cluster, version, broker_id=1 + number % 2) for number in range(10)]

    assert {answer.error_code for answer in answers} == {ErrorCode.NONE}
    assert {answer.producer_epoch for answer in answers} == {0}
    assert len({answer.producer_id for answer in answers}) == 10


@pytest.mark.parametrize("version", range(3, 7))
@pytest.mark.parametrize(("producer_id", "producer_epoch"), [(0, 0), (17, 3)])
def test_an_id_that_the_client_brings_is_ignored(
    version: int, producer_id: int, producer_epoch: int
) -> None:
    cluster = make_cluster(1)
    first = init(cluster, version)
    answer = init(cluster, version, producer_id=producer_id, producer_epoch=producer_epoch)

    assert (answer.error_code, answer.producer_epoch) == (ErrorCode.NONE, 0)
    assert answer.producer_id not in {first.producer_id, 17}


@pytest.mark.parametrize(("producer_id", "producer_epoch"), [(5, -1), (-1, 5)])
def test_half_an_identity_is_an_invalid_request(producer_id: int, producer_epoch: int) -> None:
    answer = init(make_cluster(1), 4, producer_id=producer_id, producer_epoch=producer_epoch)
    assert (answer.error_code, answer.producer_id) == (ErrorCode.INVALID_REQUEST, -1)


@pytest.mark.parametrize(
    ("transactional_id", "error_code"),
    [
        ("", ErrorCode.INVALID_REQUEST),
        ("tx", ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ],
)
def test_there_are_no_transactions_yet(transactional_id: str, error_code: ErrorCode) -> None:
    answer = init(make_cluster(1), 4, transactional_id=transactional_id)
    assert (answer.error_code, answer.producer_id) == (error_code, -1)
