"""The partitions at the endpoints of members."""

from broker.groups.streams.endpoints import partitions_of
from broker.groups.streams.member import Endpoint
from tests.broker.groups.consumer.driver import Topics
from tests.broker.groups.streams.driver import StreamsDriver, renamed


def test_endpoints_are_sent_to_those_that_do_not_know_them() -> None:
    driver = StreamsDriver()
    driver.join("a", user_endpoint=Endpoint("a", 1))
    driver.join("b", user_endpoint=Endpoint("b", 2))
    driver.settle("ab")
    result = driver.heartbeat("a")
    assert result.endpoints is not None
    found = {entry.endpoint.host: entry.active for entry in result.endpoints}
    assert sorted([*found["a"]["t"], *found["b"]["t"]]) == [0, 1, 2, 3]
    assert [entry.endpoint.host for entry in result.endpoints] == ["b", "a"]
    known = driver.heartbeat("a", endpoint_epoch=result.endpoint_epoch)
    assert known.endpoints is None


def test_members_without_an_endpoint_are_in_no_list() -> None:
    driver = StreamsDriver()
    driver.join("a")
    result = driver.heartbeat("a", endpoint_epoch=-1)
    assert result.endpoints == ()


def test_a_task_reads_only_the_partitions_that_a_topic_has() -> None:
    driver = StreamsDriver(Topics(t=2))
    driver.join("a")
    driver.heartbeat("a")
    found = dict(partitions_of(driver.group, renamed({"0": [1, 2], "9": [0]}), driver.topics))
    assert found == {"t": [1]}
