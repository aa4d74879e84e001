"""The users' real clients: one that keeps its producer, and some that open one for a record.

A client that is not installed writes nothing.
"""

from typing import Any

from client import clock
from scenarios.client_logs import ISOLATED
from scenarios.clients.installed import ClientName, is_installed, load_client
from scenarios.clients.interface import Credentials, Delivery, ProducerOptions
from scenarios.clients.kafka_python import KAFKA_PYTHON

CARELESS, CAREFUL = "careless", "careful"
"""Users, their passwords, and the topics they write to."""

_PATIENCE_MS = 1_500
"""How long a client tries to deliver a record before its process is restarted."""
_FLUSH_S = 5

_ONE_RECORD_CONFIGS: dict[ClientName, dict[str, Any]] = {
    "aiokafka": {},
    "confluent-kafka": {
        "delivery.timeout.ms": _PATIENCE_MS,
        "logger": ISOLATED,
    },
    "kafka-python": {
        "delivery_timeout_ms": _PATIENCE_MS,
        "request_timeout_ms": _PATIENCE_MS,
    },
}


def _options(user: str, linger_ms: int) -> ProducerOptions:
    credentials = Credentials(user, user)
    return ProducerOptions(credentials=credentials, is_idempotent=True, linger_ms=linger_ms)


class CarefulClient:
    """kafka-python's producer, opened once."""

    def __init__(self, servers: str) -> None:
        self._producer = KAFKA_PYTHON.producer(servers, options=_options(CAREFUL, 2))
        self.delivered = 0
        self.errors: list[str] = []

    def write(self, count: int) -> float:
        """Send `count` records and wait for them; return the seconds it took."""
        began_ms = clock.now_ms()
        deliveries: list[Delivery] = []
        for number in range(count):
            self._producer.send(CAREFUL, b"%d" % number, deliveries.append)
        self._producer.flush()
        self.errors += [d.error_name for d in deliveries if d.error_name is not None]
        self.delivered += sum(delivery.error is None for delivery in deliveries)
        return max(1, clock.now_ms() - began_ms) / 1_000

    def close(self) -> None:
        """End it."""
        self._producer.close()


def write_once(name: ClientName, servers: str) -> bool | None:
    """Open a producer, write a record, and abandon the producer.

    Returns:
        Whether the record was delivered, or None if the client is not installed.
    """
    if not is_installed(name):
        return None
    deliveries: list[Delivery] = []
    config, options = _ONE_RECORD_CONFIGS[name], _options(CARELESS, 0)
    producer = load_client(name).producer(servers, config, options)
    try:
        producer.send(CARELESS, b"once", deliveries.append)
        producer.flush(_FLUSH_S)
    except TimeoutError:
        return False
    finally:
        producer.abort()
    return deliveries[0].error is None
