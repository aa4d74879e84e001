from uuid import UUID, uuid4

from broker.addresses import Address
from broker.cluster.brokers import Broker
from broker.config.broker_config import BrokerConfig
from proxy.mirror import BOOTSTRAP_ID, MirrorCluster
from tests.proxy.responses import TOPIC_ID, metadata


def new_mirror() -> MirrorCluster:
    mirror = MirrorCluster(BrokerConfig.from_overrides({}), cluster_id="", new_uuid=uuid4)

    def open_port(broker: Broker) -> None:
        broker.endpoints = {"PLAINTEXT": Address("proxy", 100 + broker.node_id)}

    mirror.open_port = open_port
    return mirror


def test_a_broker_keeps_its_port_when_it_moves() -> None:
    mirror = new_mirror()
    first = mirror.advertised("PLAINTEXT", 3, Address("one", 9092))
    assert first == Address("proxy", 103)
    assert mirror.advertised("PLAINTEXT", 3, Address("two", 9092)) == first
    assert mirror.upstream == {3: Address("two", 9092)}
    assert list(mirror.brokers) == [BOOTSTRAP_ID, 3]


def test_the_bootstrap_port_is_no_broker_that_metadata_lists() -> None:
    mirror = new_mirror()
    mirror.advertised("PLAINTEXT", 3, Address("one", 9092))
    assert mirror.alive_broker_ids() == [3]


def test_metadata_names_racks_the_controller_and_topics() -> None:
    mirror, found = new_mirror(), metadata()
    for broker in found.brokers:
        mirror.advertised("PLAINTEXT", broker.node_id, Address(broker.host, broker.port))
    mirror.note_metadata(found)
    assert (mirror.brokers[1].rack, mirror.brokers[2].rack, mirror.controller_id) == (None, "r", 1)
    assert mirror.topics.name_of(TOPIC_ID) == "orders"


def test_a_topic_that_was_created_again_has_its_new_id() -> None:
    mirror = new_mirror()
    mirror.learn_topics([("orders", TOPIC_ID), ("__consumer_offsets", UUID(int=1)), (None, None)])
    mirror.learn_topics([("orders", UUID(int=8))])
    assert mirror.topics.name_of(TOPIC_ID) is None
    assert mirror.topics.name_of(UUID(int=8)) == "orders"
    assert len(mirror.topics) == 1


def test_a_reset_keeps_brokers_and_topics() -> None:
    mirror = new_mirror()
    mirror.advertised("PLAINTEXT", 3, Address("one", 9092))
    mirror.learn_topics([("orders", TOPIC_ID)])
    mirror.reset()
    assert list(mirror.brokers) == [BOOTSTRAP_ID, 3]
    assert mirror.alive_broker_ids() == [3]
    assert mirror.topics.name_of(TOPIC_ID) == "orders"
