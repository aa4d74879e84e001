"""DescribeTransactions: the state of transactional ids."""

from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS
from tests.broker.transactional_driver import make_driver


def test_a_transaction_is_described() -> None:
    driver = make_driver()
    _, producer = driver.init(timeout_ms=1234)
    empty = driver.describe()
    assert (empty.transaction_state, empty.transaction_start_time_ms) == ("Empty", -1)
    driver.now_ms = NOW_MS + 7
    driver.add(producer, 1)
    found = driver.describe()
    assert (found.producer_id, found.producer_epoch) == producer
    assert (found.transaction_state, found.transaction_timeout_ms) == ("Ongoing", 1234)
    assert found.transaction_start_time_ms == NOW_MS + 7
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("t", [1])]


def test_unknown_ids_have_their_error() -> None:
    driver = make_driver()
    assert driver.describe().error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    driver.transactional_id = ""
    assert driver.describe().error_code == ErrorCode.INVALID_REQUEST
