"""Which request has the next turn."""

from greenlet import getcurrent
from hypothesis import given
from hypothesis import strategies as st

from broker.dispatch.turn_queue import (
    LIGHT_TURNS_MAX,
    NS_PER_BYTE,
    STARTED_MAX,
    TurnKind,
    TurnQueue,
    TurnRequest,
)

SIZES = st.sampled_from([0, 1, 40_000, 60_000, 1 << 20, 16 << 20])


def request_of(frame_bytes: int, kind: TurnKind) -> TurnRequest:
    return TurnRequest(lambda: b"", frame_bytes, kind)


def turn_of(queue: TurnQueue) -> TurnRequest:
    """Give a request its next turn, as `Turns` does."""
    request = queue.next_request()
    assert request is not None
    request.worker = getcurrent()
    return request


@given(
    arrivals=st.lists(
        st.tuples(SIZES, st.sampled_from(TurnKind), st.integers(0, 10**12)), max_size=200
    ),
    gone=st.sets(st.integers(0, 199)),
)
def test_each_request_has_a_turn_within_the_limits_and_bytes_are_counted(
    arrivals: list[tuple[int, TurnKind, int]], gone: set[int]
) -> None:
    queue = TurnQueue(frame_bytes_max=-1)
    requests = []
    for frame_bytes, kind, now_ns in sorted(arrivals, key=lambda arrival: arrival[2]):
        request = request_of(frame_bytes, kind)
        queue.add(request, now_ns)
        requests.append(request)
    assert queue._frame_bytes == sum(request.frame_bytes for request in requests)
    for number, request in enumerate(requests):
        if number in gone:
            queue.remove(request)
    left = [request for number, request in enumerate(requests) if number not in gone]
    served: list[TurnRequest] = []
    while (due := queue.next_request()) is not None:
        kinds = [started.kind for started in queue._started]
        for kind in TurnKind:
            assert kinds.count(kind) == queue._started_counts[kind] <= STARTED_MAX[kind]
        served.append(due)
        queue.remove(due)
    assert sorted(map(id, served)) == sorted(map(id, left))
    for is_light in (True, False):
        times = [
            request.due_ns for request in served if (request.kind is TurnKind.LIGHT) is is_light
        ]
        assert times == sorted(times)
    assert len(queue) == queue._frame_bytes == sum(queue._started_counts.values()) == 0


def test_a_large_request_is_passed_for_as_long_as_its_size_says() -> None:
    queue = TurnQueue(frame_bytes_max=-1)
    large = request_of(1 << 20, TurnKind.HEAVY)
    queue.add(large, 0)
    early, late = (request_of(1 << 10, TurnKind.HEAVY) for _ in range(2))
    queue.add(early, ((1 << 20) - (1 << 10)) * NS_PER_BYTE - 1)
    queue.add(late, ((1 << 20) - (1 << 10)) * NS_PER_BYTE + 1)
    turns = []
    while (due := queue.next_request()) is not None:
        turns.append(due)
        queue.remove(due)
    assert turns == [early, large, late]


def test_light_requests_have_four_of_five_turns() -> None:
    queue = TurnQueue(frame_bytes_max=-1)
    heavy = [request_of(1 << 20, TurnKind.HEAVY) for _ in range(6)]
    for request in heavy:
        queue.add(request, 0)
    light = [request_of(0, TurnKind.LIGHT) for _ in range(2)]
    for request in light:
        queue.add(request, 10**12)

    turns = [turn_of(queue) for _ in range(10)]

    assert turns == ([light[0]] * LIGHT_TURNS_MAX + [heavy[0]]) * 2
    queue.remove(light[0])
    queue.remove(heavy[0])
    assert [turn_of(queue) for _ in range(5)] == [light[1]] * LIGHT_TURNS_MAX + [heavy[1]]
    queue.remove(light[1])
    assert turn_of(queue) is heavy[1]


def test_the_limit_of_bytes_is_inclusive_and_optional() -> None:
    for frame_bytes_max, is_full in ((-1, False), (0, True), (10, True), (11, False)):
        queue = TurnQueue(frame_bytes_max)
        queue.add(request_of(10, TurnKind.LIGHT), 0)
        assert queue.is_full is is_full
