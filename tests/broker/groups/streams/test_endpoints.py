"""The partitions at the endpoints of members."""

from typing import Any

from broker.errors import Refusal
from broker.groups.streams.endpoints import partitions_of
from broker.groups.streams.member import Endpoint
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import Topics
from tests.broker.groups.streams.driver import GROUP, REBALANCE_MS, StreamsDriver, renamed


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


def test_while_topics_are_missing_no_endpoints_can_be_sent() -> None:
    driver = StreamsDriver(Topics(store=4))
    joining: dict[str, Any] = {
        "member_epoch": 0,
        "rebalance_timeout_ms": REBALANCE_MS,
        "topology": driver.topology,
        "user_endpoint": Endpoint("a", 1),
    }

    refused = driver.send("a", **joining)

    assert refused == Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert driver.groups.table.get(GROUP) is None
    driver.join("b")
    assert driver.send("a", **joining) == refused
    assert driver.group.members.keys() == {"b"}


def test_members_without_an_endpoint_do_not_hear_of_others_while_topics_are_missing() -> None:
    driver = StreamsDriver()
    driver.join("a", user_endpoint=Endpoint("a", 1))
    driver.join("b")
    driver.settle("ab")
    epoch = driver.heartbeat("b").endpoint_epoch
    driver.topics.delete("t")
    driver.group.has_current_metadata = False

    heartbeat = {"member_epoch": driver.epochs["b"]}
    assert driver.send("b", endpoint_epoch=epoch - 1, **heartbeat) == Refusal(
        ErrorCode.UNKNOWN_SERVER_ERROR, None
    )
    assert not isinstance(driver.send("b", endpoint_epoch=epoch, **heartbeat), Refusal)


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
