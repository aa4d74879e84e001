"""Heartbeats: what they are checked for, and what they change."""

from typing import Any

import pytest

from broker.groups.consumer.group_state import ConsumerGroupState
from broker.groups.consumer.member import MemberState
from protocol.errors import ErrorCode
from protocol.releases import Release
from tests.broker.groups.consumer.classic_clients import T
from tests.broker.groups.consumer.driver import (
    CONSUMER_DEFAULTS,
    JOINED,
    REBALANCE_MS,
    ConsumerDriver,
    Topics,
)


def indexes(assignment: Any) -> set[int]:
    """The partition indexes of an assignment with one topic at most."""
    assert assignment is not None
    return {index for found in assignment.values() for index in found}


def state_of(driver: ConsumerDriver) -> ConsumerGroupState:
    return driver.group.state


# The request alone ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("member_id", "epoch", "fields", "message"),
    [
        (" ", 1, {}, "MemberId can't be empty."),
        ("", 0, {}, "MemberId can't be empty."),
        ("", -1, {"must_have_id": False}, "MemberId can't be empty."),
        ("m", 1, {"group_instance_id": ""}, "InstanceId can't be empty."),
        ("m", 1, {"rack_id": " "}, "RackId can't be empty."),
        ("m", -2, {}, "InstanceId can't be null."),
        ("m", -3, {}, "MemberEpoch is invalid."),
        ("m", 0, {}, "RebalanceTimeoutMs must be provided in first request."),
        ("m", 0, {"rebalance_timeout_ms": 1}, "TopicPartitions must be empty when (re-)joining."),
        (
            "m",
            0,
            {"rebalance_timeout_ms": 1, "owned_partitions": {}},
            (
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when"
                " (re-)joining."
            ),
        ),
    ],
)
def test_an_invalid_request_is_refused_with_kafkas_message(
    member_id: str, epoch: int, fields: dict[str, Any], message: str
) -> None:
    result = ConsumerDriver().heartbeat(member_id, epoch, **fields)
    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_REQUEST, message)


def test_an_assignor_that_the_broker_lacks_is_refused_with_a_list_of_those_it_has() -> None:
    result = ConsumerDriver().join("m", server_assignor="best")
    assert result.error_code is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert result.error_message == (
        "ServerAssignor best is not supported. Supported assignors: uniform, range."
    )


def test_only_a_member_that_joins_creates_a_group() -> None:
    driver = ConsumerDriver()
    result = driver.heartbeat("m", 1)
    assert result.error_code is ErrorCode.GROUP_ID_NOT_FOUND
    assert result.error_message == "Consumer group g not found."
    assert len(driver.groups.table) == 0


def test_a_refused_first_heartbeat_leaves_no_group_behind() -> None:
    driver = ConsumerDriver()
    driver.join("m", subscribed_topic_regex="(")
    assert len(driver.groups.table) == 0


def test_a_full_group_refuses_new_members_and_keeps_the_others() -> None:
    driver = ConsumerDriver(group_consumer_max_size=1)
    driver.join("a")
    result = driver.join("b")
    assert result.error_code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert "maximum capacity of 1 members" in (result.error_message or "")
    assert driver.heartbeat("a", JOINED).error_code is ErrorCode.NONE


# Epochs -----------------------------------------------------------------------------------------


def test_a_member_without_an_id_gets_one_in_version_0() -> None:
    driver = ConsumerDriver()
    assert driver.join("", must_have_id=False).member_id == "id1"
    assert list(driver.group.members) == ["id1"]


def test_the_first_member_gets_everything_and_its_next_heartbeats_change_nothing() -> None:
    driver = ConsumerDriver()
    joined = driver.join("a")
    assert (joined.member_epoch, joined.heartbeat_interval_ms) == (JOINED, 5000)
    assert indexes(joined.assignment) == {0, 1, 2, 3}
    driver.written()

    again = driver.heartbeat("a", JOINED)
    assert (again.member_epoch, again.assignment) == (JOINED, None)
    assert driver.written() == []


