"""A group of the consumer protocol is what its records say; see also the machine of its members."""

from uuid import UUID

import pytest

from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.loading import load_consumer_group
from broker.groups.modern_rules import default_rules
from protocol import coordinator_records as schema
from protocol.coordinator_records import encode_key
from protocol.data_messages import encode_data
from tests.broker.groups.consumer.driver import GROUP, ConsumerDriver
from tests.broker.groups.loaded import loaded_records


def test_a_member_without_an_assignment_has_joined_and_owns_nothing() -> None:
    driver = ConsumerDriver()
    driver.join("a")
    names = schema.ConsumerGroupCurrentMemberAssignmentKey
    current = encode_key(names(group_id=GROUP, member_id="a"))
    records = [record for record in driver.records if record[0] != current]
    group = ConsumerGroup(GROUP)
    load_consumer_group(group, loaded_records(records))
    (member,) = group.members.values()
    assert (member.member_epoch, dict(member.assigned_partitions)) == (0, {})
    assert group.target_of("a") == driver.group.target_of("a")


def test_partitions_without_epochs_have_that_of_the_member() -> None:
    driver = ConsumerDriver(release=(4, 1))
    driver.join("a")
    group = ConsumerGroup(GROUP)
    load_consumer_group(group, loaded_records(driver.records))
    (member,) = group.members.values()
    assert member.partition_epochs == driver.group.members["a"].partition_epochs
    (epochs,) = member.partition_epochs.values()
    assert epochs == dict.fromkeys(range(4), member.member_epoch)


@pytest.mark.parametrize(
    ("member_epoch", "known", "expected"),
    [(-2, [], 0), (5, [], 5), (5, [3], 5), (5, [3, 3], 3)],
    ids=["static-member-that-left", "none", "too-few", "as-many"],
)
def test_epochs_that_are_not_those_of_all_partitions_are_that_of_the_member(
    member_epoch: int, known: list[int], expected: int
) -> None:
    driver = ConsumerDriver()
    driver.join("a")
    value_class = schema.ConsumerGroupCurrentMemberAssignmentValue
    entry = value_class.TopicPartitions(topic_id=UUID(int=1), partitions=[0, 1])
    entry.assignment_epochs = known
    value = value_class(
        member_epoch=member_epoch,
        previous_member_epoch=1,
        state=0,
        assigned_partitions=[entry],
        partitions_pending_revocation=[],
    )
    key = schema.ConsumerGroupCurrentMemberAssignmentKey(group_id=GROUP, member_id="a")
    records = [*driver.records, (encode_key(key), encode_data(value, 0))]
    group = ConsumerGroup(GROUP)
    load_consumer_group(group, loaded_records(records))
    assert group.members["a"].partition_epochs == {UUID(int=1): {0: expected, 1: expected}}


def test_a_group_without_an_epoch_begins_with_the_first_one() -> None:
    group = ConsumerGroup(GROUP)
    value = schema.ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=7, assignment_timestamp=5
    )
    key = encode_key(schema.ConsumerGroupTargetAssignmentMetadataKey(group_id=GROUP))
    load_consumer_group(group, loaded_records([(key, encode_data(value, 0))]))
    assert group.group_epoch == default_rules().first_epoch
    assert (group.assignment_epoch, group.assignment_ms) == (7, 5)
