"""A consumer of confluent-kafka with `group.protocol=consumer`."""

from typing import Any

from confluent_kafka import Consumer

from mock_kafka import MockKafka


class Member:
    """A consumer and the partitions that its callbacks gave it and took away."""

    def __init__(self, brokers: MockKafka, subscription: str, **settings: Any) -> None:
        self.values: list[bytes] = []
        self.assigned: list[set[tuple[str, int]]] = []
        self.revoked: list[set[tuple[str, int]]] = []
        self.consumer = Consumer(
            {
                "bootstrap.servers": brokers.bootstrap_servers,
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 200,
                **settings,
            }
        )
        self.consumer.subscribe(
            [subscription],
            on_assign=lambda _, found: self.assigned.append(
                {(p.topic, p.partition) for p in found}
            ),
            on_revoke=lambda _, found: self.revoked.append({(p.topic, p.partition) for p in found}),
        )

    def poll(self) -> None:
        message = self.consumer.poll(0.02)
        if message is not None:
            assert message.error() is None, message.error()
            self.values.append(message.value())

    @property
    def partitions(self) -> set[tuple[str, int]]:
        return {(p.topic, p.partition) for p in self.consumer.assignment()}
