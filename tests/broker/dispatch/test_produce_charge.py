"""The charge of Produce requests also says whether a quota counts producer ids."""

from broker.dispatch.produce_charge import ProduceCharge
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import NOW_MS


def test_only_a_quota_of_producer_ids_needs_the_gate_of_a_connection() -> None:
    cluster = make_cluster()
    charge = ProduceCharge(cluster, 1, "alice", "client", NOW_MS)
    assert charge.is_known_producer is None

    cluster.quotas.clients.alter((("user", "bob"),), [("producer_ids_rate", 1.0)])
    charge = ProduceCharge(cluster, 1, "alice", "client", NOW_MS)
    assert charge.is_known_producer is not None
    assert not charge.is_known_producer(1, NOW_MS)


def test_the_rate_is_that_of_the_broker() -> None:
    cluster = make_cluster(2)
    cluster.quotas.clients.alter((("user", "alice"),), [("producer_byte_rate", 1000.0)])
    for broker_id in (1, 2):
        charge = ProduceCharge(cluster, broker_id, "alice", "client", NOW_MS)
        manager = cluster.quotas.brokers[broker_id].produce
        assert charge.rate is manager.rate_of("alice", "client", NOW_MS)
