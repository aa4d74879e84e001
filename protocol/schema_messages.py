"""Requests and responses that kafka-python has no schema for: ours are in `protocol/schemas/`.

The rest of the project finds them in `protocol/messages.py`, beside kafka-python's.
"""

from types import new_class
from typing import Any

from kafka.protocol.api_message import ApiMessage

from protocol import schemas


def _message(name: str) -> Any:
    """Return the class of a request or response, as kafka-python makes its own."""
    return new_class(
        name,
        (ApiMessage,),
        {"load_json": schemas},
        lambda attributes: attributes.update(__module__=__name__),
    )


CreateDelegationTokenRequest = _message("CreateDelegationTokenRequest")
CreateDelegationTokenResponse = _message("CreateDelegationTokenResponse")
RenewDelegationTokenRequest = _message("RenewDelegationTokenRequest")
RenewDelegationTokenResponse = _message("RenewDelegationTokenResponse")
ExpireDelegationTokenRequest = _message("ExpireDelegationTokenRequest")
ExpireDelegationTokenResponse = _message("ExpireDelegationTokenResponse")
DescribeDelegationTokenRequest = _message("DescribeDelegationTokenRequest")
DescribeDelegationTokenResponse = _message("DescribeDelegationTokenResponse")
UnregisterBrokerRequest = _message("UnregisterBrokerRequest")
UnregisterBrokerResponse = _message("UnregisterBrokerResponse")
ConsumerGroupHeartbeatRequest = _message("ConsumerGroupHeartbeatRequest")
ConsumerGroupHeartbeatResponse = _message("ConsumerGroupHeartbeatResponse")
ConsumerGroupDescribeRequest = _message("ConsumerGroupDescribeRequest")
ConsumerGroupDescribeResponse = _message("ConsumerGroupDescribeResponse")
GetTelemetrySubscriptionsRequest = _message("GetTelemetrySubscriptionsRequest")
GetTelemetrySubscriptionsResponse = _message("GetTelemetrySubscriptionsResponse")
PushTelemetryRequest = _message("PushTelemetryRequest")
PushTelemetryResponse = _message("PushTelemetryResponse")
ShareGroupHeartbeatRequest = _message("ShareGroupHeartbeatRequest")
ShareGroupHeartbeatResponse = _message("ShareGroupHeartbeatResponse")
ShareGroupDescribeRequest = _message("ShareGroupDescribeRequest")
ShareGroupDescribeResponse = _message("ShareGroupDescribeResponse")
ShareFetchRequest = _message("ShareFetchRequest")
ShareFetchResponse = _message("ShareFetchResponse")
ShareAcknowledgeRequest = _message("ShareAcknowledgeRequest")
ShareAcknowledgeResponse = _message("ShareAcknowledgeResponse")
AddRaftVoterRequest = _message("AddRaftVoterRequest")
AddRaftVoterResponse = _message("AddRaftVoterResponse")
RemoveRaftVoterRequest = _message("RemoveRaftVoterRequest")
RemoveRaftVoterResponse = _message("RemoveRaftVoterResponse")
InitializeShareGroupStateRequest = _message("InitializeShareGroupStateRequest")
InitializeShareGroupStateResponse = _message("InitializeShareGroupStateResponse")
ReadShareGroupStateRequest = _message("ReadShareGroupStateRequest")
ReadShareGroupStateResponse = _message("ReadShareGroupStateResponse")
WriteShareGroupStateRequest = _message("WriteShareGroupStateRequest")
WriteShareGroupStateResponse = _message("WriteShareGroupStateResponse")
DeleteShareGroupStateRequest = _message("DeleteShareGroupStateRequest")
DeleteShareGroupStateResponse = _message("DeleteShareGroupStateResponse")
ReadShareGroupStateSummaryRequest = _message("ReadShareGroupStateSummaryRequest")
ReadShareGroupStateSummaryResponse = _message("ReadShareGroupStateSummaryResponse")
StreamsGroupHeartbeatRequest = _message("StreamsGroupHeartbeatRequest")
StreamsGroupHeartbeatResponse = _message("StreamsGroupHeartbeatResponse")
StreamsGroupDescribeRequest = _message("StreamsGroupDescribeRequest")
StreamsGroupDescribeResponse = _message("StreamsGroupDescribeResponse")
DescribeShareGroupOffsetsRequest = _message("DescribeShareGroupOffsetsRequest")
DescribeShareGroupOffsetsResponse = _message("DescribeShareGroupOffsetsResponse")
AlterShareGroupOffsetsRequest = _message("AlterShareGroupOffsetsRequest")
AlterShareGroupOffsetsResponse = _message("AlterShareGroupOffsetsResponse")
DeleteShareGroupOffsetsRequest = _message("DeleteShareGroupOffsetsRequest")
DeleteShareGroupOffsetsResponse = _message("DeleteShareGroupOffsetsResponse")

CLASSES: tuple[tuple[Any, Any], ...] = (
    (CreateDelegationTokenRequest, CreateDelegationTokenResponse),
    (RenewDelegationTokenRequest, RenewDelegationTokenResponse),
    (ExpireDelegationTokenRequest, ExpireDelegationTokenResponse),
    (DescribeDelegationTokenRequest, DescribeDelegationTokenResponse),
    (UnregisterBrokerRequest, UnregisterBrokerResponse),
    (ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse),
    (ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse),
    (GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse),
    (PushTelemetryRequest, PushTelemetryResponse),
    (ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse),
    (ShareGroupDescribeRequest, ShareGroupDescribeResponse),
    (ShareFetchRequest, ShareFetchResponse),
    (ShareAcknowledgeRequest, ShareAcknowledgeResponse),
    (AddRaftVoterRequest, AddRaftVoterResponse),
    (RemoveRaftVoterRequest, RemoveRaftVoterResponse),
    (InitializeShareGroupStateRequest, InitializeShareGroupStateResponse),
    (ReadShareGroupStateRequest, ReadShareGroupStateResponse),
    (WriteShareGroupStateRequest, WriteShareGroupStateResponse),
    (DeleteShareGroupStateRequest, DeleteShareGroupStateResponse),
    (ReadShareGroupStateSummaryRequest, ReadShareGroupStateSummaryResponse),
    (StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse),
    (StreamsGroupDescribeRequest, StreamsGroupDescribeResponse),
    (DescribeShareGroupOffsetsRequest, DescribeShareGroupOffsetsResponse),
    (AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse),
    (DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse),
)
"""The request and the response of every API, by key."""

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
