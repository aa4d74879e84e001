"""Groups that a client may use or not in one request, and topics of groups that are hidden."""

from typing import Any

import pytest

from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.handlers.denial_driver import GROUP, DenialDriver, entry, error_codes

NONE = ErrorCode.NONE
DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS = 3, 6, 8, 10, 11
HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."


def versions(api_key: ApiKey, low: int = 0) -> range:
    route = ROUTES[api_key]
    return range(max(low, route.version_min), route.version_max + 1)


def codes(groups: Any) -> list[tuple[str, int]]:
    return [(group.group_id, group.error_code) for group in groups]


def committed_driver(*group_ids: str) -> DenialDriver:
    """Return a driver with these groups; nothing is allowed."""
    driver = DenialDriver("READ GROUP *", "READ TOPIC *")
    topic_class = messages.OffsetCommitRequest.OffsetCommitRequestTopic
    for group_id in group_ids:
        partition = entry(topic_class, "partitions", 8, partition_index=0, committed_offset=5)
        topic = topic_class(version=8, name="t", partitions=[partition])
        response = driver.ask(ApiKey.OFFSET_COMMIT, 8, group_id=group_id, topics=[topic])
        assert error_codes(response) == {NONE}
    driver.forbid_all()
    return driver


@pytest.mark.parametrize("version", versions(ApiKey.LIST_GROUPS))
def test_groups_that_may_not_be_described_are_not_listed(version: int) -> None:
    driver = committed_driver("g", "h", "other")

    def listed() -> list[str]:
        response = driver.ask(ApiKey.LIST_GROUPS, version)
        assert response.error_code == NONE
        assert driver.noted == []
        return sorted(group.group_id for group in response.groups)

    assert listed() == []
    driver.allow("READ GROUP h")
    assert listed() == ["h"]
    driver.allow("DESCRIBE CLUSTER")
    assert listed() == ["g", "h", "other"]


@pytest.mark.parametrize("version", versions(ApiKey.DELETE_GROUPS))
def test_denied_groups_are_not_deleted_and_come_last(version: int) -> None:
    driver = committed_driver("g", "h")
    driver.allow("DELETE GROUP h", "DELETE GROUP gone")
    response = driver.ask(
        ApiKey.DELETE_GROUPS, version, groups_names=["hidden", "g", "h", "gone", "g"]
    )
    results = codes(response.results)
    assert sorted(results[:2]) == [("gone", ErrorCode.GROUP_ID_NOT_FOUND), ("h", NONE)]
    assert results[2:] == [("hidden", DENIED), ("g", DENIED)]
    assert "g" in driver.cluster.groups.table
    assert "h" not in driver.cluster.groups.table


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS))
def test_denied_groups_come_first_and_say_nothing(version: int) -> None:
    driver = committed_driver("g", "h")
    driver.allow("DESCRIBE GROUP h", "DESCRIBE GROUP gone")
    response = driver.ask(ApiKey.DESCRIBE_GROUPS, version, groups=["h", "hidden", "gone", "g"])
    assert codes(response.groups[:2]) == [("hidden", DENIED), ("g", DENIED)]
    assert [group.group_state for group in response.groups[:2]] == ["", ""]
    gone = ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else NONE
    assert sorted(codes(response.groups[2:])) == [("gone", gone), ("h", NONE)]
    assert driver.noted == ["DESCRIBE GROUP hidden", "DESCRIBE GROUP g"]


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS, 3))
def test_authorized_operations_of_a_group_are_those_of_its_rules(version: int) -> None:
    driver = committed_driver("g")

    def operations() -> set[int]:
        response = driver.ask(
            ApiKey.DESCRIBE_GROUPS, version, groups=["g"], include_authorized_operations=True
        )
        assert driver.noted == []
        return set(response.groups[0].authorized_operations)

    driver.allow("DESCRIBE GROUP g")
    assert operations() == {DESCRIBE}
    driver.allow("READ GROUP g")
    assert operations() == {DESCRIBE, READ}
    driver.allow("ALL GROUP *")
    assert operations() == {READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS}


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR, 4))
def test_each_key_of_find_coordinator_is_checked(version: int) -> None:
    driver = DenialDriver("DESCRIBE GROUP g")
    response = driver.ask(
        ApiKey.FIND_COORDINATOR, version, key_type=0, coordinator_keys=["hidden", GROUP]
    )
    denied, found = response.coordinators
    assert (denied.key, denied.error_code, denied.node_id, denied.host) == (
        "hidden",
        DENIED,
        -1,
        "",
    )
    assert (found.key, found.error_code, found.node_id) == (GROUP, NONE, 1)
    assert denied.error_message == ""


