"""The producer state of partitions over the admin port."""

import pytest

from broker.http_admin.operation import Problem
from broker.http_admin.producers import ProducersQuery, list_producers
from broker.http_admin.topics import NewTopicBody, create_topic
from tests.broker.http_admin.admin_server import make_admin
from tests.broker.http_admin.kafka_clients import produce


def test_producer_state_is_counted_and_shown_by_partition() -> None:
    admin = make_admin()
    create_topic(admin, NewTopicBody("a"))
    create_topic(admin, NewTopicBody("b"))
    for producer_id in (5, 6):
        produce(admin, "a", producer_id)
    produce(admin, "b", 5)
    view = list_producers(admin, ProducersQuery())

    assert view.count == 3
    assert view.bytes > 0
    assert [(partition.topic, partition.count) for partition in view.partitions] == [
        ("a", 2),
        ("b", 1),
    ]
    (first,) = list_producers(admin, ProducersQuery("a", 0, 1)).partitions[0].producers
    assert (first.producer_id, first.producer_epoch, first.last_sequence) == (5, 0, 0)
    assert list_producers(admin, ProducersQuery("a", 1)).count == 0
    with pytest.raises(Problem):
        list_producers(admin, ProducersQuery("nowhere"))
