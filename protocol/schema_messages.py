"""Requests and responses that kafka-python has no schema for: ours are in `protocol/schemas/`.

The rest of the project finds them in `protocol/messages.py`, beside kafka-python's.
"""

from types import new_class
from typing import Any

from protocol import schemas

API_NAMES = frozenset(
    {
        "AddRaftVoter",
        "AlterShareGroupOffsets",
        "ApiVersions",
        "ConsumerGroupDescribe",
        "ConsumerGroupHeartbeat",
        "CreateDelegationToken",
        "DeleteGroups",
        "DeleteShareGroupOffsets",
        "DeleteShareGroupState",
        "DescribeDelegationToken",
        "DescribeShareGroupOffsets",
        "ExpireDelegationToken",
        "GetTelemetrySubscriptions",
        "InitializeShareGroupState",
        "PushTelemetry",
        "ReadShareGroupState",
        "ReadShareGroupStateSummary",
        "RemoveRaftVoter",
        "RenewDelegationToken",
        "ShareAcknowledge",
        "ShareFetch",
        "ShareGroupDescribe",
        "ShareGroupHeartbeat",
        "StreamsGroupDescribe",
        "StreamsGroupHeartbeat",
        "StreamsGroupTopologyDescriptionUpdate",
        "TxnOffsetCommit",
        "UnregisterBroker",
        "UnregisterController",
        "WriteShareGroupState",
    }
)


def make_class(name: str) -> Any:
    """Return a new class of a request or response, made as kafka-python makes its own.

    kafka-python's clients in this process still find their own class of a response.
    """
    from kafka.protocol.api_header import ResponseClassRegistry  # noqa: PLC0415 - see ADR 24
    from kafka.protocol.api_message import ApiMessage  # noqa: PLC0415

    response_classes = ResponseClassRegistry._response_class_registry  # noqa: SLF001 - no other way
    before = response_classes.copy()
    made = new_class(
        name,
        (ApiMessage,),
        {"load_json": schemas},
        lambda attributes: attributes.update(__module__=__name__),
    )
    response_classes.clear()
    response_classes.update(before)
    return made
