"""What the response to a heartbeat says beside the tasks of the member.

Source: `StreamsGroupHeartbeatResponse.Status` of Kafka.
"""

from enum import IntEnum
from typing import NamedTuple


class StatusCode(IntEnum):
    """The codes of StreamsGroupHeartbeat."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
    MISSING_CLIENT_TAGS = 6
    """Only from v1 on."""


class Status(NamedTuple):
    """A status with its text."""

    code: StatusCode
    detail: str
