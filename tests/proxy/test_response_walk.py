import pytest

from protocol.api_keys import ApiKey
from protocol.codec import DecodeError
from proxy.response_walk import Window, steps_of, walk
from tests.proxy.responses import VERSIONS, frame_of


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_a_walk_byte_by_byte_finds_what_one_of_the_frame_finds(key: ApiKey, version: int) -> None:
    frame = frame_of(key, version)
    at_once = Window(frame, 0, len(frame), len(frame))
    assert list(walk(key, version, at_once)) == []
    window = Window(b"", 0, 0, len(frame))
    for needed in walk(key, version, window):
        end = window.end + 1
        window.data, window.base, window.end = frame[needed:end], needed, max(needed, end)
    assert (window.addresses, window.tags) == (at_once.addresses, at_once.tags)
    assert [found.node_id for found in at_once.addresses][:1] == [1]
    for found in at_once.addresses:
        assert found.host.encode() in frame[found.start : found.end]


def test_a_walk_ends_at_the_last_address() -> None:
    assert [kind for kind, _ in steps_of(ApiKey.METADATA, 0)] == ["array"]
    assert steps_of(ApiKey.PRODUCE, 9) == ()


def test_an_array_that_runs_past_the_end_is_refused() -> None:
    frame = frame_of(ApiKey.METADATA, 1)
    wrong = frame[:8] + b"\x7f\xff\xff\xff" + frame[12:]
    with pytest.raises(DecodeError, match="ends within a field"):
        list(walk(ApiKey.METADATA, 1, Window(wrong, 0, len(wrong), len(wrong))))
