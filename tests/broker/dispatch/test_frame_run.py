"""Requests for several partitions in one read are handled until one is unusual."""

from dataclasses import replace

import pytest

from broker.dispatch import produce_cache
from tests.broker.dispatch.produce_runs import Produce, Run, counted_calls, hits_of

OF_TWO = Produce(indexes=(0, 1), producer_id=7, count=5)


def test_all_requests_of_a_read_are_handled_together() -> None:
    made = Run()
    for _ in range(3):
        made.do(OF_TWO)

    with counted_calls(produce_cache, "append_frames") as ends:
        made.do(OF_TWO)
    assert len(ends) == 1
    assert ends[0] > 0
    topic = made.cluster.topics.get("t")
    assert topic is not None
    assert [partition.log.log_end_offset for partition in topic.partitions] == [20, 20, 0]


@pytest.mark.parametrize("acks", [0, 1, -1])
@pytest.mark.parametrize(
    "unusual",
    [
        {"gap": 1},
        {"gap": -1},
        {"damage": (17, ">I", 1, False)},
        {"rest": b"x"},
        {"indexes": (0, 2)},
    ],
)
def test_an_unusual_request_is_left_to_the_ordinary_path(
    acks: int, unusual: dict[str, object]
) -> None:
    usual = replace(OF_TWO, acks=acks)
    other = replace(usual, count=1, **unusual)  # type: ignore[arg-type]

    hits_of([*[usual] * 3, other, *[usual] * 2])
