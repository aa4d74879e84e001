"""Wrong responses are wrong only in the requested way."""

from hypothesis import given
from hypothesis import strategies as st

from broker.faults import response_bytes

frames = st.binary(min_size=1, max_size=60).map(
    lambda body: (len(body) + 4).to_bytes(4, "big") + b"\0\0\0\x07" + body
)


def size_of(frame: bytes) -> int:
    return int.from_bytes(frame[:4], "big", signed=True)


@given(frames, st.integers(1, 100))
def test_a_truncated_frame_has_the_size_of_the_rest(frame: bytes, byte_count: int) -> None:
    cut = response_bytes.truncated(frame, byte_count)
    assert len(cut) == max(8, len(frame) - byte_count)
    assert size_of(cut) == len(cut) - 4
    assert frame[4:].startswith(cut[4:])


@given(frames, st.integers(1, 100), st.integers(), st.integers(0, 9))
def test_a_corrupted_frame_differs_in_the_given_number_of_body_bytes(
    frame: bytes, byte_count: int, seed: int, number: int
) -> None:
    wrong = response_bytes.corrupted(frame, byte_count, seed, number)
    assert wrong[:8] == frame[:8]
    changed = sum(a != b for a, b in zip(frame, wrong, strict=True))
    assert changed == min(byte_count, len(frame) - 8)
    assert wrong == response_bytes.corrupted(frame, byte_count, seed, number)


@given(frames, st.integers(1, 100))
def test_an_oversized_frame_ends_with_zeros(frame: bytes, byte_count: int) -> None:
    large = response_bytes.oversized(frame, byte_count)
    assert large[4:] == frame[4:] + bytes(byte_count)
    assert size_of(large) == len(large) - 4


@given(frames, st.integers(-(1 << 31), (1 << 31) - 1))
def test_an_announced_size_changes_only_the_size_field(frame: bytes, size: int) -> None:
    wrong = response_bytes.announced(frame, size)
    assert (size_of(wrong), wrong[4:]) == (size, frame[4:])


@given(frames, st.one_of(st.none(), st.integers(0, 100)))
def test_a_beginning_is_shorter_than_the_frame(frame: bytes, byte_count: int | None) -> None:
    part = response_bytes.beginning(frame, byte_count)
    assert frame.startswith(part)
    assert len(part) < len(frame)
    if byte_count is not None and byte_count < len(frame):
        assert len(part) == byte_count


def test_fractions_depend_on_their_arguments_and_are_spread_evenly() -> None:
    values = [response_bytes.fraction(1, number, "x") for number in range(1000)]
    assert values == [response_bytes.fraction(1, number, "x") for number in range(1000)]
    assert all(0 <= value < 1 for value in values)
    assert 0.45 < sum(values) / 1000 < 0.55
    assert response_bytes.fraction(2, 0, "x") != values[0] != response_bytes.fraction(1, 0, "y")
