"""Fenced instance: two processes with one group.instance.id, and the older one must stop."""

from confluent_kafka import Consumer


def start(mock_kafka):
    consumer = Consumer(
        {
            "bootstrap.servers": mock_kafka.bootstrap_servers,
            "group.id": "billing",
            "group.instance.id": "billing-1",
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 100,
        }
    )
    consumer.subscribe(["orders"])
    return consumer


def test_the_older_instance_is_fenced(mock_kafka):
    mock_kafka.produce("orders", b"1", partition=0)
    older = start(mock_kafka)
    assert older.poll(10).value() == b"1"
    newer = start(mock_kafka)
    assert newer.poll(10).value() == b"1"  # nothing was committed
    # The older one learns it from its next heartbeat.
    fenced = mock_kafka.wait_for(api="Heartbeat", error="FENCED_INSTANCE_ID")
    assert fenced.groups == ("billing",)
    assert len(mock_kafka.wait_for_stable("billing").members) == 1
    newer.close()
    older.close()
