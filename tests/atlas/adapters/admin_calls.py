"""Every call of an admin client, with the adapter of a library in Python."""

from collections.abc import Iterator
from typing import Any

import pytest

from atlas.lane import Lane
from atlas.situation import Topic
from atlas.warm_up import plain
from tests.atlas.plain_runs import run

CALLS: dict[str, dict[str, Any]] = {
    "delete_topic": {"topic": "orders"},
    "create_partitions": {"topic": "orders", "partitions": 2},
    "describe_topic": {"topic": "orders"},
    "list_topics": {},
    "describe_configs": {"topic": "orders"},
    "alter_config": {"topic": "orders", "config": {"retention.ms": 1000}},
    "list_groups": {},
    "describe_group": {"group": "billing"},
    "delete_group": {"group": "billing"},
    "delete_records": {"topic": "orders", "offset": 1},
    "describe_cluster": {},
}


class AdminCallTests:
    """Tests of `client`, which lacks the calls in `lacking`.

    `error` is the library's name and the class of TOPIC_ALREADY_EXISTS.
    """

    client: str
    error: tuple[str, str]
    lacking: frozenset[str] = frozenset()

    @pytest.fixture(scope="class")
    @classmethod
    def lane(cls) -> Iterator[Lane]:
        lane = Lane(cls.client)
        yield lane
        lane.close()

    @pytest.mark.parametrize("call", CALLS)
    def test_an_admin_client_has_the_call(self, lane: Lane, call: str) -> None:
        given = plain(
            "admin",
            arguments={"call": call, **CALLS[call]},
            topics={"orders": Topic()},
            records={"orders": 4},
        )
        result = run(lane, given)
        if call in self.lacking:
            assert (result.cell, result.reasons) == ("unsupported", (f"it has no {call}",))
            return
        assert result.manners.reported == "success", result.manners
        assert result.manners.usable

    def test_an_error_is_that_of_the_library(self, lane: Lane) -> None:
        seen = run(lane, plain("create_topic", arguments={"topic": "orders"})).manners
        assert (seen.error, seen.reported) == self.error