def test_a_request_with_every_field_gets_the_assignment_again() -> None:
    driver = ConsumerDriver()
    owned = driver.join("a").assignment
    result = driver.heartbeat(
        "a",
        JOINED,
        rebalance_timeout_ms=REBALANCE_MS,
        subscribed_topic_names=["t"],
        owned_partitions=owned,
    )
    assert result.assignment == owned


@pytest.mark.parametrize(("epoch", "size"), [(JOINED + 2, "greater"), (JOINED, "smaller")])
def test_a_wrong_epoch_is_fenced_and_the_member_stays(epoch: int, size: str) -> None:
    driver = ConsumerDriver()
    driver.join("a")
    driver.heartbeat("a", JOINED, subscribed_topic_names=["t", "u"])
    result = driver.heartbeat("a", epoch)
    assert result.error_code is ErrorCode.FENCED_MEMBER_EPOCH
    assert result.error_message == (
        f"The consumer group member has a {size} member epoch ({epoch}) than the one known by the"
        f" group coordinator ({JOINED + 1}). The member must abandon all its partitions and rejoin."
    )
    assert driver.group.members["a"].member_epoch == JOINED + 1


def test_a_member_with_an_epoch_does_not_join_again_before_kafka_4_2() -> None:
    driver = ConsumerDriver(release=(4, 1))
    driver.join("a")
    driver.heartbeat("a", 1, subscribed_topic_names=["t", "u"])
    assert driver.join("a").error_code is ErrorCode.FENCED_MEMBER_EPOCH
    assert driver.group.members["a"].member_epoch == 2


def test_a_member_joins_again_at_once_since_kafka_4_2_and_gets_what_it_had() -> None:
    driver = ConsumerDriver(release=(4, 2))
    owned = driver.join("a").assignment
    driver.heartbeat("a", 1, subscribed_topic_names=["t", "u"])
    again = driver.join("a", "t", "u")
    assert (again.error_code, again.member_epoch) == (ErrorCode.NONE, 2)
    assert again.assignment == owned
    assert driver.group.group_epoch == 2


def test_a_member_that_joins_again_has_revoked_everything() -> None:
    driver = ConsumerDriver(release=(4, 2))
    driver.join("a")
    driver.join("b")
    driver.heartbeat("a", 1, owned_partitions=driver.owned("a"))
    assert driver.group.members["a"].must_revoke
    again = driver.join("a")
    assert again.member_epoch == 2
    assert again.assignment is not None
    assert len(again.assignment[T]) == 2
    assert not driver.group.members["a"].must_revoke


def test_a_static_member_that_has_not_left_keeps_its_place_when_it_joins_again() -> None:
    driver = ConsumerDriver(release=(4, 2))
    driver.join("a", group_instance_id="i")
    again = driver.join("a", group_instance_id="i")
    assert again.error_code is ErrorCode.UNRELEASED_INSTANCE_ID


def test_the_previous_epoch_is_accepted_with_partitions_that_the_member_has() -> None:
    driver = ConsumerDriver()
    owned = driver.join("a").assignment
    driver.heartbeat("a", JOINED, subscribed_topic_names=["t", "u"])
    assert driver.group.members["a"].member_epoch == JOINED + 1

    assert driver.heartbeat("a", JOINED).error_code is ErrorCode.FENCED_MEMBER_EPOCH
    assert driver.heartbeat("a", JOINED, owned_partitions=owned).error_code is ErrorCode.NONE


def test_a_stranger_is_an_unknown_member() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    result = driver.heartbeat("b", JOINED)
    assert result.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    assert result.error_message == "Member b is not a member of group g."
    assert driver.heartbeat("b", -1).error_code is ErrorCode.UNKNOWN_MEMBER_ID


# Reconciliation ----------------------------------------------------------------------------------


