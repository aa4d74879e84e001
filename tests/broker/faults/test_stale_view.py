"""A broker with stale metadata responds from an earlier state."""

from typing import Any

import broker.handlers  # noqa: F401 - registers every API
from broker.cluster import failover
from broker.cluster.coordinators import (
    ensure_internal_topic,
    move_coordinator,
    move_transaction_coordinator,
)
from broker.cluster.internal_topics import GROUP_METADATA, TRANSACTION_STATE
from broker.faults.stale_view import StaleView
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context

GROUP = "group"


def test_a_stale_view_keeps_leaders_brokers_coordinators_and_topics() -> None:
    cluster = make_cluster(**{"auto.create.topics.enable": "true"})
    partition = cluster.create_topic("a", [(1, 2)], {}).partitions[0]
    ensure_internal_topic(cluster, GROUP_METADATA)
    ensure_internal_topic(cluster, TRANSACTION_STATE)
    before = cluster.coordinator_id(GROUP)
    transaction_coordinator_id = cluster.transaction_coordinator_id(GROUP)
    view: Any = StaleView(cluster)

    cluster.move_leader(partition, 2, NOW_MS)
    failover.stop_broker(cluster, 1, NOW_MS)
    cluster.create_topic("b", [(2,)], {})
    move_coordinator(cluster, GROUP, 3 if before != 3 else 2, NOW_MS)
    other_id = 3 if transaction_coordinator_id != 3 else 2
    move_transaction_coordinator(cluster, GROUP, other_id, NOW_MS)
    topic_class = messages.MetadataRequest.MetadataRequestTopic
    request = messages.MetadataRequest(
        version=9,
        topics=[topic_class(version=9, name=name) for name in ("a", "b", "new")],
        allow_auto_topic_creation=True,
    )
    response = ROUTES[ApiKey.METADATA].handler(make_context(ApiKey.METADATA, 9), request, view)

    assert [listed.node_id for listed in response.brokers] == [1, 2, 3]
    assert response.controller_id == 1
    assert [topic.error_code for topic in response.topics] == [0, 3, 3]
    assert response.topics[0].partitions[0].leader_id == 1
    assert cluster.topics.get("new") is None
    find = messages.FindCoordinatorRequest(version=3, key=GROUP, key_type=0)
    context = make_context(ApiKey.FIND_COORDINATOR, 3)
    assert ROUTES[ApiKey.FIND_COORDINATOR].handler(context, find, view).node_id == before
    assert view.transaction_coordinator_id(GROUP) == transaction_coordinator_id
