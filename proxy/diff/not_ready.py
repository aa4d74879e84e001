"""What the real cluster could not do yet: the client asks again, so our broker need not do it."""

from typing import Any

from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.json_view import error_name
from proxy.diff.field_comparison import ERROR_CODE, FieldDifference
from proxy.diff.played_request import PlayedRequest, error_codes

NOT_READY = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    }
)
"""Errors with which a cluster says that it can't do it now."""
_PLAYED_ANYWAY = frozenset({ApiKey.FETCH, ApiKey.METADATA, ApiKey.SHARE_FETCH})
"""They change nothing that a second one would change again, and have a session or create topics."""


def why_not_ready(compared: PlayedRequest) -> str | None:
    """Return why a request need not be played, or None if the real cluster has done a part of it.

    InitProducerId is played in any case: it also aborts an open transaction.
    """
    if compared.real is None or compared.api_key in _PLAYED_ANYWAY:
        return None
    if compared.real_response is None:
        return "the response of the cluster is malformed"
    codes = error_codes(compared.real_response)
    if codes and codes <= NOT_READY:
        return _reason(*codes)
    return None


def leave_out_failed(request: Any, compared: PlayedRequest) -> None:
    """Leave out the partitions of a Produce request that the client will send again."""
    failed = {
        (topic.name or topic.topic_id, partition.index)
        for topic in compared.real_response.responses
        for partition in topic.partition_responses
        if partition.error_code in NOT_READY
    }
    for topic in request.topic_data if failed else ():
        name = topic.name or topic.topic_id
        topic.partition_data = [
            partition for partition in topic.partition_data if (name, partition.index) not in failed
        ]


def not_ready(difference: FieldDifference) -> str | None:
    """Return why a part of a request has another error code, or None."""
    if difference.path.endswith(ERROR_CODE) and difference.kafka in NOT_READY:
        return _reason(difference.kafka)
    return None


def _reason(*codes: int) -> str:
    return f"the cluster was not ready: {', '.join(sorted(map(error_name, codes)))}"
