from collections.abc import Iterator
from typing import Any

import pytest

from atlas.lane import Lane
from atlas.situation import Topic
from atlas.warm_up import plain
from tests.atlas.plain_runs import run

pytestmark = pytest.mark.interop

CALLS: dict[str, dict[str, Any]] = {
    "delete_topic": {"topic": "orders"},
    "create_partitions": {"topic": "orders", "partitions": 2},
    "describe_topic": {"topic": "orders"},
    "list_topics": {},
    "describe_configs": {"topic": "orders"},
    "alter_config": {"topic": "orders", "config": {"retention.ms": "1000"}},
    "list_groups": {},
    "describe_group": {"group": "billing"},
    "delete_group": {"group": "billing"},
    "delete_records": {"topic": "orders", "offset": 1},
    "describe_cluster": {},
}
LACKING = {
    ("aiokafka", "delete_group"),
    ("mock-kafka-client", "delete_records"),
}


@pytest.fixture(
    scope="module", params=["kafka-python", "aiokafka", "confluent-kafka", "mock-kafka-client"]
)
def lane(request: pytest.FixtureRequest) -> Iterator[Lane]:
    lane = Lane(request.param)
    yield lane
    lane.close()


@pytest.mark.parametrize("call", CALLS)
def test_all_adapters_have_the_calls_of_admin_clients(lane: Lane, call: str) -> None:
    given = plain(
        "admin",
        arguments={"call": call, **CALLS[call]},
        topics={"orders": Topic()},
        records={"orders": 4},
    )
    result = run(lane, given)
    if (lane.client, call) in LACKING:
        assert (result.cell, result.reasons) == ("unsupported", (f"it has no {call}",))
        return
    assert result.manners.reported == "success", result.manners
    assert result.manners.usable


def test_errors_of_futures_are_those_of_the_library() -> None:
    lane = Lane("confluent-kafka")
    try:
        given = plain("create_topic", arguments={"topic": "orders"})
        seen = run(lane, given).manners
    finally:
        lane.close()
    assert (seen.error, seen.reported) == ("TOPIC_ALREADY_EXISTS", "unknown")
