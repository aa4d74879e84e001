"""How a Fetch reads follows from its request and the configuration."""

from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from broker.fetch.fetch_params import fetch_params
from broker.fetch.partition_read import FetchParams
from protocol import messages
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import make_cluster, make_context

SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def params(cluster: Cluster, version: int = 12, **fields: Any) -> FetchParams:
    usual: dict[str, Any] = {"replica_id": -1, "max_bytes": 100, "min_bytes": 1, "rack_id": "r"}
    request = messages.FetchRequest(
        version=version, **{"isolation_level": 0, **usual, **fields}, topics=[]
    )
    return fetch_params(make_context(ApiKey.FETCH, version), request, cluster)


def test_a_rack_counts_only_if_the_broker_selects_replicas_by_it() -> None:
    with_selector = make_cluster(1, **{"replica.selector.class": SELECTOR})

    assert params(make_cluster(1)).rack_id == ""
    assert params(with_selector).rack_id == "r"
    assert params(with_selector, replica_id=2).rack_id == ""


@pytest.mark.parametrize(("version", "requires_leader"), [(10, True), (11, False)])
def test_consumers_read_from_followers_since_version_11(
    version: int, requires_leader: bool
) -> None:
    assert params(make_cluster(1), version).requires_leader is requires_leader
    assert params(make_cluster(1), version, replica_id=2).requires_leader


def test_only_consumers_read_committed_records_only() -> None:
    assert params(make_cluster(1), isolation_level=1).reads_committed
    assert not params(make_cluster(1), isolation_level=1, replica_id=2).reads_committed


def test_the_configuration_bounds_what_a_client_asks_for() -> None:
    cluster = make_cluster(1, **{"fetch.max.bytes": "1024"})

    found = params(cluster, max_bytes=5000, min_bytes=3000)

    assert (found.bytes_max, found.bytes_min) == (1024, 1024)
