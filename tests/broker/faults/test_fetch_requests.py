"""The sessions of Fetch and ShareFetch under fault rules; `test_injection` has the responses."""

from typing import Any

import pytest

from broker.cluster.fetch_sessions import CachedPartition, FetchPartitionData
from broker.faults import fault_rule
from broker.faults.fetch_requests import complete, full_request, withholding
from broker.faults.table import FaultTable
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context

VERSION = 12


def fetch_of_session(session_id: int) -> Any:
    return messages.FetchRequest(
        version=VERSION, max_wait_ms=0, session_id=session_id, session_epoch=1, topics=[],
        forgotten_topics_data=[],
    )  # fmt: skip


class InSession:
    """A cluster with a topic, whose partition a session has."""

    def __init__(self) -> None:
        self.cluster = make_cluster(1)
        self.cluster.create_topic("t", [(1,)], {})
        self.context = make_context(ApiKey.FETCH, VERSION)
        sent = (CachedPartition("t", None, 0, 0, 1000), FetchPartitionData(ErrorCode.NONE))
        self.session_id = self.cluster.fetch_sessions[1].create(
            [sent], NOW_MS, is_privileged=False, uses_topic_ids=False
        )

    def complete(self) -> Any:
        return complete(self.context, fetch_of_session(self.session_id), self.cluster)


def test_a_fetch_names_the_partitions_of_its_session() -> None:
    request = InSession().complete()

    assert [(topic.topic, len(topic.partitions)) for topic in request.topics] == [("t", 1)]


@pytest.mark.parametrize(
    ("rule", "is_whole"),
    [({"error": "UNKNOWN_SERVER_ERROR"}, True), ({"throttle_time_ms": 1}, False)],
)
def test_a_fetch_leaves_its_session_only_for_a_changed_response(
    rule: dict[str, Any], is_whole: bool
) -> None:
    fetch = InSession()
    table = FaultTable(fetch.cluster)
    table.add(fault_rule(api="Fetch", **rule), NOW_MS)
    decision = table.evaluate(fetch.context, fetch.complete, fetch.complete)
    assert decision is not None

    full = full_request(fetch.context, decision, fetch.complete, fetch.cluster)

    assert (full is not None) == is_whole
    remaining = fetch.cluster.fetch_sessions[1].get(fetch.session_id)
    assert (remaining is None) == is_whole


def test_requests_of_other_apis_are_left_alone() -> None:
    cluster, context = make_cluster(1), make_context(ApiKey.HEARTBEAT, 4)
    request = messages.HeartbeatRequest(version=4)

    assert complete(context, request, cluster) is request
    with withholding(context, request, cluster):
        pass
