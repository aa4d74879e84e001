"""No amplifying frame keeps the event loop for long, and none is a bug.

Nothing here depends on time: a request may pause before each element, and every pause is a turn.
`scripts/bench attack` measures times and memory with frames of full size.
"""

from collections import Counter

import pytest

from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.message_schema import schema_of
from tests.attack.amplifying_frames import KINDS, amplifying_frames, array_paths
from tests.attack.attacked_broker import AttackedBroker, longest_stretch

ELEMENTS_MAX = 600
BYTES_MAX = 200_000
STRETCH_CALLS_MIN = 5_000
"""Calls in which nothing takes long. More of them must not be more with more elements."""
SAMPLE = (
    ApiKey.METADATA,
    ApiKey.FETCH,
    ApiKey.PRODUCE,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.FIND_COORDINATOR,
    ApiKey.OFFSET_COMMIT,
)

ALL_VERSIONS = [
    (ApiKey(key), version)
    for key, route in sorted(ROUTES.items())
    for version in range(route.version_min, route.version_max + 1)
]


def attack(broker: AttackedBroker, api_key: ApiKey, version: int) -> Counter[str]:
    """Send all frames of one API and version; return how many there were of each kind."""
    sent: Counter[str] = Counter()
    for frame in amplifying_frames(api_key, version, ELEMENTS_MAX, BYTES_MAX):
        cost = broker.handle(frame.data)
        assert not broker.bugs, (frame.name, broker.bugs)
        if frame.kind == "too many elements" and len(frame.data) > 40_000:
            assert f"more than {ELEMENTS_MAX} elements" in str(cost.close_reason), frame.name
        sent[frame.kind] += 1
    return sent


def small_broker() -> AttackedBroker:
    return AttackedBroker(100, 10, 10, **{"request.elements.max": str(ELEMENTS_MAX)})


@pytest.mark.slow
@pytest.mark.parametrize("api_key", SAMPLE)
def test_no_frame_of_the_sample_is_a_bug(api_key: ApiKey) -> None:
    route = ROUTES[api_key]
    for version in {route.version_min, route.version_max}:
        assert attack(small_broker(), api_key, version)


@pytest.mark.long
def test_no_frame_of_any_api_in_any_version_is_a_bug() -> None:
    sent: Counter[str] = Counter()
    pairs = set()
    for api_key, version in ALL_VERSIONS:
        found = attack(small_broker(), api_key, version)
        assert found, f"no frame of {api_key.name} v{version}"
        pairs.add((api_key, version))
        sent += found
    assert pairs == set(ALL_VERSIONS)
    assert set(sent) == set(KINDS)


def growing_stretches(api_key: ApiKey, version: int) -> list[str]:
    """Return the frames whose longest stretch without a pause grows with their elements."""
    few, many = 300, 900
    frames = [
        {frame.name: frame for frame in amplifying_frames(api_key, version, count, BYTES_MAX)}
        for count in (few, many)
    ]
    found = []
    for name, frame in frames[0].items():
        if frame.kind not in {"repeated", "distinct"}:
            continue
        limit = {"request.elements.max": str(2 * many)}
        short, long = (
            longest_stretch(AttackedBroker(100, 10, 10, **limit), by_name[name].data)
            for by_name in frames
        )
        if long > max(STRETCH_CALLS_MIN, 1.5 * short):
            found.append(f"{name}: {short} calls, then {long}")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("api_key", SAMPLE)
def test_work_between_two_places_to_pause_does_not_grow_with_the_request(api_key: ApiKey) -> None:
    assert growing_stretches(api_key, ROUTES[api_key].version_max) == []


@pytest.mark.slow
def test_the_corpus_enlarges_every_array_of_every_api_and_version() -> None:
    for api_key, version in ALL_VERSIONS:
        paths = {
            ".".join(path)
            for path in array_paths(schema_of(messages.request_class(api_key)), version)
        }
        frames = list(amplifying_frames(api_key, version, 20, 2000))
        enlarged = {frame.detail.partition(" ")[0] for frame in frames if frame.kind == "repeated"}
        assert enlarged == paths
        assert {frame.kind for frame in frames} >= {"long strings", "null arrays"}
