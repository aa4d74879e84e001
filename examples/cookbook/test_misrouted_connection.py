"""A misrouted connection: the address of one broker leads to another, which says so."""

import socket
import struct

import pytest
from confluent_kafka import Producer

CONFIG = {"cluster.id": "orders-cluster"}
REBOOTSTRAP_REQUIRED = 129


def api_versions_error(address, cluster_id, node_id):
    """Ask as clients of Kafka 4.4 do: name the cluster and the node that we want (KIP-1242)."""
    host, port = address.split(":")
    words = (b"demo", b"1", cluster_id.encode())
    texts = b"".join(bytes([len(word) + 1]) + word for word in words)
    body = b"\0" + texts + struct.pack(">i", node_id) + b"\0"
    request = struct.pack(">hhih", 18, 5, 1, 4) + b"demo" + body
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        response = connection.makefile("rb")
        size, _correlation_id = struct.unpack(">ii", response.read(8))
        return struct.unpack(">h", response.read(size - 4)[:2])[0]


@pytest.mark.mock_kafka(brokers=2, config=CONFIG)
def test_the_broker_at_a_wrong_address_says_that_it_is_another(mock_kafka):
    topic = mock_kafka.create_topic("orders", partitions=1)
    leader = topic.partitions[0].leader
    other = 3 - leader
    addresses = dict(enumerate(mock_kafka.bootstrap_servers.split(","), start=1))
    host, port = addresses[other].split(":")
    mock_kafka.advertise(leader, host, int(port))  # such as a load balancer with a wrong target

    assert api_versions_error(addresses[other], "orders-cluster", other) == 0
    assert api_versions_error(addresses[other], "orders-cluster", leader) == REBOOTSTRAP_REQUIRED
    assert api_versions_error(addresses[other], "old-cluster", other) == REBOOTSTRAP_REQUIRED

    # An older client does not ask. It sends the leader's records to the other broker.
    settings = {"bootstrap.servers": mock_kafka.bootstrap_servers, "message.timeout.ms": 1000}
    producer = Producer(settings)
    producer.produce("orders", b"one coffee")
    producer.flush(10)
    assert mock_kafka.requests(api="Produce", error="NOT_LEADER_OR_FOLLOWER", broker=other)
    assert mock_kafka.records("orders") == []
