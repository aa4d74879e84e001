"""Kafka's client side: a producer, an admin client, command line tools. Knows `protocol/` alone.

    from client import NewTopic, Producer, ProducerSettings, open_admin

The producer is for asyncio, the admin client blocks. Each is loaded when it is asked for: the tools
start quicker without asyncio.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from client.admin import Admin
    from client.blocking_admin import open_admin
    from client.producer.producer import Producer
    from client.producer.settings import ProducerSettings
    from client.resources import NewPartitions, NewTopic

__all__ = ["Admin", "NewPartitions", "NewTopic", "Producer", "ProducerSettings", "open_admin"]

_MODULES = {
    "Admin": "admin",
    "NewPartitions": "resources",
    "NewTopic": "resources",
    "Producer": "producer.producer",
    "ProducerSettings": "producer.settings",
    "open_admin": "blocking_admin",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
