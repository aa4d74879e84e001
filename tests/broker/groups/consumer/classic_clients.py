"""Members of the classic protocol, for tests of groups with both protocols."""

from typing import Any
from uuid import UUID

from broker.groups.requests import JoinRequest, SyncRequest
from broker.groups.results import JoinResult, SyncResult
from protocol.consumer_protocol import decode_assignment
from protocol.data_messages import ConsumerProtocolSubscription, encode_data
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import GROUP, REBALANCE_MS, ConsumerDriver

CLASSIC_SESSION_MS = 10_000


def subscription(owned: list[int], *topics: str) -> bytes:
    """Return a cooperative subscription, by default to t, of a member that owns partitions of t."""
    entry = ConsumerProtocolSubscription.TopicPartition
    message = ConsumerProtocolSubscription(
        topics=list(topics) or ["t"], owned_partitions=[entry(topic="t", partitions=owned)]
    )
    return encode_data(message, 1)


def join(
    driver: ConsumerDriver, member_id: str = "", owned: list[int] | None = None, **fields: Any
) -> list[JoinResult]:
    """Send a JoinGroup; the list has the response once there is one."""
    responses: list[JoinResult] = []
    defaults: dict[str, Any] = {
        "protocol_type": "consumer",
        "protocols": {"cooperative-sticky": subscription(owned or [])},
        "client_id": "classic",
    }
    request = JoinRequest(GROUP, member_id, CLASSIC_SESSION_MS, REBALANCE_MS, **(defaults | fields))
    driver.groups.join(request, responses.append, driver.now_ms)
    return responses


def sync(
    driver: ConsumerDriver,
    member_id: str,
    generation_id: int,
    assignments: dict[str, bytes] | None = None,
    **fields: Any,
) -> SyncResult:
    """Send a SyncGroup; return its response, which must come at once."""
    responses: list[SyncResult] = []
    request = SyncRequest(GROUP, member_id, generation_id, assignments or {}, **fields)
    driver.groups.sync(request, responses.append, driver.now_ms)
    return responses[0]


def heartbeat(driver: ConsumerDriver, member_id: str, generation_id: int) -> ErrorCode:
    """Send a Heartbeat."""
    return driver.groups.heartbeat(GROUP, member_id, None, generation_id, driver.now_ms)


def partitions(result: SyncResult) -> list[int]:
    """Return the partitions of t in an assignment."""
    assert result.error_code is ErrorCode.NONE
    return decode_assignment(result.assignment).get("t", [])


T = UUID(int=1)
