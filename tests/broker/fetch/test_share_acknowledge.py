"""Acknowledgements in requests."""

import pytest

from broker.fetch.share_acknowledge import is_member_id
from protocol.errors import ErrorCode
from tests.broker.share_driver import ACCEPT, ShareDriver, member_id


@pytest.mark.parametrize("text", [None, "", "m", "x" * 25, "not a uuid at all!!!!!", "é" * 22])
def test_a_member_id_that_is_no_uuid_is_refused(text: str | None) -> None:
    assert not is_member_id(text)


def test_a_member_id_of_kafka_is_accepted() -> None:
    assert is_member_id(member_id(1))


def test_malformed_acknowledgements_are_refused_and_change_nothing() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.produce(b"a", b"b")
    driver.acquire(1)

    assert driver.acknowledge_code(1, (1, 0, [ACCEPT])) == ErrorCode.INVALID_REQUEST
    assert driver.acknowledge_code(1, (0, 1, [9])) == ErrorCode.INVALID_REQUEST
    assert driver.acknowledge_code(1, (0, 1, [ACCEPT])) == ErrorCode.NONE


def test_a_partition_that_was_not_fetched_from_this_broker_is_unknown() -> None:
    driver = ShareDriver()
    driver.join(1)
    driver.acquire(1)
    driver.cluster.share.leaders[1].drop_group("g", driver.now_ms)

    assert driver.acknowledge_code(1, (0, 0, [ACCEPT])) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
