from broker.administration.authorized_operations import (
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    bit_field,
    cluster_operations,
    topic_operations,
)
from protocol.acls import AclOperation
from protocol.api_keys import ApiKey
from tests.broker.acl_cluster import make_acl_cluster, noted
from tests.broker.cluster_builder import make_cluster, make_context


def test_operations_have_the_numbers_that_kafkas_clients_know() -> None:
    assert bit_field(TOPIC_OPERATIONS) == 3576
    assert bit_field(CLUSTER_OPERATIONS) == 8096


def test_topics_and_clusters_have_different_operations() -> None:
    assert AclOperation.READ in TOPIC_OPERATIONS
    assert AclOperation.READ not in CLUSTER_OPERATIONS
    assert AclOperation.IDEMPOTENT_WRITE in CLUSTER_OPERATIONS
    assert AclOperation.IDEMPOTENT_WRITE not in TOPIC_OPERATIONS


def test_the_client_gets_those_that_it_may_do() -> None:
    context = make_context(ApiKey.METADATA, 10)
    assert topic_operations(context, make_cluster(), "a") == TOPIC_OPERATIONS
    assert cluster_operations(context, make_cluster()) == CLUSTER_OPERATIONS
    cluster = make_acl_cluster("ALL TOPIC a", "WRITE TOPIC b", "ALTER_CONFIGS CLUSTER")
    assert topic_operations(context, cluster, "a") == TOPIC_OPERATIONS
    assert topic_operations(context, cluster, "b") == {AclOperation.WRITE, AclOperation.DESCRIBE}
    assert topic_operations(context, cluster, "c") == frozenset()
    assert noted(context) == []
    assert cluster_operations(context, cluster) == frozenset()
    assert noted(context) == ["DESCRIBE CLUSTER kafka-cluster"]
    assert cluster_operations(context, make_acl_cluster("ALL CLUSTER")) == CLUSTER_OPERATIONS
