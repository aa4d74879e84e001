"""Error codes are Kafka's."""

import pytest
from kafka.errors import for_code

from protocol.errors import INVALID_METADATA_ERRORS, RETRIABLE_ERRORS, ErrorCode, error_code_of

FIRST_CODE_BEYOND_KAFKA_PYTHON = 129


def test_there_is_every_error_code_of_kafka() -> None:
    assert sorted(ErrorCode) == list(range(-1, 137))  # `Errors` of kafka-clients 4.4.0


@pytest.mark.parametrize("error_code", ErrorCode)
def test_the_codes_that_kafka_python_knows_have_its_numbers(error_code: ErrorCode) -> None:
    if error_code < FIRST_CODE_BEYOND_KAFKA_PYTHON:
        assert for_code(error_code).errno == error_code


def test_a_name_is_found_in_any_spelling() -> None:
    for error_code in ErrorCode:
        assert error_code_of(error_code.name.lower()) is error_code
        assert error_code_of(error_code.name.replace("_", "")) is error_code
    with pytest.raises(ValueError, match="did you mean REBOOTSTRAP_REQUIRED"):
        error_code_of("rebootstrap_require")


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


def test_clients_retry_the_errors_that_kafkas_java_client_retries() -> None:
    # Codes of `Errors` whose exception is a RetriableException in kafka-clients 4.1.0.
    assert sorted(RETRIABLE_ERRORS) == [
        *(2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83),
        *(84, 88, 89, 100, 103, 106, 122, 123, 133),
    ]


def test_clients_refresh_metadata_after_the_errors_of_the_java_client() -> None:
    # Those whose exception is an InvalidMetadataException.
    assert sorted(INVALID_METADATA_ERRORS) == [3, 5, 6, 9, 13, 56, 72, 74, 80, 83, 84, 100, 103]
