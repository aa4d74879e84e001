"""Our admin client with Apache Kafka and with our broker: retries under KIP-599."""

import pytest

from client import clock
from client.admin import Admin
from client.errors import ThrottlingQuotaExceededError
from client.resources import Address, NewTopic, QuotaChange
from client.transport import SocketTransport
from scenarios.clients.deadline import Deadline

RATE = 10.0
BURST = 110  # eleven samples of one second: the burst of a client that was idle
OVERDRAFT = 3


@pytest.fixture
def address(servers: str) -> Address:
    host, _, port = servers.partition(":")
    return Address(host, int(port))


def test_a_refused_topic_is_created_after_the_throttle_time(
    address: Address,
) -> None:
    with SocketTransport("retrying") as transport:
        admin = Admin([address], transport, now_ms=clock.now_ms, sleep_ms=clock.sleep_ms)
        change = QuotaChange({"client-id": "retrying"}, {"controller_mutation_rate": RATE})
        assert admin.alter_client_quotas([change]) == [None]
        names: list[str] = []
        deadline = Deadline()
        refusal = None
        while not isinstance(refusal, ThrottlingQuotaExceededError):
            assert refusal is None
            names += [f"retried-{len(names)}", f"retried-{len(names) + 1}"]
            topics = [NewTopic(names[-2], BURST + OVERDRAFT, 1), NewTopic(names[-1], 1, 1)]
            # In Apache Kafka a quota takes effect a moment after the response.
            asked_at_ms = clock.now_ms()
            outcomes = admin.create_topics(topics, retry_on_quota_violation=False)
            assert outcomes[names[-2]] is None
            refusal = outcomes[names[-1]]
            assert deadline.holds("a refusal")
        assert 0 < refusal.throttle_time_ms <= OVERDRAFT / RATE * 1000
        outcomes = admin.create_topics([NewTopic(names[-1], 1, 1)])
        assert outcomes == {names[-1]: None}
        assert clock.now_ms() - asked_at_ms >= refusal.throttle_time_ms