def test_partitions_move_when_their_owner_has_revoked_them() -> None:
    driver = ConsumerDriver()
    owned = driver.join("a").assignment

    joined = driver.join("b")
    assert (joined.member_epoch, joined.assignment) == (JOINED + 1, {})
    assert driver.group.members["b"].state is MemberState.UNRELEASED_PARTITIONS

    revoking = driver.heartbeat("a", JOINED, owned_partitions=owned)
    assert (revoking.member_epoch, len(indexes(revoking.assignment))) == (JOINED, 2)
    assert driver.group.state is ConsumerGroupState.RECONCILING
    assert driver.heartbeat("b", JOINED + 1).assignment is None

    revoked = driver.heartbeat("a", JOINED, owned_partitions=revoking.assignment)
    assert revoked.member_epoch == JOINED + 1

    free = driver.heartbeat("b", JOINED + 1)
    assert indexes(free.assignment) | indexes(revoking.assignment) == {0, 1, 2, 3}
    assert state_of(driver) is ConsumerGroupState.STABLE


def test_a_member_that_leaves_frees_its_partitions_for_the_next_heartbeat_of_the_others() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    driver.join("b")
    left = driver.heartbeat("a", -1)
    assert (left.error_code, left.member_id, left.member_epoch) == (ErrorCode.NONE, "a", -1)
    assert driver.group.state is ConsumerGroupState.ASSIGNING

    result = driver.heartbeat("b", JOINED + 1)
    assert (result.member_epoch, indexes(result.assignment)) == (JOINED + 2, {0, 1, 2, 3})


def test_partitions_that_a_topic_gains_are_assigned_with_the_next_heartbeat() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    driver.topics.grow("t", 6)
    driver.change_topic("t")
    result = driver.heartbeat("a", JOINED)
    assert (result.member_epoch, indexes(result.assignment)) == (JOINED + 1, set(range(6)))


def test_a_topic_that_is_created_later_is_assigned_and_a_deleted_one_is_taken_away() -> None:
    driver = ConsumerDriver(Topics())
    driver.join("a")
    driver.topics.create("t", 2)
    driver.change_topic("t")
    assert indexes(driver.heartbeat("a", JOINED).assignment) == {0, 1}

    driver.topics.delete("t")
    driver.change_topic("t")
    revoking = driver.heartbeat("a", JOINED + 1)
    assert revoking.assignment == {}
    assert driver.heartbeat("a", JOINED + 1, owned_partitions={}).member_epoch == JOINED + 2


def test_most_members_decide_which_assignor_is_used() -> None:
    driver = ConsumerDriver(Topics(t=2, u=2))
    both = {"subscribed_topic_names": ["t", "u"]}
    driver.join("a", server_assignor="range", **both)
    driver.join("b", server_assignor="range", **both)
    driver.join("c", server_assignor="uniform", **both)
    assert driver.group.preferred_assignor("uniform") == "range"
    assert driver.sizes() == {"a": 2, "b": 2, "c": 0}


@pytest.mark.parametrize("release", [(4, 2), (4, 3)])
def test_a_member_may_stay_without_any_topic_and_has_epoch_1(release: Release) -> None:
    driver = ConsumerDriver(release=release)
    joined = driver.join("a", subscribed_topic_names=[])
    assert (joined.member_epoch, joined.assignment) == (1, {})
    assert driver.group.state is ConsumerGroupState.STABLE


# Static members ----------------------------------------------------------------------------------


def test_a_static_member_that_is_back_gets_its_partitions_with_a_new_id() -> None:
    driver = ConsumerDriver()
    owned = driver.join("a", group_instance_id="i").assignment
    assert driver.heartbeat("a", -2, group_instance_id="i").member_epoch == -2
    assert driver.group.group_epoch == JOINED

    back = driver.join("b", group_instance_id="i")
    assert (back.member_epoch, back.assignment) == (JOINED, owned)
    assert list(driver.group.members) == ["b"]

    fenced = driver.heartbeat("a", JOINED, group_instance_id="i")
    assert fenced.error_code is ErrorCode.FENCED_INSTANCE_ID
    assert fenced.error_message == "Static member a with instance id i was fenced by member b."


