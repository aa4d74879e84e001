"""Long requests are refused before their elements become objects."""

from typing import Any

import pytest

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, encode_unsigned_varint
from protocol.releases import Release
from protocol.request_bounds import check_bounds
from tests.broker.faults.requests import sample_body

ALL_VERSIONS = [
    (api_key, version)
    for api_key in ApiKey
    for version in range(
        messages.schema_versions(api_key)[0],
        messages.schema_versions(api_key)[1] + 1,
    )
]


NEWEST: Release = (4, 4)


def check(
    api_key: ApiKey,
    version: int,
    body: bytes,
    elements_max: int = 1000,
    release: Release = NEWEST,
) -> None:
    check_bounds(api_key, version, body, 0, len(body), elements_max, release)


@pytest.mark.parametrize(("api_key", "version"), ALL_VERSIONS)
def test_the_count_reads_exactly_the_fields_of_the_request(api_key: ApiKey, version: int) -> None:
    body = sample_body(api_key, version)
    check(api_key, version, body)
    if body:
        with pytest.raises(DecodeError):
            check(api_key, version, body[:-1])


def metadata(version: int, names: list[str]) -> bytes:
    request_class: Any = messages.request_class(ApiKey.METADATA)
    topics = [request_class.MetadataRequestTopic(name=name) for name in names]
    return bytes(request_class(topics=topics).encode(version=version))


@pytest.mark.parametrize("version", [1, 9])
def test_elements_are_counted_at_every_depth(version: int) -> None:
    body = metadata(version, ["a"] * 10)
    check(ApiKey.METADATA, version, body, 10)
    with pytest.raises(DecodeError, match="more than 9 elements"):
        check(ApiKey.METADATA, version, body, 9)

    nested = messages.request_class(ApiKey.LIST_OFFSETS)
    topics = [
        nested.ListOffsetsTopic(
            name="a",
            partitions=[
                nested.ListOffsetsTopic.ListOffsetsPartition(partition_index=0, timestamp=0)
            ]
            * 3,
        )
    ] * 2
    body = bytes(nested(topics=topics).encode(version=7))
    check(ApiKey.LIST_OFFSETS, 7, body, 8)
    with pytest.raises(DecodeError, match="more than 7 elements"):
        check(ApiKey.LIST_OFFSETS, 7, body, 7)


def test_a_string_is_at_most_32767_bytes_long_in_every_version() -> None:
    check(ApiKey.METADATA, 9, metadata(9, ["a" * 32_767]))
    with pytest.raises(DecodeError, match="a string of 32768 bytes is longer than 32767"):
        check(ApiKey.METADATA, 9, metadata(9, ["a" * 32_768]))


def test_tagged_fields_are_elements() -> None:
    body = metadata(9, ["a"])[:-1] + bytes([3]) + b"\x07\x01x" * 3
    check(ApiKey.METADATA, 9, body, 4)
    with pytest.raises(DecodeError, match="more than 3 elements"):
        check(ApiKey.METADATA, 9, body, 3)
    with pytest.raises(DecodeError, match="tagged fields run past the end"):
        check(ApiKey.METADATA, 9, body[:-1], 4)


def metadata_with_tags(count: int) -> bytes:
    return metadata(9, ["a"])[:-1] + encode_unsigned_varint(count) + b"\x07\x00" * count


def test_a_section_has_at_most_10_000_tagged_fields_from_4_4_on() -> None:
    roomy = 10**9
    check(ApiKey.METADATA, 9, metadata_with_tags(10_000), roomy)
    check(ApiKey.METADATA, 9, metadata_with_tags(10_001), roomy, (4, 3))
    with pytest.raises(DecodeError, match="above 10000"):
        check(ApiKey.METADATA, 9, metadata_with_tags(10_001), roomy)
    # Before a field is read: they may be cut off.
    with pytest.raises(DecodeError, match="above 10000"):
        check(ApiKey.METADATA, 9, metadata_with_tags(10_001)[:40], roomy)


@pytest.mark.parametrize("version", [1, 9])
def test_an_array_has_at_most_a_million_elements_from_4_4_on(version: int) -> None:
    roomy = 10**9
    for count, is_valid in ((1_000_000, True), (1_000_001, False)):
        length = encode_unsigned_varint(count + 1) if version == 9 else count.to_bytes(4, "big")
        with pytest.raises(DecodeError) as refusal:
            check(ApiKey.METADATA, version, length, roomy)
        assert ("above 1000000" in str(refusal.value)) is not is_valid
        with pytest.raises(DecodeError) as refusal:
            check(ApiKey.METADATA, version, length, roomy, (4, 3))
        assert "above 1000000" not in str(refusal.value)


def test_a_large_count_is_refused_at_once() -> None:
    with pytest.raises(DecodeError, match="more than 1000 elements"):
        check(ApiKey.METADATA, 1, b"\x7f\xff\xff\xff", release=(4, 3))
