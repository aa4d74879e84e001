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
    """Return a new class of a request or response, made as kafka-python makes its own."""
    from kafka.protocol.api_message import ApiMessage  # noqa: PLC0415 - see ADR 24

    return new_class(
        name,
        (ApiMessage,),
        {"load_json": schemas},
        lambda attributes: attributes.update(__module__=__name__),
    )
