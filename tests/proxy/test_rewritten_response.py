from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.addresses import Address
from protocol.api_keys import ApiKey
from protocol.codec import DecodeError, decode_response
from protocol.json_view import as_plain
from proxy.response_walk import steps_of
from proxy.rewritten_response import (
    ADDRESS_APIS,
    STREAMED_APIS,
    StreamedResponse,
    has_addresses,
    rewritten,
)
from tests.examples import examples
from tests.proxy.responses import VERSIONS, frame_of, without_endpoints

STREAMED = [(key, version) for key, version in VERSIONS if key in STREAMED_APIS]


def through_proxy(node_id: int, upstream: Address) -> Address:
    assert upstream.port == 9091 + node_id
    return Address("proxy" * 20, 100 + node_id)


def decoded(frame: bytes, key: ApiKey, version: int) -> Any:
    return as_plain(decode_response(frame, key, version), lambda _key: True)


def with_proxy_addresses(value: Any) -> Any:
    """Return what `decoded` is after the rewriting, by another way than the code's."""
    if isinstance(value, list):
        return [with_proxy_addresses(item) for item in value]
    if not isinstance(value, dict):
        return value
    changed = {name: with_proxy_addresses(item) for name, item in value.items()}
    if "host" in value:
        node_id = value["node_id"] if "node_id" in value else value["broker_id"]
        changed |= {"host": "proxy" * 20, "port": 100 + node_id}
    return changed


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_every_address_is_replaced_and_nothing_else(key: ApiKey, version: int) -> None:
    frame = frame_of(key, version)
    before = decoded(frame, key, version)
    changed = rewritten(frame, key, version, through_proxy)
    assert int.from_bytes(changed[:4]) == len(changed) - 4
    assert decoded(changed, key, version) == with_proxy_addresses(before) != before


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_a_response_that_is_cut_is_refused(key: ApiKey, version: int) -> None:
    frame = frame_of(key, version)
    # The address that the walk reads last may be followed by bytes that it does not read.
    for size in range(8, len(frame) // 3):
        with pytest.raises(DecodeError):
            rewritten(frame[:size], key, version, through_proxy)


def test_a_coordinator_that_there_is_none_of_keeps_its_empty_address() -> None:
    from protocol import messages  # noqa: PLC0415
    from protocol.codec import encode_response  # noqa: PLC0415

    none = messages.FindCoordinatorResponse(
        error_code=15, error_message="none", node_id=-1, host="", port=-1
    )
    frame = encode_response(1, ApiKey.FIND_COORDINATOR, 2, none)
    assert rewritten(frame, ApiKey.FIND_COORDINATOR, 2, through_proxy) == frame


def test_unknown_tagged_fields_stay() -> None:
    frame = frame_of(ApiKey.DESCRIBE_CLUSTER, 1)
    # The section of the message itself is the last byte.
    tagged = frame[:-1] + b"\x01\x63\x03abc"
    tagged = (len(tagged) - 4).to_bytes(4) + tagged[4:]
    assert rewritten(tagged, ApiKey.DESCRIBE_CLUSTER, 1, through_proxy).endswith(b"\x01\x63\x03abc")


def test_versions_without_addresses_are_not_walked() -> None:
    assert not has_addresses(ApiKey.PRODUCE, 9)
    assert not has_addresses(ApiKey.FETCH, 15)
    assert not has_addresses(ApiKey.HEARTBEAT, 4)
    assert not has_addresses(999, 0)
    assert steps_of(ApiKey.FETCH, 15) == ()


@pytest.mark.parametrize("key", sorted(ADDRESS_APIS))
def test_addresses_in_unknown_versions_are_refused(key: ApiKey) -> None:
    with pytest.raises(DecodeError, match=f"{key.name} v99 are unknown"):
        has_addresses(key, 99)


def streamed(frame: bytes, key: ApiKey, version: int, cuts: list[int]) -> bytes:
    stream = StreamedResponse(key, version, len(frame))
    places = [0, *sorted({8 + cut % (len(frame) - 8) for cut in cuts}), len(frame)]
    return b"".join(stream.pass_on(frame[start:end]) for start, end in pairwise(places))


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from(STREAMED), st.lists(st.integers(0, 5000), max_size=12))
def test_a_response_in_parts_loses_its_addresses_and_nothing_else(
    pair: tuple[ApiKey, int], cuts: list[int]
) -> None:
    key, version = pair
    frame = frame_of(key, version)
    passed = streamed(frame, key, version, cuts)
    assert len(passed) == len(frame)
    assert sum(a != b for a, b in zip(frame, passed, strict=True)) == 1
    before, after = decoded(frame, key, version), decoded(passed, key, version)
    assert after["node_endpoints"] == []
    assert {**after, "node_endpoints": before["node_endpoints"]} == before


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from(STREAMED), st.lists(st.integers(0, 5000), max_size=12))
def test_a_response_in_parts_without_addresses_is_unchanged(
    pair: tuple[ApiKey, int], cuts: list[int]
) -> None:
    frame = without_endpoints(*pair)
    assert streamed(frame, *pair, cuts) == frame
    assert rewritten(frame, *pair, through_proxy) == frame


@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(VERSIONS), st.binary(max_size=60), st.integers(0, 200))
def test_arbitrary_bytes_are_refused_or_passed_on(
    pair: tuple[ApiKey, int], noise: bytes, kept: int
) -> None:
    body = frame_of(*pair)[4:][: 4 + kept] + noise
    frame = len(body).to_bytes(4) + body
    with suppress(DecodeError, UnicodeDecodeError):
        rewritten(frame, *pair, lambda _node_id, address: address)
