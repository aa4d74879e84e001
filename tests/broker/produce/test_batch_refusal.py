"""A refusal says what the response to its batch says."""

import pytest

from broker.produce import batch_refusal
from broker.produce.append import refused
from broker.produce.batch_refusal import BatchRefusal
from protocol.errors import ErrorCode
from protocol.produce import RecordError


@pytest.mark.parametrize(
    ("refusal", "log_start_offset"),
    [
        (batch_refusal.INVALID_IN_LOG, 7),
        (batch_refusal.FAILED_IN_LOG, 7),
        (batch_refusal.TOO_LARGE, -1),
        (batch_refusal.LARGER_THAN_SEGMENT, -1),
        (BatchRefusal(ErrorCode.INVALID_RECORD, "why", (RecordError(1, "what"),)), -1),
    ],
)
def test_a_refusal_has_what_kafka_says(refusal: BatchRefusal, log_start_offset: int) -> None:
    result = refused(3, refusal, 7)
    assert (result.partition_index, result.error_code) == (3, refusal.error_code)
    assert (result.error_message, result.record_errors) == refusal[1:3]
    assert result.log_start_offset == log_start_offset
