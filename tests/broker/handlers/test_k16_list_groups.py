"""ListGroups on the wire."""

import pytest

from protocol.api_keys import ApiKey
from tests.broker.groups.group_cluster import GROUP, GroupCluster, versions
from tests.broker.handlers.streams_requests import heartbeat, subtopology
from tests.broker.handlers.streams_requests import make_cluster as streams_cluster


@pytest.mark.parametrize("version", versions(ApiKey.LIST_GROUPS))
def test_every_version_lists_groups_with_the_fields_of_its_schema(version: int) -> None:
    cluster = GroupCluster()
    cluster.stable_member()

    response = cluster.ask(ApiKey.LIST_GROUPS, version)

    (group,) = response.groups
    assert (response.error_code, group.group_id, group.protocol_type) == (0, GROUP, "consumer")
    assert group.group_state == ("Stable" if version >= 4 else "")
    assert group.group_type == ("classic" if version >= 5 else "")


def test_a_group_is_listed_only_by_its_coordinator() -> None:
    cluster = GroupCluster()
    names = {f"group-{number}" for number in range(20)}
    for name in names:
        cluster.commit(("t", 0, 1), group_id=name, broker_id=cluster.cluster.coordinator_id(name))

    listed = [
        group.group_id
        for broker_id in cluster.cluster.brokers
        for group in cluster.ask(ApiKey.LIST_GROUPS, 5, broker_id=broker_id).groups
    ]

    assert len(listed) == 20
    assert set(listed) == names


def test_groups_can_be_filtered_by_state_and_type() -> None:
    cluster = GroupCluster()
    cluster.stable_member()

    def count(**filters: list[str]) -> int:
        return len(cluster.ask(ApiKey.LIST_GROUPS, 5, **filters).groups)

    assert count(states_filter=["Stable"], types_filter=["classic"]) == 1
    assert count(states_filter=["Empty"]) == count(types_filter=["consumer"]) == 0


def test_the_state_of_a_streams_group_without_its_topic_is_spelled_otherwise_in_a_filter() -> None:
    cluster = streams_cluster()
    heartbeat(cluster, subtopologies=[subtopology(source_topics=["missing"])])

    def states(name: str) -> list[str]:
        groups = cluster.ask(ApiKey.LIST_GROUPS, 5, states_filter=[name]).groups
        return [group.group_state for group in groups]

    assert states("Not_Ready") == ["NotReady"]
    assert states("NotReady") == states("stable") == []
