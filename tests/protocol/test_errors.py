"""Error codes are Kafka's."""

import pytest
from kafka.errors import for_code

from protocol.errors import ErrorCode


@pytest.mark.parametrize("error_code", ErrorCode)
def test_kafka_python_knows_every_code(error_code: ErrorCode) -> None:
    assert for_code(error_code).errno == error_code


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("UNKNOWN_SERVER_ERROR", -1),
        ("NONE", 0),
        ("NOT_LEADER_OR_FOLLOWER", 6),
        ("INVALID_TOPIC_EXCEPTION", 17),
        ("INVALID_PRODUCER_EPOCH", 47),
        ("INVALID_RECORD", 87),
        ("THROTTLING_QUOTA_EXCEEDED", 89),
        ("UNKNOWN_TOPIC_ID", 100),
        ("TRANSACTION_ABORTABLE", 120),
    ],
)
def test_names_that_changed_over_time_are_the_current_ones(name: str, code: int) -> None:
    assert ErrorCode[name] == code
