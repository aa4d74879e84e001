"""Subscriptions and assignments of members of the classic protocol."""

from uuid import UUID

import pytest

from broker.groups.consumer.embedded import (
    CustomAssignorError,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from protocol.codec import DecodeError
from protocol.consumer_protocol import decode_assignment as decode_by_name
from protocol.consumer_protocol import encode_assignment as encode_by_name
from protocol.consumer_protocol import encode_subscription
from protocol.data_messages import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    encode_data,
)
from tests.broker.groups.consumer.driver import Topics

TOPICS = Topics(t=2)
T = UUID(int=1)


def test_a_subscription_has_topics_and_in_later_versions_owned_partitions_and_a_rack() -> None:
    entry = ConsumerProtocolSubscription.TopicPartition
    subscription = ConsumerProtocolSubscription(
        topics=["t", "u"],
        owned_partitions=[entry(topic="t", partitions=[1]), entry(topic="gone", partitions=[0])],
        rack_id="r",
    )
    decoded = decode_subscription(encode_data(subscription, 3), TOPICS)
    assert decoded.topic_names == {"t", "u"}
    assert (decoded.owned_partitions, decoded.rack_id) == ({T: frozenset({1})}, "r")
    oldest = decode_subscription(encode_subscription(["t"]), TOPICS)
    assert (oldest.owned_partitions, oldest.rack_id) == ({}, None)


def test_an_assignment_is_read_by_topic_id_and_written_by_name() -> None:
    data = encode_by_name({"t": [0, 1], "gone": [0]})
    assignment = decode_assignment(data, TOPICS)
    assert assignment == {T: frozenset({0, 1})}
    encoded = encode_assignment({**assignment, UUID(int=9): frozenset({0})}, data, TOPICS)
    assert decode_by_name(encoded) == {"t": [0, 1]}
    assert decode_assignment(b"", TOPICS) == {}


@pytest.mark.parametrize(
    ("subscription", "version"), [(b"\0\1", 1), (b"\0\x09", 3), (b"\xff\xff", 0), (b"", 0)]
)
def test_an_assignment_has_the_version_of_the_subscription(
    subscription: bytes, version: int
) -> None:
    assert encode_assignment({}, subscription, TOPICS)[:2] == bytes([0, version])


def test_bytes_that_are_none_and_the_data_of_custom_assignors_are_errors() -> None:
    with pytest.raises(DecodeError):
        decode_subscription(b"meta", TOPICS)
    custom = ConsumerProtocolAssignment(assigned_partitions=[], user_data=b"x")
    with pytest.raises(CustomAssignorError):
        decode_assignment(encode_data(custom, 0), TOPICS)
