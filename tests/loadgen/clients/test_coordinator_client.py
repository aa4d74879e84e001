"""Requests reach the coordinator of the group, also after it has moved."""

from typing import Any

import pytest

from client.errors import ConnectionLostError
from loadgen.clients.coordinator_client import CoordinatorClient
from loadgen.clients.load_client import Event
from loadgen.plan.plan import Tenant
from protocol import messages
from protocol.errors import ErrorCode
from tests.loadgen.stubs import run_of

TENANT = Tenant("a", "consumer-group")
EVENT = Event(1, 0, 0, 0)


class Answered(CoordinatorClient):
    """A client whose requests get these responses; it notes the nodes that they go to."""

    def __init__(self, *responses: Any) -> None:
        super().__init__(run_of(TENANT), TENANT, 0)
        self.responses = list(responses)
        self.nodes: list[int] = []

    async def connected(self, connections: Any, node_of: Any, **_: Any) -> Any:
        return connections, node_of(0)

    async def send_request(self, *arguments: Any, **_: Any) -> Any:
        self.nodes.append(arguments[2])
        return self.responses.pop(0)


def coordinator(node_id: int, error_code: int = 0) -> "messages.FindCoordinatorResponse":
    found = messages.FindCoordinatorResponse.Coordinator(
        node_id=node_id, host="h", port=1, error_code=error_code
    )
    return messages.FindCoordinatorResponse(coordinators=[found])


def offsets(offset: int, error_code: int = 0) -> "messages.OffsetFetchResponse":
    topic_class = messages.OffsetFetchResponse.OffsetFetchResponseTopic
    partition = topic_class.OffsetFetchResponsePartition(
        partition_index=0, committed_offset=offset, error_code=error_code
    )
    return messages.OffsetFetchResponse(topics=[topic_class(partitions=[partition])])


async def test_a_moved_coordinator_is_found_again() -> None:
    client = Answered(
        coordinator(2),
        offsets(-1, ErrorCode.NOT_COORDINATOR),
        coordinator(3),
        offsets(7),
        offsets(8),
    )
    with pytest.raises(ConnectionLostError, match="the coordinator moved"):
        await client.committed_offsets(EVENT, [0])
    assert await client.committed_offsets(EVENT, [0]) == {0: 7}
    assert await client.commit_offsets(EVENT, {0: 8}) == 0
    assert client.nodes == [1, 2, 1, 3, 3]


async def test_without_a_coordinator_there_is_an_error() -> None:
    client = Answered(coordinator(-1, ErrorCode.COORDINATOR_NOT_AVAILABLE))
    with pytest.raises(ConnectionLostError, match="no coordinator"):
        await client.committed_offsets(EVENT, [0])


async def test_offsets_of_an_open_transaction_are_not_stable() -> None:
    client = Answered(coordinator(2), *[offsets(5, ErrorCode.UNSTABLE_OFFSET_COMMIT)] * 2)
    with pytest.raises(ConnectionLostError, match="OffsetFetch: error 88"):
        await client.committed_offsets(EVENT, [0], require_stable=True)
    assert await client.committed_offsets(EVENT, [0]) == {0: 5}
