"""Responses with many records stay in parts, and others are joined."""

from broker.responses import (
    JOINED_PARTS_MAX,
    PART_BYTES_MIN,
    PARTS_BYTES_MIN,
    Close,
    EncodedParts,
    frame_of,
)


def test_only_much_in_few_parts_stays_in_parts() -> None:
    large = [bytes(PARTS_BYTES_MIN // 2)] * 2
    response = EncodedParts.of([b"head", *large, b"end"], PARTS_BYTES_MIN)
    assert isinstance(response, EncodedParts)
    assert response.parts[1] is large[0]
    assert response.size_bytes == PARTS_BYTES_MIN + 7
    assert frame_of(response) == response.joined() == b"head" + bytes(PARTS_BYTES_MIN) + b"end"

    assert EncodedParts.of([b"head", bytes(PARTS_BYTES_MIN - 1)], PARTS_BYTES_MIN - 1) == (
        b"head" + bytes(PARTS_BYTES_MIN - 1)
    )
    small = [bytes(PART_BYTES_MIN - 1)] * 100
    assert EncodedParts.of(small, 100 * (PART_BYTES_MIN - 1)) == b"".join(small)


def test_very_many_parts_are_joined_piece_by_piece() -> None:
    parts = [bytes((number % 256,)) for number in range(JOINED_PARTS_MAX + 1)]
    response = EncodedParts.of(parts, 0)
    assert isinstance(response, EncodedParts)
    assert [len(part) for part in response.parts] == [JOINED_PARTS_MAX, 1]
    assert response.size_bytes == len(parts)
    assert response.joined() == b"".join(parts)
    assert EncodedParts.of(parts[:-1], 0) == b"".join(parts[:-1])
    large = [bytes(PART_BYTES_MIN)] * (JOINED_PARTS_MAX + 1)
    assert EncodedParts.of(large, len(large) * PART_BYTES_MIN).parts is large  # type: ignore[union-attr]


def test_the_frame_of_a_close_is_its_last_response() -> None:
    assert frame_of(Close("why", b"last")) == b"last"