def test_an_instance_id_that_is_in_use_is_not_released() -> None:
    driver = ConsumerDriver()
    driver.join("a", group_instance_id="i")
    result = driver.join("b", group_instance_id="i")
    assert result.error_code is ErrorCode.UNRELEASED_INSTANCE_ID
    assert result.error_message == (
        "Static member b with instance id i cannot join the group because the instance id is owned"
        " by a member."
    )


def test_an_unknown_instance_and_a_leaver_with_another_id_are_refused() -> None:
    driver = ConsumerDriver()
    driver.join("a", group_instance_id="i")
    unknown = driver.heartbeat("a", JOINED, group_instance_id="j")
    assert unknown.error_message == "Instance id j is unknown."
    fenced = driver.heartbeat("b", -2, group_instance_id="i")
    assert fenced.error_code is ErrorCode.FENCED_INSTANCE_ID
    assert driver.heartbeat("a", -1, group_instance_id="i").error_code is ErrorCode.NONE
    assert driver.group.is_empty


# Regular expressions -----------------------------------------------------------------------------


def test_an_expression_is_resolved_after_the_request_and_assigned_with_the_next_one() -> None:
    driver = ConsumerDriver(Topics(orders=1, orders_old=2, payments=1))
    joined = driver.join("a", subscribed_topic_names=None, subscribed_topic_regex="orders.*")
    assert (joined.member_epoch, joined.assignment) == (JOINED - 1, {})

    driver.advance(0)
    result = driver.heartbeat("a", JOINED - 1)
    names = {driver.topics.name_of(topic_id) for topic_id in result.assignment or ()}
    assert (result.member_epoch, names) == (JOINED, {"orders", "orders_old"})


def test_an_invalid_expression_is_refused_in_re2js_words() -> None:
    result = ConsumerDriver().join("a", subscribed_topic_regex="orders[")
    assert result.error_code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert result.error_message == (
        "SubscribedTopicRegex `orders[` is not a valid regular expression: missing closing ]."
    )


def test_topics_that_are_created_later_are_found_ten_seconds_after_the_last_look() -> None:
    driver = ConsumerDriver(Topics(orders=1))
    driver.join("a", subscribed_topic_names=None, subscribed_topic_regex="o.*")
    driver.advance(0)
    driver.heartbeat("a", JOINED - 1)
    driver.topics.create("other", 1)

    driver.advance(10_000)
    driver.heartbeat("a", JOINED)
    driver.advance(0)
    assert driver.group.group_epoch == JOINED

    driver.advance(1)
    driver.heartbeat("a", JOINED)
    driver.advance(0)
    assert len(driver.heartbeat("a", JOINED).assignment or ()) == 2


def test_an_expression_is_looked_at_again_when_the_refresh_interval_is_over() -> None:
    interval_ms = CONSUMER_DEFAULTS["group.consumer.regex.refresh.interval.ms"]
    driver = ConsumerDriver(Topics(orders=1), group_consumer_session_timeout_ms=interval_ms * 2)
    driver.join("a", subscribed_topic_names=None, subscribed_topic_regex="o.*")
    driver.advance(0)
    driver.heartbeat("a", JOINED - 1)
    driver.written()
    driver.advance(interval_ms + 1)
    driver.heartbeat("a", JOINED)
    driver.advance(0)
    assert driver.written_names() == [("ConsumerGroupRegularExpression", "o.*")]


def test_an_expression_goes_with_its_last_member_and_a_second_one_shares_it() -> None:
    driver = ConsumerDriver(Topics(orders=2))
    regex = {"subscribed_topic_names": None, "subscribed_topic_regex": "o.*"}
    driver.join("a", **regex)
    driver.advance(0)
    driver.heartbeat("a", JOINED - 1)
    joined = driver.join("b", **regex)
    assert joined.member_epoch == JOINED + 1
    driver.heartbeat("a", -1)
    assert driver.group.resolved_regexes.keys() == {"o.*"}
    driver.heartbeat("b", JOINED + 1, subscribed_topic_regex="", subscribed_topic_names=["t"])
    assert not driver.group.resolved_regexes


