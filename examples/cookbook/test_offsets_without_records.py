"""Offsets without records: a job that reads up to the end must not count offsets."""

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition


def read_to_end(servers, topic):
    """Read a partition up to its end, by the position: the last offset may have no record."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "job"})
    partition = TopicPartition(topic, 0, OFFSET_BEGINNING)
    _, end = consumer.get_watermark_offsets(partition, timeout=10)
    consumer.assign([partition])
    values = []
    while consumer.position([partition])[0].offset < end:
        record = consumer.poll(1)
        if record is not None:
            values.append(record.value())
    consumer.close()
    return values


def test_a_job_ends_behind_gaps_and_markers(mock_kafka):
    mock_kafka.create_topic("orders", partitions=1)
    mock_kafka.produce("orders", b"1", b"2")
    mock_kafka.leave_gap("orders", count=3)
    mock_kafka.produce("orders", b"3")
    mock_kafka.append_control_record("orders", kind="commit")
    assert read_to_end(mock_kafka.bootstrap_servers, "orders") == [b"1", b"2", b"3"]
    assert mock_kafka.topic("orders").partitions[0].log_end_offset == 7
