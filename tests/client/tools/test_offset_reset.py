"""Partitions in arguments; `test_groups` tests where offsets are put."""

import pytest

from client.errors import ApiError
from client.tools.offset_reset import partitions_of_topics
from client.tools.session import ToolError
from tests.client.scripted import admin_of, metadata


def test_partitions_are_named_or_those_of_the_topic_once_each() -> None:
    admin, _peer = admin_of(metadata(("t", 2)))
    assert partitions_of_topics(admin, ["a:3,1", "t", "t:1"]) == [
        ("a", 3),
        ("a", 1),
        ("t", 0),
        ("t", 1),
    ]


def test_a_partition_that_is_no_number_is_an_error() -> None:
    admin, _peer = admin_of()
    with pytest.raises(ToolError, match="expected TOPIC or TOPIC:0,1,2"):
        partitions_of_topics(admin, ["t:0,x"])


def test_a_missing_topic_is_an_error_with_its_name() -> None:
    response = metadata(("t", 0))
    response.topics[0].error_code = 3
    admin, _peer = admin_of(response)
    with pytest.raises(ApiError, match="topic t: UNKNOWN_TOPIC_OR_PARTITION"):
        partitions_of_topics(admin, ["t"])
