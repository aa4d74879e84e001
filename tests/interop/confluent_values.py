"""What a consumer of confluent-kafka reads."""

import confluent_kafka

from scenarios.clients.deadline import Deadline


def next_value(consumer: confluent_kafka.Consumer) -> bytes:
    """Return the value of the next record."""
    deadline = Deadline()
    while deadline.holds("a record"):
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            value: bytes = message.value()
            return value
    raise AssertionError
