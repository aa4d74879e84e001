"""What can go wrong for a client; the text of each is one line for people."""

from protocol.errors import ErrorCode

QUOTA_EXCEEDED_TEXT = "The throttling quota has been exceeded."


class ClientError(Exception):
    """Anything that keeps a client from its response."""


class UnreachableError(ClientError):
    """No connection could be opened; nothing was sent."""


class ConnectionLostError(ClientError):
    """The connection broke or stayed silent; whether the request took effect is not known."""


class SecurityError(ClientError):
    """The settings of TLS or SASL make no sense, or the broker refused the credentials."""


class UnsupportedVersionError(ClientError):
    """The broker doesn't speak the API, or only in versions that this client doesn't know."""


class ApiError(ClientError):
    """An error code in a response."""

    def __init__(self, error_code: int, message: str | None = None) -> None:
        """`message` is the broker's own sentence; without one the error's name stands in."""
        self.error_code = error_code
        super().__init__(message or error_name(error_code))


class ThrottlingQuotaExceededError(ApiError):
    """A quota refused it (KIP-599); waiting `throttle_time_ms` gives the next try its room."""

    def __init__(self, throttle_time_ms: int, message: str | None = None) -> None:
        self.throttle_time_ms = throttle_time_ms
        super().__init__(ErrorCode.THROTTLING_QUOTA_EXCEEDED, message or QUOTA_EXCEEDED_TEXT)


def error_name(error_code: int) -> str:
    """Kafka's name of an error code, or the number of one that is newer than this client."""
    try:
        return ErrorCode(error_code).name
    except ValueError:
        return f"error code {error_code}"


def error_of(
    error_code: int, message: str | None = None, throttle_time_ms: int = 0
) -> ApiError | None:
    """The error behind a code of a response, or None for success."""
    if error_code == ErrorCode.NONE:
        return None
    if error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED:
        return ThrottlingQuotaExceededError(throttle_time_ms, message)
    return ApiError(error_code, message)
