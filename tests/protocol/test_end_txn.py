"""EndTxnResponse: the same bytes as the schema's."""

import pytest

from protocol import messages
from protocol.end_txn import encode_response


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
