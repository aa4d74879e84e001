"""AddOffsetsToTxn: a group's partition of `__consumer_offsets` joins the transaction."""

import pytest

from broker.cluster.transactions import offsets_partition
from protocol.errors import ErrorCode
from tests.broker.transactional_driver import make_driver


@pytest.mark.parametrize("version", range(5))
def test_the_partition_of_the_group_is_added(version: int) -> None:
    driver = make_driver()
    _, producer = driver.init()
    assert driver.add_offsets(producer, "g", version) == ErrorCode.NONE
    (topic,) = driver.describe().topics
    assert (topic.topic, topic.partitions) == (
        "__consumer_offsets",
        [offsets_partition(driver.cluster, "g")],
    )
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert driver.add_offsets((producer.producer_id, 4), "g", version) == fenced
    driver.transactional_id = ""
    assert driver.add_offsets(producer, "g", version) == ErrorCode.INVALID_REQUEST
