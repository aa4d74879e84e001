"""Quotas of users: each authenticated user has its own, whatever the client id."""

import confluent_kafka
import pytest

from mock_kafka import ConfigValue, MockKafka
from scenarios.clients.confluent_kafka import create_topic

RECORD = b"x" * 50_000
RECORD_COUNT = 5


def throttles_of(servers: str, user: str) -> list[float]:
    """Send more than a burst, all delivered; return the throttle times in seconds."""
    throttle_times_s: list[float] = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": servers,
            "client.id": "the-same",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": user,
            "sasl.password": f"secret-of-{user}",
            "batch.num.messages": 1,
            "throttle_cb": lambda event: throttle_times_s.append(event.throttle_time),
        }
    )
    for _ in range(RECORD_COUNT):
        producer.produce("t", RECORD)
    assert producer.flush(20) == 0
    producer.poll(0)
    return throttle_times_s


@pytest.mark.interop
def test_each_user_has_its_own_quota() -> None:
    config: dict[str, ConfigValue] = {
        "listeners": "PLAINTEXT://:0,SASL_PLAINTEXT://:0",
        "sasl.users": "alice:secret-of-alice,bob:secret-of-bob",
        # A burst of two seconds' worth: four records of the five.
        "quota.window.num": 3,
        "client.quotas": "user=alice,producer_byte_rate=100000",
    }
    with MockKafka(config=config) as kafka:
        create_topic(kafka.bootstrap_servers, "t")
        servers = kafka.bootstrap_servers_of("SASL_PLAINTEXT")
        throttles = {user: throttles_of(servers, user) for user in ("alice", "bob")}
    assert throttles["bob"] == []
    assert throttles["alice"]
    assert 0 < throttles["alice"][0] < 1
