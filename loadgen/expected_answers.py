"""The error codes that the protocol expects: they bring a client forward, and are no errors."""

from protocol.errors import ErrorCode

ACKNOWLEDGED = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
"""The batch is stored."""
NO_ERRORS = (
    *ACKNOWLEDGED,
    ErrorCode.MEMBER_ID_REQUIRED,  # has the id with which to join
    ErrorCode.REBALANCE_IN_PROGRESS,  # the member joins again
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,  # the coordinator has just moved, or started
)