def test_find_coordinator_says_why_where_the_whole_request_fails() -> None:
    driver = DenialDriver()
    old = driver.ask(ApiKey.FIND_COORDINATOR, 3, key_type=1, key="tx")
    assert old.error_message == "Transactional Id authorization failed."
    keys = ["not a share partition", "g:AAAAAAAAAAAAAAAAAAAAAQ:0"]
    response = driver.ask(ApiKey.FIND_COORDINATOR, 6, key_type=2, coordinator_keys=keys)
    assert [(found.error_code, found.error_message) for found in response.coordinators] == [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.")
    ] * 2
    assert driver.noted == ["CLUSTER_ACTION CLUSTER kafka-cluster"]


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
def test_a_denied_member_gets_no_id(version: int) -> None:
    driver = DenialDriver()
    response = driver.ask(ApiKey.JOIN_GROUP, version, group_id=GROUP, member_id="mine")
    assert (response.error_code, response.member_id, response.generation_id) == (DENIED, "", -1)
    assert response.protocol_name == (None if version >= 7 else "")
    assert GROUP not in driver.cluster.groups.table


# The consumer protocol ------------------------------------------------------------------------


def beat(driver: DenialDriver, version: int = 1, epoch: int = 0, **fields: Any) -> Any:
    """Send a heartbeat of the consumer m that has every field, or one with an epoch."""
    full = {"rebalance_timeout_ms": 60_000, "topic_partitions": []} if epoch == 0 else {}
    return driver.ask(
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        version,
        **({"group_id": GROUP, "member_id": "m", "member_epoch": epoch} | full | fields),
    )


def assigned(response: Any) -> list[Any]:
    return [found.topic_id for found in response.assignment.topic_partitions]


@pytest.mark.parametrize("version", versions(ApiKey.CONSUMER_GROUP_HEARTBEAT))
def test_a_consumer_may_describe_what_it_subscribes_to(version: int) -> None:
    driver = DenialDriver("READ GROUP g", "DESCRIBE TOPIC u")
    denied = beat(driver, version, subscribed_topic_names=["t", "u"])
    assert (denied.error_code, denied.error_message) == (TOPIC_DENIED, None)
    assert driver.noted == ["DESCRIBE TOPIC t"]
    assert GROUP not in driver.cluster.groups.table
    joined = beat(driver, version, subscribed_topic_names=["u"])
    assert assigned(joined) == [driver.topics[1].topic_id]


def test_an_expression_matches_the_topics_that_may_be_described() -> None:
    driver = DenialDriver("READ GROUP g", "DESCRIBE TOPIC u")
    joined = beat(driver, subscribed_topic_regex=".*")
    assert joined.error_code == NONE
    found = beat(driver, epoch=joined.member_epoch)
    assert assigned(found) == [driver.topics[1].topic_id]
    assert driver.noted == []
    # It is resolved again after ten seconds at the earliest, and when there are new topics.
    driver.allow("DESCRIBE TOPIC t")
    driver.cluster.create_topic("hidden", [(1,)], {})
    driver.now_ms += 11_000
    beat(driver, epoch=found.member_epoch)
    later = beat(driver, epoch=found.member_epoch)
    assert sorted(assigned(later)) == sorted(topic.topic_id for topic in driver.topics)


def test_the_shortcut_of_a_heartbeat_that_changes_nothing_asks_too() -> None:
    driver = DenialDriver("READ GROUP g", "DESCRIBE TOPIC u")
    joined = beat(driver, subscribed_topic_names=["u"])
    unchanged = {
        "group_id": GROUP,
        "member_id": "m",
        "member_epoch": joined.member_epoch,
        "subscribed_topic_names": None,
        "topic_partitions": None,
    }
    assert driver.take_shortcut(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **unchanged)
    driver.forbid_all()
    assert not driver.take_shortcut(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **unchanged)
    assert driver.noted == []
    assert driver.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, **unchanged).error_code == DENIED
    assert driver.noted == ["READ GROUP g"]


