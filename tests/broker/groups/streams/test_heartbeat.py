"""Heartbeats of members of streams groups: checks, epochs, targets, statuses."""

import pytest

from broker.groups.streams.group import StreamsGroupState
from broker.groups.streams.requests import TaskOffset
from broker.groups.streams.statuses import StatusCode
from broker.groups.streams.tasks import NO_TASKS
from broker.groups.streams.topology import Subtopology, TopicInfo, Topology
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import Topics
from tests.broker.groups.streams.driver import (
    GROUP,
    STATEFUL,
    STATELESS,
    StreamsDriver,
    codes,
    refused,
    renamed,
)

ALL = [("0", 0), ("0", 1), ("0", 2), ("0", 3)]


def test_the_first_member_gets_all_tasks_at_once() -> None:
    driver = StreamsDriver()
    result = driver.join("a")
    assert driver.active("a") == ALL
    assert (result.member_epoch, result.statuses) == (2, ())
    assert (result.heartbeat_interval_ms, result.task_offset_interval_ms) == (5000, 60_000)
    assert result.acceptable_recovery_lag == 10_000
    assert driver.group.state is StreamsGroupState.STABLE


def test_a_task_is_released_before_the_second_member_gets_it() -> None:
    driver = StreamsDriver()
    driver.join("a")
    joined = driver.join("b")
    assert (joined.member_epoch, driver.active("b")) == (3, [])
    assert driver.group.state.value == "Reconciling"
    kept = driver.heartbeat("a")  # it hears of the revocation
    assert kept.member_epoch == 2
    assert len(driver.active("a")) == 2
    driver.heartbeat("a")  # it has released
    driver.heartbeat("b")
    assert sorted(driver.active("a") + driver.active("b")) == ALL
    assert driver.group.state is StreamsGroupState.STABLE
    assert driver.heartbeat("a").tasks is None


def test_a_group_without_its_source_topic_is_not_ready() -> None:
    driver = StreamsDriver(Topics())
    result = driver.join("a")
    assert codes(result) == [StatusCode.MISSING_SOURCE_TOPICS]
    assert driver.group.state is StreamsGroupState.NOT_READY
    driver.topics.create("t", 2)
    driver.groups.table.note_topic_change("t")
    assert codes(driver.heartbeat("a")) == []
    assert driver.active("a") == [("0", 0), ("0", 1)]


def test_a_new_internal_topic_makes_the_group_ready() -> None:
    driver = StreamsDriver(Topics(t=4), STATEFUL)
    result = driver.join("a")
    assert codes(result) == [StatusCode.MISSING_INTERNAL_TOPICS]
    assert result.missing_topics is not None
    assert result.missing_topics["store"].partition_count == 4
    driver.topics.create("store", 4)
    driver.groups.table.note_topic_change("store")
    driver.heartbeat("a")
    assert driver.active("a") == ALL


def test_a_group_without_its_topics_any_more_takes_its_tasks_back() -> None:
    driver = StreamsDriver()
    driver.join("a")
    driver.topics.delete("t")
    driver.groups.table.note_topic_change("t")
    assert codes(driver.heartbeat("a")) == [StatusCode.MISSING_SOURCE_TOPICS]
    assert driver.active("a") == []


def test_a_standby_task_is_on_another_process() -> None:
    driver = StreamsDriver(topology=STATEFUL, group_streams_num_standby_replicas=1)
    for member_id in "ab":
        driver.join(member_id)
    driver.settle("ab")
    assert driver.standby("a") == driver.active("b")
    assert driver.standby("b") == driver.active("a")


def test_another_number_of_standby_replicas_begins_a_new_epoch() -> None:
    driver = StreamsDriver(topology=STATEFUL)
    for member_id in "ab":
        driver.join(member_id)
    driver.settle("ab")
    driver.groups.table.config = {
        **driver.groups.table.config,
        "group.streams.num.standby.replicas": 1,
    }
    driver.settle("ab")
    assert driver.standby("a") == driver.active("b")


