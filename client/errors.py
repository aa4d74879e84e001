"""The errors of the client; the text of each is one line."""

from protocol.errors import ErrorCode

QUOTA_EXCEEDED_TEXT = "The throttling quota has been exceeded."


class ClientError(Exception):
    """Base of all errors of the client."""


class UnreachableError(ClientError):
    """No connection could be opened; nothing was sent."""


class ConnectionLostError(ClientError):
    """The connection broke or timed out; the request may have taken effect."""


class SecurityError(ClientError):
    """The settings of TLS or SASL are invalid, or the broker refused the credentials."""


class UnsupportedVersionError(ClientError):
    """Broker and client have no version of the API in common."""


class ApiError(ClientError):
    """An error code in a response."""

    def __init__(self, error_code: int, message: str | None = None) -> None:
        """`message` is the broker's; it defaults to the error's name."""
        self.error_code = error_code
        super().__init__(message or error_name(error_code))


class ThrottlingQuotaExceededError(ApiError):
    """A quota refused the request (KIP-599); retry after `throttle_time_ms`."""

    def __init__(self, throttle_time_ms: int, message: str | None = None) -> None:
        self.throttle_time_ms = throttle_time_ms
        super().__init__(ErrorCode.THROTTLING_QUOTA_EXCEEDED, message or QUOTA_EXCEEDED_TEXT)


def error_name(error_code: int) -> str:
    """Return Kafka's name of an error code, or `error code N` for an unknown one."""
    try:
        return ErrorCode(error_code).name
    except ValueError:
        return f"error code {error_code}"


def error_of(
    error_code: int, message: str | None = None, throttle_time_ms: int = 0
) -> ApiError | None:
    """Return the error of a response's error code, or None for success."""
    if error_code == ErrorCode.NONE:
        return None
    if error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED:
        return ThrottlingQuotaExceededError(throttle_time_ms, message)
    return ApiError(error_code, message)
