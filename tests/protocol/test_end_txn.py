"""The codec of EndTxn agrees with the schema's codec."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_message
from protocol.end_txn import encode_response, read_end_txn
from tests.protocol.short_requests import assert_same, check_arbitrary_bytes, read_both

VERSIONS = st.integers(0, 5)
INT64, INT16 = st.integers(-(2**63), 2**63 - 1), st.integers(-(2**15), 2**15 - 1)


def request_of(version: int, transactional_id: str, *fields: int, committed: bool) -> object:
    producer_id, producer_epoch = fields
    return messages.EndTxnRequest(
        version=version,
        transactional_id=transactional_id,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        committed=committed,
    )


@given(VERSIONS, st.text(max_size=30), INT64, INT16, st.booleans(), st.binary(max_size=9))
def test_a_request_is_read(
    version: int, transactional_id: str, producer_id: int, epoch: int, commit: bool, before: bytes
) -> None:
    request = request_of(version, transactional_id, producer_id, epoch, committed=commit)

    found, decoded = read_both(read_end_txn, request, version, before)

    assert_same(found, decoded)
    assert found == (transactional_id, producer_id, epoch, commit)


@pytest.mark.parametrize("version", range(6))
def test_a_request_that_is_cut_or_has_nulls_or_tags_is_left_to_the_schema(version: int) -> None:
    body = encode_message(request_of(version, "tx", 1, 2, committed=True), version)
    for end in range(len(body)):
        assert read_end_txn(version, body, 0, end) is None
    assert read_end_txn(version, body + b"\0", 0, len(body) + 1) is None
    null = b"\0" if version >= 3 else b"\xff\xff"
    id_bytes = 3 if version >= 3 else 4
    null_id = null + body[id_bytes:]
    assert read_end_txn(version, null_id, 0, len(null_id)) is None
    if version >= 3:
        tagged = body[:-1] + b"\1\0\0"
        assert read_end_txn(version, tagged, 0, len(tagged)) is None


@given(VERSIONS, st.binary(max_size=40))
def test_arbitrary_bytes_are_read_as_by_the_schema_or_not_at_all(version: int, body: bytes) -> None:
    check_arbitrary_bytes(read_end_txn, ApiKey.END_TXN, version, body)


@pytest.mark.parametrize("version", range(6))
def test_the_bytes_are_those_of_the_schema(version: int) -> None:
    response = messages.EndTxnResponse(
        version=version,
        throttle_time_ms=0,
        error_code=51,
        producer_id=1 << 40,
        producer_epoch=7,
    )
    expected = bytes(response.encode(version=version))
    assert encode_response(version, 51, 1 << 40, 7) == expected
