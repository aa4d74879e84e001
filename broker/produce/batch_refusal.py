"""Why a record batch is not stored."""

from typing import NamedTuple

from protocol.errors import ErrorCode
from protocol.produce import RecordError


class BatchRefusal(NamedTuple):
    """The reason why a batch is refused, for the response."""

    error_code: ErrorCode
    error_message: str | None = None
    record_errors: tuple[RecordError, ...] = ()
    fails_request: bool = False
    """Whether no batch of the request is stored, and all partitions get this error."""
    has_log_start_offset: bool = False
    """Whether the response says where the log begins."""


# Kafka explains only the refusal of single records, and of a request.
INVALID_IN_LOG = BatchRefusal(ErrorCode.INVALID_RECORD, has_log_start_offset=True)
FAILED_IN_LOG = BatchRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, has_log_start_offset=True)
"""For what Kafka throws and does not expect, such as its IllegalArgumentException."""
TOO_LARGE = BatchRefusal(ErrorCode.MESSAGE_TOO_LARGE)
LARGER_THAN_SEGMENT = BatchRefusal(ErrorCode.RECORD_LIST_TOO_LARGE)
