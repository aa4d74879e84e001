"""A streams group is what its records say."""

from typing import Any

from broker.groups.loading import load_group
from broker.groups.modern_rules import rules_of
from broker.groups.streams.group import StreamsGroup
from broker.groups.streams.member import Endpoint
from broker.groups.streams.topology import CopartitionGroup, Subtopology, TopicInfo, Topology
from tests.broker.groups.loaded import loaded_records
from tests.broker.groups.streams.driver import GROUP, StreamsDriver

TOPOLOGY = Topology(
    3,
    {
        "0": Subtopology(
            "0",
            ("t",),
            state_changelog_topics=(TopicInfo("store", 4, 1, (("cleanup.policy", "compact"),)),),
            copartition_groups=(CopartitionGroup((0,)),),
        )
    },
)


def what_records_say(group: StreamsGroup) -> Any:
    return {
        "members": group.members,
        "targets": {member_id: group.target_of(member_id) for member_id in group.members},
        "epochs": (group.group_epoch, group.assignment_epoch, group.metadata_hash),
        "topology": (group.topology, group.validated_topology_epoch),
        "configs": dict(group.assignment_configs),
        "state": group.state,
    }


def test_members_go_on_with_a_group_that_was_loaded() -> None:
    driver = StreamsDriver(topology=TOPOLOGY)
    endpoint = Endpoint("localhost", 9)
    driver.join("a", user_endpoint=endpoint, client_tags={"zone": "x"})
    driver.join("b", group_instance_id="instance")
    for _ in range(3):
        driver.heartbeat("a")
        driver.heartbeat("b")
    known = driver.group
    assert len(known.members) == 2
    load_group(
        driver.groups.table,
        GROUP,
        loaded_records(driver.records),
        lambda: rules_of((4, 4)),
        driver.timers,
        driver.now_ms,
    )
    assert driver.group is not known
    assert what_records_say(driver.group) == what_records_say(known)
    epochs = dict(driver.epochs)
    driver.heartbeat("a")
    driver.heartbeat("b")
    assert driver.epochs == epochs
