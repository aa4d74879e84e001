"""Errors and their texts."""

from client.errors import ApiError, ThrottlingQuotaExceededError, error_name, error_of
from protocol.errors import ErrorCode


def test_error_of_success_is_none() -> None:
    assert error_of(ErrorCode.NONE, "ignored") is None


def test_a_quota_refusal_has_its_throttle_time_and_the_standard_text() -> None:
    error = error_of(ErrorCode.THROTTLING_QUOTA_EXCEEDED, None, 12_000)
    assert isinstance(error, ThrottlingQuotaExceededError)
    assert (error.throttle_time_ms, error.error_code) == (12_000, 89)
    assert str(error) == "The throttling quota has been exceeded."


def test_the_brokers_message_has_precedence_over_the_error_name() -> None:
    assert str(error_of(36, "Topic 't' already exists.")) == "Topic 't' already exists."
    assert str(error_of(36)) == "TOPIC_ALREADY_EXISTS"
    assert isinstance(error_of(36), ApiError)


def test_an_unknown_error_code_keeps_its_number() -> None:
    assert error_name(9999) == "error code 9999"
