"""Dead letters of a share group: the brokers write rejected records to a queue (KIP-1191)."""

from confluent_kafka import AcknowledgeType, ShareConsumer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

GROUP_CONFIG = {
    "share.auto.offset.reset": "earliest",
    "errors.deadletterqueue.topic.name": "dlq.orders",
    "errors.deadletterqueue.copy.record.enable": "true",
}


def configure_group(servers, group_id):
    """Give a group a dead letter queue."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in GROUP_CONFIG.items()
    ]
    resource = ConfigResource(ResourceType.GROUP, group_id, incremental_configs=entries)
    admin = AdminClient(servers)
    for outcome in admin.incremental_alter_configs([resource]).values():
        outcome.result(10)


def process_orders(consumer, count):
    """Process this many orders; reject those that are no numbers."""
    processed = []
    while count > 0:
        for message in consumer.poll(1):
            count -= 1
            try:
                processed.append(int(message.value()))
                consumer.acknowledge(message)
            except ValueError:
                consumer.acknowledge(message, AcknowledgeType.REJECT)
    consumer.commit_sync()
    return processed


def test_the_brokers_keep_what_the_consumers_reject(mock_kafka):
    mock_kafka.create_topic(
        "dlq.orders", partitions=1, config={"errors.deadletterqueue.group.enable": "true"}
    )
    mock_kafka.produce("orders", b"1", b"broken", b"3", partition=0)
    servers = {"bootstrap.servers": mock_kafka.bootstrap_servers}
    configure_group(servers, "billing")
    consumer = ShareConsumer(
        {**servers, "group.id": "billing", "share.acknowledgement.mode": "explicit"}
    )
    consumer.subscribe(["orders"])
    assert process_orders(consumer, 3) == [1, 3]
    [dead] = mock_kafka.wait_for_records("dlq.orders", 1)
    assert dead.value == b"broken"
    headers = dict(dead.headers)
    assert headers["__dlq.errors.offset"] == b"1"
    assert headers["__dlq.errors.message"] == b"Offset rejected by client."
    consumer.close()