@pytest.mark.parametrize("version", versions(ApiKey.CONSUMER_GROUP_DESCRIBE))
def test_a_consumer_group_with_a_hidden_topic_is_not_described(version: int) -> None:
    driver = DenialDriver("READ GROUP g", "DESCRIBE TOPIC *")
    beat(driver, subscribed_topic_names=["t", "u"])
    driver.forbid_all()
    driver.allow("DESCRIBE GROUP g", "DESCRIBE GROUP gone", "DESCRIBE TOPIC u")

    def describe() -> Any:
        return driver.ask(
            ApiKey.CONSUMER_GROUP_DESCRIBE,
            version,
            group_ids=["gone", "g", "hidden"],
            include_authorized_operations=True,
        ).groups

    groups = describe()
    assert codes(groups[:1]) == [("hidden", DENIED)]
    by_id = {group.group_id: group for group in groups[1:]}
    assert by_id["gone"].error_code == ErrorCode.GROUP_ID_NOT_FOUND
    hidden = by_id["g"]
    assert (hidden.error_code, hidden.error_message) == (TOPIC_DENIED, HIDDEN_TOPICS)
    assert (hidden.members, hidden.group_state, hidden.group_epoch) == ([], "", 0)
    assert hidden.authorized_operations == -(2**31)

    driver.allow("DESCRIBE TOPIC t")
    described = next(group for group in describe() if group.group_id == "g")
    assert (described.error_code, len(described.members)) == (NONE, 1)
    assert described.authorized_operations == 1 << DESCRIBE


# Streams groups -------------------------------------------------------------------------------


def streams_beat(driver: DenialDriver, version: int, *names: str) -> Any:
    """Send the heartbeat of a member that joins with a topology."""
    topology_class = messages.StreamsGroupHeartbeatRequest.Topology
    subtopology_class = topology_class.Subtopology
    source, *sinks = names
    subtopology = subtopology_class(
        version=version,
        subtopology_id="0",
        source_topics=[source],
        repartition_sink_topics=sinks,
        source_topic_regex=[],
        state_changelog_topics=[],
        repartition_source_topics=[],
        copartition_groups=[],
    )
    return driver.ask(
        ApiKey.STREAMS_GROUP_HEARTBEAT,
        version,
        group_id=GROUP,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        topology=topology_class(version=version, epoch=0, subtopologies=[subtopology]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="p",
    )


@pytest.mark.parametrize("version", versions(ApiKey.STREAMS_GROUP_HEARTBEAT))
def test_a_streams_member_may_describe_the_topics_of_its_topology(version: int) -> None:
    driver = DenialDriver("READ GROUP g", "DESCRIBE TOPIC t")
    denied = streams_beat(driver, version, "t", "u")
    assert (denied.error_code, denied.error_message) == (TOPIC_DENIED, None)
    assert driver.noted == ["DESCRIBE TOPIC u"]
    # Internal topics and invalid names are found first.
    for name in ("__consumer_offsets", "in:valid"):
        invalid = streams_beat(driver, version, "u", name)
        assert invalid.error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert streams_beat(driver, version, "t").error_code == NONE


@pytest.mark.parametrize("version", versions(ApiKey.STREAMS_GROUP_DESCRIBE))
def test_a_streams_group_with_a_hidden_topic_is_not_described(version: int) -> None:
    driver = DenialDriver("READ GROUP g", "DESCRIBE TOPIC *")
    assert streams_beat(driver, 0, "t").error_code == NONE
    driver.forbid_all()
    driver.allow("DESCRIBE GROUP g")
    ask: dict[str, Any] = {"group_ids": ["g", "hidden"], "include_authorized_operations": True}
    denied, hidden = driver.ask(ApiKey.STREAMS_GROUP_DESCRIBE, version, **ask).groups
    assert codes([denied]) == [("hidden", DENIED)]
    assert (hidden.error_code, hidden.topology, hidden.members) == (TOPIC_DENIED, None, [])
    assert hidden.error_message == (
        "The described group uses topics that the client is not authorized to describe."
    )
    driver.allow("DESCRIBE TOPIC t")
    _denied, described = driver.ask(ApiKey.STREAMS_GROUP_DESCRIBE, version, **ask).groups
    assert (described.error_code, len(described.members)) == (NONE, 1)
    assert described.authorized_operations == 1 << DESCRIBE
