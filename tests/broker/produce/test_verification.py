"""Errors of the verification, as a Produce response names them."""

import pytest

from broker.produce.verification import produce_error
from protocol.errors import ErrorCode

RETRY = ErrorCode.NOT_ENOUGH_REPLICAS


@pytest.mark.parametrize(
    ("error_code", "adds_partition", "expected"),
    [
        (ErrorCode.NETWORK_EXCEPTION, True, RETRY),
        (ErrorCode.NOT_COORDINATOR, False, RETRY),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, True, RETRY),
        (ErrorCode.CONCURRENT_TRANSACTIONS, False, RETRY),
        (ErrorCode.CONCURRENT_TRANSACTIONS, True, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.INVALID_TXN_STATE, False, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.INVALID_PRODUCER_EPOCH, True, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.TRANSACTION_ABORTABLE, False, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_the_producer_retries_what_it_may_retry(
    error_code: ErrorCode,
    adds_partition: bool,
    expected: ErrorCode,
) -> None:
    found, message = produce_error(error_code, adds_partition=adds_partition)
    assert found is expected
    has_message = expected in {RETRY, ErrorCode.INVALID_TXN_STATE}
    assert (message is not None) == has_message
    if expected is RETRY:
        assert message is not None
        assert message.endswith(f"Underlying error: {error_code.name}")
