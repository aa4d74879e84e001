"""Rebalance in the middle: what was processed is committed before partitions are revoked."""

from confluent_kafka import Consumer


class Billing:
    def __init__(self, bootstrap_servers):
        self.processed = []
        self.uncommitted = None
        self.revocation_count = 0
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "billing",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 100,
            }
        )
        self.consumer.subscribe(["orders"], on_revoke=self.commit_before_revocation)

    def commit_before_revocation(self, consumer, partitions):
        self.revocation_count += 1
        if self.uncommitted:
            consumer.commit(self.uncommitted, asynchronous=False)
            self.uncommitted = None

    def process_one(self):
        if message := self.consumer.poll(0.5):
            self.processed.append(message.value())
            self.uncommitted = message


def test_no_record_is_processed_twice_when_the_group_rebalances(mock_kafka):
    values = [b"%d" % number for number in range(10)]
    mock_kafka.produce("orders", *values[:5], partition=0)
    billing = Billing(mock_kafka.bootstrap_servers)
    while len(billing.processed) < 5:
        billing.process_one()
    mock_kafka.rebalance("billing")
    mock_kafka.produce("orders", *values[5:], partition=0)
    while billing.revocation_count == 0 or len(billing.processed) < 10:
        billing.process_one()
    billing.consumer.close()
    assert billing.processed == values
    assert mock_kafka.committed("billing") == {("orders", 0): 10}