def test_other_tags_begin_a_new_epoch_and_move_no_task() -> None:
    """Kafka's sticky assignor gets the tags and does not read them."""
    driver = StreamsDriver(topology=STATEFUL, group_streams_num_standby_replicas=1)
    for member_id in "ab":
        driver.join(member_id)
    driver.settle("ab")
    before, epoch = dict(driver.tasks), driver.group.group_epoch
    driver.take_records()
    driver.groups.table.config = {
        **driver.groups.table.config,
        "group.streams.rack.aware.assignment.tags": ("zone", "cluster"),
    }
    driver.settle("ab")
    assert (driver.tasks, driver.group.group_epoch) == (before, epoch + 1)
    (written,) = (v for name, v in driver.take_records() if name == "StreamsGroupMetadata")
    configs = {config.key: config.value for config in written.last_assignment_configs}
    assert configs["rack.aware.assignment.tags"] == "zone,cluster"


def test_a_second_topology_is_refused_and_an_older_one_is_stale() -> None:
    driver = StreamsDriver()
    driver.join("a")
    other = Topology(2, {"0": Subtopology("0", ("t", "u"))})
    result = driver.send(
        "b",
        member_epoch=0,
        rebalance_timeout_ms=1,
        topology=other,
        active=NO_TASKS,
        standby=NO_TASKS,
        warmup=NO_TASKS,
    )
    assert refused(result) == (
        ErrorCode.INVALID_REQUEST,
        "Topology updates are not supported yet.",
    )
    stale = driver.join("c", topology=Topology(0, STATELESS.subtopologies))
    assert codes(stale) == [StatusCode.STALE_TOPOLOGY]
    assert stale.statuses[0].detail == (
        "The member's topology epoch 0 is behind the group's topology epoch 1."
    )


def test_a_topology_that_cannot_work_is_refused() -> None:
    driver = StreamsDriver(topology=Topology(1, {"0": Subtopology("0")}))
    result = driver.send("a", member_epoch=0, topology=driver.topology)
    assert refused(result)[0] is ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert GROUP not in driver.groups.table


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ({"1": [0]}, "Subtopology 1 does not exist in the topology."),
        (
            {"0": [4]},
            "Task 4 for subtopology 0 is invalid. Number of tasks for this subtopology: 4",
        ),
    ],
)
def test_a_member_reports_tasks_that_there_are(tasks: dict[str, list[int]], message: str) -> None:
    driver = StreamsDriver()
    driver.join("a")
    for role in ("active", "standby", "warmup"):
        fields = {"active": NO_TASKS, "standby": NO_TASKS, "warmup": NO_TASKS}
        fields[role] = renamed(tasks)
        result = driver.send("a", member_epoch=2, **fields)
        assert refused(result) == (ErrorCode.INVALID_REQUEST, message)


def test_a_member_may_be_one_epoch_behind_with_tasks_that_it_has() -> None:
    driver = StreamsDriver()
    driver.join("a")
    driver.join("b")
    before = driver.tasks["a"]
    driver.settle("ab")
    driver.heartbeat("a", member_epoch=2)
    fenced = driver.send(
        "a", member_epoch=2, active=before.active, standby=NO_TASKS, warmup=NO_TASKS
    )
    assert refused(fenced)[0] is ErrorCode.FENCED_MEMBER_EPOCH
    assert refused(driver.send("a", member_epoch=9))[0] is ErrorCode.FENCED_MEMBER_EPOCH


def test_who_is_no_member_is_unknown() -> None:
    driver = StreamsDriver()
    result = driver.send("a", member_epoch=1)
    assert refused(result) == (ErrorCode.GROUP_ID_NOT_FOUND, "Streams group g not found.")
    assert refused(driver.send("a", member_epoch=-1))[1] == "Group g not found."
    driver.join("a")
    result = driver.send("b", member_epoch=1)
    assert refused(result) == (ErrorCode.UNKNOWN_MEMBER_ID, "Member b is not a member of group g.")


def test_a_full_group_takes_no_more_members() -> None:
    driver = StreamsDriver(group_streams_max_size=1)
    driver.join("a")
    result = driver.send("b", member_epoch=0, topology=STATELESS)
    assert refused(result) == (
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        "The streams group has reached its maximum capacity of 1 members.",
    )
    driver.join("a")


