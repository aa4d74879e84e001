"""Which request has the next turn."""

from hypothesis import given
from hypothesis import strategies as st

from broker.dispatch.turn_queue import (
    HEAVY_STARTED_MAX,
    NS_PER_BYTE,
    STARTED_MAX,
    TurnQueue,
    TurnRequest,
)

SIZES = st.sampled_from([0, 1, 40_000, 60_000, 1 << 20, 16 << 20])


def request_of(frame_bytes: int, *, is_heavy: bool) -> TurnRequest:
    return TurnRequest(lambda: b"", frame_bytes, is_heavy=is_heavy)


@given(
    arrivals=st.lists(st.tuples(SIZES, st.booleans(), st.integers(0, 10**12)), max_size=200),
    gone=st.sets(st.integers(0, 199)),
)
def test_each_request_has_a_turn_within_the_limits_and_bytes_are_counted(
    arrivals: list[tuple[int, bool, int]], gone: set[int]
) -> None:
    queue = TurnQueue(frame_bytes_max=-1)
    requests = []
    for frame_bytes, is_heavy, now_ns in sorted(arrivals, key=lambda arrival: arrival[2]):
        request = request_of(frame_bytes, is_heavy=is_heavy)
        queue.add(request, now_ns)
        requests.append(request)
    assert queue._frame_bytes == sum(request.frame_bytes for request in requests)
    for number, request in enumerate(requests):
        if number in gone:
            queue.remove(request)
    left = [request for number, request in enumerate(requests) if number not in gone]
    served: list[TurnRequest] = []
    while (due := queue.next_request()) is not None:
        heavy_count = sum(started.is_heavy for started in queue._started)
        assert heavy_count == queue._heavy_count <= HEAVY_STARTED_MAX
        assert len(queue._started) - heavy_count <= STARTED_MAX
        served.append(due)
        queue.remove(due)
    assert sorted(map(id, served)) == sorted(map(id, left))
    assert [request.due_ns for request in served] == sorted(request.due_ns for request in left)
    assert len(queue) == queue._frame_bytes == queue._heavy_count == 0


def test_a_large_request_is_passed_for_as_long_as_its_size_says() -> None:
    queue = TurnQueue(frame_bytes_max=-1)
    large = request_of(1 << 20, is_heavy=True)
    queue.add(large, 0)
    early, late = (request_of(1 << 10, is_heavy=True) for _ in range(2))
    queue.add(early, ((1 << 20) - (1 << 10)) * NS_PER_BYTE - 1)
    queue.add(late, ((1 << 20) - (1 << 10)) * NS_PER_BYTE + 1)
    turns = []
    while (due := queue.next_request()) is not None:
        turns.append(due)
        queue.remove(due)
    assert turns == [early, large, late]


def test_the_limit_of_bytes_is_inclusive_and_optional() -> None:
    for frame_bytes_max, is_full in ((-1, False), (0, True), (10, True), (11, False)):
        queue = TurnQueue(frame_bytes_max)
        queue.add(request_of(10, is_heavy=False), 0)
        assert queue.is_full is is_full