INTERVAL: dict[str, Any] = {"group_consumer_assignment_interval_ms": 1000}


def test_a_target_is_computed_when_the_last_one_is_as_old_as_the_interval() -> None:
    driver = ConsumerDriver(release=(4, 3), **INTERVAL)
    first = driver.join("a")
    assert first.assignment == {T: frozenset(range(4))}
    driver.advance(999)
    waiting = driver.join("b")
    assert (waiting.member_epoch, waiting.assignment) == (first.member_epoch, {})
    assert driver.group.state.value == "Assigning"
    assert driver.heartbeat("a", 2, owned_partitions=first.assignment).assignment is None

    driver.advance(1)
    driver.heartbeat("b", 2, owned_partitions={})
    assert driver.group.state.value == "Reconciling"
    revoking = driver.heartbeat("a", 2, owned_partitions=first.assignment).assignment
    driver.heartbeat("a", 2, owned_partitions=revoking)
    driver.heartbeat("b", 3, owned_partitions={})
    assert (len(driver.owned("a")[T]), len(driver.owned("b")[T])) == (2, 2)
    times = [
        value.assignment_timestamp
        for key, value in driver.written()
        if "TargetAssignmentMetadata" in type(key).__name__
    ]
    assert times == [driver.now_ms - 1000, driver.now_ms]


def test_before_kafka_4_3_every_epoch_has_its_target_at_once_and_no_time() -> None:
    driver = ConsumerDriver(release=(4, 2), **INTERVAL)
    driver.join("a")
    assert driver.join("b").member_epoch == 2
    assert driver.group.assignment_epoch == 2
    times = {getattr(value, "assignment_timestamp", 0) for _, value in driver.written()}
    assert times == {0}


@pytest.mark.parametrize(("release", "waits"), [((4, 3), True), ((4, 4), False)])
def test_the_interval_ends_with_the_last_member_since_kafka_4_4(
    release: tuple[int, ...], waits: bool
) -> None:
    driver = ConsumerDriver(release=release, **INTERVAL)
    driver.join("a")
    driver.written()
    driver.heartbeat("a", -1)
    written = [key for key, _ in driver.written_names()]
    assert ("ConsumerGroupTargetAssignmentMetadata" in written) is not waits
    assert driver.join("b").assignment == ({} if waits else {T: frozenset(range(4))})


def test_a_member_that_ends_a_subscription_in_the_interval_revokes_its_partitions() -> None:
    driver = ConsumerDriver(Topics(t=2, u=2), release=(4, 3), **INTERVAL)
    joined = driver.join("a", "t", "u")
    left = driver.heartbeat(
        "a", 2, subscribed_topic_names=["t"], owned_partitions=joined.assignment
    )
    assert (left.member_epoch, left.assignment) == (2, {T: frozenset({0, 1})})
    assert driver.group.members["a"].state is MemberState.UNREVOKED_PARTITIONS
    assert driver.group.assignment_epoch == 2


def test_another_assignor_begins_an_epoch_since_kafka_4_4() -> None:
    epochs = {}
    for minor in (3, 4):
        driver = ConsumerDriver(release=(4, minor))
        driver.join("a")
        driver.heartbeat("a", 2, server_assignor="uniform")
        assert driver.group.group_epoch == 2
        epochs[minor] = driver.heartbeat("a", 2, server_assignor="range").member_epoch
    assert epochs == {3: 2, 4: 3}


def test_a_member_without_its_expression_begins_an_epoch_since_kafka_4_2() -> None:
    epochs = {}
    for minor in (1, 2):
        driver = ConsumerDriver(release=(4, minor))
        driver.join("a", subscribed_topic_regex="t")
        driver.advance(0)
        before = driver.group.group_epoch
        driver.heartbeat("a", 1, owned_partitions=driver.owned("a"), subscribed_topic_regex="")
        epochs[minor] = driver.group.group_epoch - before
    assert epochs == {1: 0, 2: 1}
