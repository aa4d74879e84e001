"""The topology of a group as it is described."""

from broker.groups.streams.topology_view import topology_view
from tests.broker.groups.consumer.driver import Topics
from tests.broker.groups.streams.driver import STATEFUL, StreamsDriver


def test_partition_counts_are_there_as_soon_as_the_group_can_work() -> None:
    driver = StreamsDriver(Topics(t=4), STATEFUL)
    driver.join("a")
    epoch, (sent,) = topology_view(driver.group)
    assert (epoch, sent.source_topics) == (1, ["t"])
    assert sent.state_changelog_topics[0].partition_count == 0
    driver.topics.create("store", 4)
    driver.heartbeat("a")
    _epoch, (configured,) = topology_view(driver.group)
    assert configured.state_changelog_topics[0].partition_count == 4
