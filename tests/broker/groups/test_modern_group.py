"""What groups of consumers and of Kafka Streams have in common."""

from functools import partial

from broker.errors import Refusal
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import ConsumerMember
from broker.groups.modern_group import check_instance, unknown_member, unreleased_instance
from broker.groups.modern_rules import rules_of
from broker.groups.streams.group import StreamsGroup
from protocol.errors import ErrorCode


def test_the_first_epoch_is_that_of_the_release() -> None:
    for release, epoch in (((4, 2), 0), ((4, 3), 1)):
        rules = partial(rules_of, release)
        consumers, streams = ConsumerGroup("g", rules=rules), StreamsGroup("g", rules=rules)
        assert (consumers.group_epoch, consumers.assignment_epoch) == (epoch, epoch)
        assert (streams.group_epoch, streams.assignment_epoch) == (epoch, epoch)


def test_only_the_current_member_of_an_instance_is_accepted() -> None:
    group = ConsumerGroup("g")
    group.put_member(ConsumerMember("m", group_instance_id="i"))
    assert check_instance(group, "i", "m") is None
    assert check_instance(group, "i", "n") == Refusal(
        ErrorCode.FENCED_INSTANCE_ID,
        "Static member n with instance id i was fenced by member m.",
    )
    unknown = check_instance(group, "j", "m")
    assert unknown == Refusal(ErrorCode.UNKNOWN_MEMBER_ID, "Instance id j is unknown.")


def test_an_instance_is_free_when_its_member_is_gone() -> None:
    group = ConsumerGroup("g")
    group.put_member(ConsumerMember("m", group_instance_id="i"))
    group.remove_member("m")
    assert group.static_member("i") is None
    assert group.is_empty


def test_refusals_name_the_member_and_the_group() -> None:
    assert unknown_member(ConsumerGroup("g"), "m").message == (
        "Member m is not a member of group g."
    )
    current = ConsumerMember("m", group_instance_id="i")
    assert unreleased_instance(current, "i", "n").message == (
        "Static member n with instance id i cannot join the group because the instance id is"
        " owned by m member."
    )
