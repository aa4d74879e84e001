"""The users' real clients: one that keeps its producer, and some that make one for a record.

A client that is not installed writes nothing.
"""

import asyncio
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

from client import clock
from scenarios.client_logs import ISOLATED

CARELESS, CAREFUL = "careless", "careful"
"""Users, their passwords, and the topics they write to."""

_PATIENCE_MS = 1_500
"""How long a client tries to get a record through before its process is restarted."""


class CarefulClient:
    """kafka-python's producer, made once."""

    def __init__(self, servers: str) -> None:
        kafka = importlib.import_module("kafka")
        self._producer: Any = kafka.KafkaProducer(
            bootstrap_servers=servers, linger_ms=2, **_kafka_python_sasl(CAREFUL)
        )
        self.delivered = 0
        self.errors: list[str] = []

    def write(self, count: int) -> float:
        """Send so many records and wait for them; returns the seconds it took."""
        began_ms = clock.now_ms()
        futures = [self._producer.send(CAREFUL, b"%d" % number) for number in range(count)]
        self._producer.flush()
        for future in futures:
            if future.failed():
                self.errors.append(type(future.exception).__name__)
            else:
                self.delivered += 1
        return max(1, clock.now_ms() - began_ms) / 1_000

    def close(self) -> None:
        """End it."""
        self._producer.close()


def write_once(name: str, servers: str) -> bool | None:
    """Make a producer, write a record, and forget it; whether it got through. None: not here."""
    if importlib.util.find_spec(name) is None:
        return None
    return _WRITERS[name](servers)


def _by_confluent(servers: str) -> bool:
    confluent_kafka = importlib.import_module("confluent_kafka")
    errors: list[Any] = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": servers,
            "delivery.timeout.ms": _PATIENCE_MS,
            "enable.idempotence": True,
            "linger.ms": 0,
            "sasl.mechanism": "PLAIN",
            "sasl.password": CARELESS,
            "sasl.username": CARELESS,
            "security.protocol": "SASL_PLAINTEXT",
        },
        logger=ISOLATED,
    )
    producer.produce(CARELESS, b"once", on_delivery=lambda error, _message: errors.append(error))
    producer.flush(5)
    return len(errors) == 1 and errors[0] is None


def _by_kafka_python(servers: str) -> bool:
    kafka = importlib.import_module("kafka")
    producer: Any = kafka.KafkaProducer(
        bootstrap_servers=servers,
        delivery_timeout_ms=_PATIENCE_MS,
        linger_ms=0,
        request_timeout_ms=_PATIENCE_MS,
        **_kafka_python_sasl(CARELESS),
    )
    future = producer.send(CARELESS, b"once")
    try:
        future.get(timeout=5)
    except importlib.import_module("kafka.errors").KafkaError:
        return False
    finally:
        producer.close(timeout=0)
    return True


def _by_aiokafka(servers: str) -> bool:
    aiokafka = importlib.import_module("aiokafka")

    async def write() -> bool:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=servers,
            enable_idempotence=True,
            sasl_mechanism="PLAIN",
            sasl_plain_password=CARELESS,
            sasl_plain_username=CARELESS,
            security_protocol="SASL_PLAINTEXT",
        )
        await producer.start()
        try:
            await producer.send_and_wait(CARELESS, b"once")
        except importlib.import_module("aiokafka.errors").KafkaError:
            return False
        finally:
            await producer.stop()
        return True

    return asyncio.run(write())


_WRITERS: dict[str, Callable[[str], bool]] = {
    "aiokafka": _by_aiokafka,
    "confluent_kafka": _by_confluent,
    "kafka": _by_kafka_python,
}


def _kafka_python_sasl(user: str) -> dict[str, str]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": user,
        "sasl_plain_password": user,
    }
