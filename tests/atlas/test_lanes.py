from typing import Any

import pytest

from atlas import lanes
from atlas.lanes import Lanes


class FakeLane:
    def __init__(self, client: str) -> None:
        self.client = client
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Lanes:
    monkeypatch.setattr(lanes, "Lane", FakeLane)
    return Lanes(lanes_max=2)


def test_a_lane_is_used_again_by_its_client_only(pool: Lanes) -> None:
    with pool.lane("kafka-python") as first:
        pass
    with pool.lane("aiokafka") as other, pool.lane("kafka-python") as again:
        assert again is first
        assert other is not first


def test_a_lane_is_lent_once_at_a_time(pool: Lanes) -> None:
    with pool.lane("aiokafka") as one, pool.lane("aiokafka") as two:
        assert one is not two


def test_the_lane_that_was_not_used_for_longest_is_closed(pool: Lanes) -> None:
    used: list[Any] = []
    for client in ("one", "two", "one", "three"):
        with pool.lane(client) as lane:
            used.append(lane)
    assert [lane.is_closed for lane in used] == [False, True, False, False]
    pool.close()
    assert all(lane.is_closed for lane in used)


def test_a_lane_that_raised_is_not_used_again(pool: Lanes) -> None:
    used: list[Any] = []

    def fail() -> None:
        with pool.lane("one") as broken:
            used.append(broken)
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        fail()
    with pool.lane("one") as next_lane:
        used.append(next_lane)
    assert used[1] is not used[0]
    assert [lane.is_closed for lane in used] == [True, False]