def test_a_shutdown_reaches_all_members_until_the_last_has_left() -> None:
    driver = StreamsDriver()
    driver.join("a")
    driver.join("b")
    driver.heartbeat("a", shutdown_application=True)
    result = driver.heartbeat("b")
    assert codes(result) == [StatusCode.SHUTDOWN_APPLICATION]
    assert result.statuses[0].detail.startswith("Streams group member a encountered a fatal error")
    for member_id in "ab":
        driver.send(member_id, member_epoch=-1)
    assert codes(driver.join("c")) == []


def test_members_without_the_tags_of_racks_are_told_in_version_1() -> None:
    driver = StreamsDriver(group_streams_rack_aware_assignment_tags=("zone", "cluster"))
    result = driver.join("a", client_tags={"zone": "z"})
    assert codes(result) == [StatusCode.MISSING_CLIENT_TAGS]
    assert "assignment: [cluster]. Configure them" in result.statuses[0].detail
    assert codes(driver.heartbeat("a", api_version=0)) == []


def test_the_first_assignment_waits_for_more_members() -> None:
    driver = StreamsDriver(group_streams_initial_rebalance_delay_ms=3000)
    joined = driver.join("a")
    assert codes(joined) == [StatusCode.ASSIGNMENT_DELAYED]
    assert driver.group.state is StreamsGroupState.ASSIGNING
    driver.advance(2999)
    driver.join("b")
    assert codes(driver.heartbeat("a")) == [StatusCode.ASSIGNMENT_DELAYED]
    driver.advance(1)
    driver.settle("ab")
    assert (len(driver.active("a")), len(driver.active("b"))) == (2, 2)
    assert driver.group.assignment_epoch == driver.group.group_epoch


def test_the_next_assignment_waits_for_its_interval() -> None:
    driver = StreamsDriver(group_streams_assignment_interval_ms=1000)
    driver.join("a")
    driver.advance(999)
    assert codes(driver.join("b")) == [StatusCode.ASSIGNMENT_DELAYED]
    driver.advance(1)
    driver.settle("ab")
    assert len(driver.active("b")) == 2


def test_task_offsets_are_kept_until_others_come() -> None:
    driver = StreamsDriver(topology=STATEFUL)
    driver.join("a")
    offsets = [TaskOffset("0", 1, 5)]
    driver.heartbeat("a", task_offsets=offsets)
    driver.heartbeat("a", task_end_offsets=[TaskOffset("0", 1, 7)])
    assert driver.group.reported_offsets["a"] == (
        (TaskOffset("0", 1, 5),),
        (TaskOffset("0", 1, 7),),
    )
    twice = driver.send("a", member_epoch=2, task_offsets=offsets * 2)
    assert refused(twice)[0] is ErrorCode.INVALID_REQUEST
    driver.send("a", member_epoch=-1)
    assert driver.group.reported_offsets == {}


def test_a_static_member_that_comes_back_gets_its_tasks_back() -> None:
    driver = StreamsDriver()
    driver.join("a", group_instance_id="i")
    driver.join("b")
    driver.settle("ab")
    tasks = driver.active("a")
    left = driver.send("a", member_epoch=-2, group_instance_id="i")
    assert getattr(left, "member_epoch", None) == -2
    driver.join("a2", group_instance_id="i", process_id="process-a")
    assert driver.active("a2") == tasks
    assert list(driver.group.members) == ["b", "a2"]
    fenced = driver.send("a", member_epoch=1, group_instance_id="i")
    assert refused(fenced)[0] is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_member_that_has_not_left_is_not_replaced() -> None:
    driver = StreamsDriver()
    driver.join("a", group_instance_id="i")
    result = driver.send("b", member_epoch=0, group_instance_id="i", topology=STATELESS)
    assert refused(result)[0] is ErrorCode.UNRELEASED_INSTANCE_ID
    unknown = driver.send("b", member_epoch=1, group_instance_id="j")
    assert refused(unknown) == (ErrorCode.UNKNOWN_MEMBER_ID, "Instance id j is unknown.")


def test_a_repartition_topic_links_subtopologies() -> None:
    topology = Topology(
        1,
        {
            "0": Subtopology("0", ("t",), repartition_sink_topics=("r",)),
            "1": Subtopology("1", repartition_source_topics=(TopicInfo("r"),)),
        },
    )
    driver = StreamsDriver(Topics(t=2, r=2), topology)
    driver.join("a")
    assert driver.active("a") == [("0", 0), ("0", 1), ("1", 0), ("1", 1)]
