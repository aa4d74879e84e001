from broker.administration.authorized_operations import (
    CLUSTER_OPERATIONS,
    TOPIC_OPERATIONS,
    bit_field,
)
from broker.authorization.acl import AclOperation


def test_operations_have_the_numbers_that_kafkas_clients_know() -> None:
    assert bit_field(TOPIC_OPERATIONS) == 3576
    assert bit_field(CLUSTER_OPERATIONS) == 8096


def test_topics_and_clusters_have_different_operations() -> None:
    assert AclOperation.READ in TOPIC_OPERATIONS
    assert AclOperation.READ not in CLUSTER_OPERATIONS
    assert AclOperation.IDEMPOTENT_WRITE in CLUSTER_OPERATIONS
    assert AclOperation.IDEMPOTENT_WRITE not in TOPIC_OPERATIONS
