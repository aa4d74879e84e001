"""Requests and responses that kafka-python has no schema for: ours are in `protocol/schemas/`.

The rest of the project finds them in `protocol/messages.py`, beside kafka-python's.
A class is made when its name is first used.
"""

from types import new_class
from typing import TYPE_CHECKING, Any

from protocol import schemas


if not TYPE_CHECKING:  # else it would allow any name

    def __getattr__(name: str) -> Any:
        """Return the class of a request or response, made as kafka-python makes its own."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from kafka.protocol.api_message import ApiMessage  # noqa: PLC0415 - see ADR 24

        made = globals()[name] = new_class(
            name,
            (ApiMessage,),
            {"load_json": schemas},
            lambda attributes: attributes.update(__module__=__name__),
        )
        return made


__all__ = [
    "AddRaftVoterRequest",
    "AddRaftVoterResponse",
    "AlterShareGroupOffsetsRequest",
    "AlterShareGroupOffsetsResponse",
    "ConsumerGroupDescribeRequest",
    "ConsumerGroupDescribeResponse",
    "ConsumerGroupHeartbeatRequest",
    "ConsumerGroupHeartbeatResponse",
    "CreateDelegationTokenRequest",
    "CreateDelegationTokenResponse",
    "DeleteShareGroupOffsetsRequest",
    "DeleteShareGroupOffsetsResponse",
    "DeleteShareGroupStateRequest",
    "DeleteShareGroupStateResponse",
    "DescribeDelegationTokenRequest",
    "DescribeDelegationTokenResponse",
    "DescribeShareGroupOffsetsRequest",
    "DescribeShareGroupOffsetsResponse",
    "ExpireDelegationTokenRequest",
    "ExpireDelegationTokenResponse",
    "GetTelemetrySubscriptionsRequest",
    "GetTelemetrySubscriptionsResponse",
    "InitializeShareGroupStateRequest",
    "InitializeShareGroupStateResponse",
    "PushTelemetryRequest",
    "PushTelemetryResponse",
    "ReadShareGroupStateRequest",
    "ReadShareGroupStateResponse",
    "ReadShareGroupStateSummaryRequest",
    "ReadShareGroupStateSummaryResponse",
    "RemoveRaftVoterRequest",
    "RemoveRaftVoterResponse",
    "RenewDelegationTokenRequest",
    "RenewDelegationTokenResponse",
    "ShareAcknowledgeRequest",
    "ShareAcknowledgeResponse",
    "ShareFetchRequest",
    "ShareFetchResponse",
    "ShareGroupDescribeRequest",
    "ShareGroupDescribeResponse",
    "ShareGroupHeartbeatRequest",
    "ShareGroupHeartbeatResponse",
    "StreamsGroupDescribeRequest",
    "StreamsGroupDescribeResponse",
    "StreamsGroupHeartbeatRequest",
    "StreamsGroupHeartbeatResponse",
    "UnregisterBrokerRequest",
    "UnregisterBrokerResponse",
    "WriteShareGroupStateRequest",
    "WriteShareGroupStateResponse",
]
