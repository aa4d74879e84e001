"""Errors as values: the reason why a request, or a part of it, was refused."""

from dataclasses import dataclass, field

from protocol.errors import ErrorCode

ERROR_MESSAGE_CHARACTERS_MAX = 1000
"""Length that fits into a response of any version."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of a resource that was left unchanged.

    Without a `message` clients show the error code's own text.
    """

    error_code: ErrorCode
    message: str | None
    error_message: str | None = field(init=False, compare=False, repr=False)
    """The message, cut to `ERROR_MESSAGE_CHARACTERS_MAX`: one string for all responses with it."""

    def __post_init__(self) -> None:
        cut = None if self.message is None else self.message[:ERROR_MESSAGE_CHARACTERS_MAX]
        object.__setattr__(self, "error_message", cut)


INVALID_REQUEST_MESSAGE = (
    "This most likely occurs because of a request being malformed by the client library or the"
    " message was sent to an incompatible broker. See the broker logs for more details."
)
"""Kafka's own text of INVALID_REQUEST."""

AUTHORIZATION_MESSAGES = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Group authorization failed.",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
}
"""Kafka's own texts of the errors of a denial, where a response has one."""
NOT_COORDINATOR_MESSAGE = "This is not the correct coordinator."
UNSUPPORTED_VERSION_MESSAGE = "The version of API is not supported."
UNKNOWN_SERVER_ERROR_MESSAGE = (
    "The server experienced an unexpected error when processing the request."
)
UNKNOWN_TOPIC_ID_MESSAGE = "This server does not host this topic ID."
UNKNOWN_PARTITION_MESSAGE = "This server does not host this topic-partition."
"""Kafka's own texts of these errors."""

UNKNOWN_TOPIC_ID = Refusal(ErrorCode.UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_ID_MESSAGE)
UNKNOWN_PARTITION = Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_PARTITION_MESSAGE)
"""The refusals of a topic id, and of a topic name or partition, that the cluster does not have."""
