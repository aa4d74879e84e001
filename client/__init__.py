"""Kafka's client side: a producer, an admin client, command line tools. Knows `protocol/` alone.

    from client import Producer, ProducerSettings

The producer is loaded when it is asked for: the tools start quicker without asyncio.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from client.producer.producer import Producer
    from client.producer.settings import ProducerSettings

__all__ = ["Producer", "ProducerSettings"]


def __getattr__(name: str) -> Any:
    if name == "Producer":
        from client.producer.producer import Producer  # noqa: PLC0415

        return Producer
    if name == "ProducerSettings":
        from client.producer.settings import ProducerSettings  # noqa: PLC0415

        return ProducerSettings
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
