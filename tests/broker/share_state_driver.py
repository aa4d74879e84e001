"""Requests to share coordinators, with the fields that all of them have."""

from typing import Any

from protocol import messages
from tests.broker.share_driver import GROUP, ShareDriver


def joined_driver(**overrides: Any) -> ShareDriver:
    """Return a driver whose group has a state of its partition."""
    driver = ShareDriver(**overrides)
    driver.join(1)
    return driver


def ask_state(
    driver: ShareDriver,
    request_name: str,
    topic_name: str,
    *,
    group_id: str = GROUP,
    broker_id: int = 1,
    partition: int = 0,
    version: int = 0,
    **fields: Any,
) -> Any:
    """Send a request with one partition; return the result of the partition."""
    request_class = getattr(messages, request_name)
    topic_class = getattr(request_class, topic_name)
    request = request_class(
        group_id=group_id,
        topics=[
            topic_class(
                topic_id=driver.topic.topic_id,
                partitions=[topic_class.PartitionData(partition=partition, **fields)],
            )
        ],
    )
    response = driver.ask(request, version, broker_id=broker_id)
    return response.results[0].partitions[0] if response.results else None
