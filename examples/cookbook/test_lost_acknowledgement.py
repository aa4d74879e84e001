"""Lost acknowledgement: an idempotent producer retries, and the record is stored once."""

from confluent_kafka import Producer


def test_a_retry_after_a_lost_acknowledgement_stores_the_order_once(mock_kafka):
    mock_kafka.create_topic("orders", partitions=1)
    mock_kafka.drop_response(api="Produce", times=1)  # appended, then the connection closes
    settings = {"bootstrap.servers": mock_kafka.bootstrap_servers, "enable.idempotence": True}
    producer = Producer(settings)
    producer.produce("orders", b"one coffee")
    assert producer.flush(10) == 0
    assert [record.value for record in mock_kafka.records("orders")] == [b"one coffee"]
    assert len(mock_kafka.requests(api="Produce")) == 2
