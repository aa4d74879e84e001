"""Client instances and their subscriptions, with ids that Apache Kafka 4.1.0 sent."""

from uuid import UUID

import pytest

from broker.cluster.client_metrics import (
    ClientInstance,
    ClientInstances,
    Subscription,
    subscription_of,
)
from broker.config.broker_config import BrokerConfig
from protocol.configs import ResourceType
from protocol.errors import ErrorCode

CLIENT = UUID(int=5)
NOTHING = Subscription((), 300_000)
NOW_MS = 1_000_000
OK, THROTTLED = ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED


def instance() -> ClientInstance:
    return ClientInstances().find(1, 7, CLIENT, NOTHING, NOW_MS)


def push(
    client: ClientInstance,
    now_ms: int,
    subscription_id: int | None = None,
    compression_type: int = 0,
    size_bytes: int = 0,
    *,
    is_terminating: bool = False,
) -> ErrorCode:
    return client.push(
        client.subscription_id if subscription_id is None else subscription_id,
        compression_type,
        size_bytes,
        now_ms,
        is_terminating=is_terminating,
        size_bytes_max=1024,
    )


def test_the_id_of_a_subscription_is_kafkas() -> None:
    assert NOTHING.id_for(UUID(int=5)) == -725_132_325
    assert NOTHING.id_for(UUID("49423144-2a23-4468-9dd4-4bd00dbd9db9")) == 667_941_019
    assert NOTHING.id_for(UUID("066e88ff-779c-4eb1-9e7d-b2312b15b78d")) == 274_569_260


def test_a_subscription_comes_once_in_a_push_interval() -> None:
    client = instance()
    assert client.ask(NOW_MS) is OK
    assert client.ask(NOW_MS + 299_999) is THROTTLED
    assert client.ask(NOW_MS + 300_000) is OK


def test_the_first_push_after_a_subscription_may_come_early_and_the_next_may_not() -> None:
    client = instance()
    client.ask(NOW_MS)
    assert push(client, NOW_MS + 1) is OK
    assert push(client, NOW_MS + 2) is THROTTLED
    assert push(client, NOW_MS + 2, is_terminating=True) is OK
    assert push(client, NOW_MS + 900_000) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("fields", "error_code"),
    [
        ({"subscription_id": 7}, ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
        ({"compression_type": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"size_bytes": 1025}, ErrorCode.TELEMETRY_TOO_LARGE),
    ],
)
def test_a_wrong_push_is_refused(fields: dict[str, int], error_code: ErrorCode) -> None:
    assert push(instance(), NOW_MS, **fields) is error_code  # type: ignore[arg-type]


def test_after_an_unknown_subscription_id_the_client_may_ask_at_once() -> None:
    client = instance()
    client.ask(NOW_MS)
    push(client, NOW_MS + 1, subscription_id=7)
    assert client.ask(NOW_MS + 2) is OK
    assert client.ask(NOW_MS + 3) is THROTTLED


def test_an_instance_is_new_when_its_subscription_changed_or_it_expired() -> None:
    instances = ClientInstances()
    first = instances.find(1, 7, CLIENT, NOTHING, NOW_MS)
    assert instances.find(1, 7, CLIENT, NOTHING, NOW_MS + 900_000) is first
    assert instances.find(1, 7, CLIENT, NOTHING, NOW_MS + 1_800_001) is not first
    assert instances.find(2, 7, CLIENT, NOTHING, NOW_MS) is not first
    other = Subscription(("*",), 100)
    assert instances.find(1, 7, CLIENT, other, NOW_MS).subscription == other


def subscription(*layers: dict[str, str]) -> Subscription:
    config = BrokerConfig.from_overrides({})
    for number, layer in enumerate(layers):
        config = config.with_resource((ResourceType.CLIENT_METRICS, f"m{number}"), layer)
    config = config.with_resource((ResourceType.GROUP, "g"), {"consumer.session.timeout.ms": "1"})
    return subscription_of(config, {"client_id": "app-1", "client_software_name": None})


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([], NOTHING),
        ([{"metrics": "a.,b.", "interval.ms": "500"}], Subscription(("b.", "a."), 500)),
        ([{"metrics": "a."}, {"metrics": "*", "interval.ms": "900"}], Subscription(("*",), 900)),
        ([{"metrics": "a.", "match": "client_id=app-.*"}], Subscription(("a.",), 300_000)),
        ([{"metrics": "a.", "match": "client_id=app"}], NOTHING),
        ([{"metrics": "a.", "match": "client_software_name=.*"}], NOTHING),
        ([{"metrics": "a.", "match": "client_id=("}], NOTHING),
    ],
)
def test_a_client_is_asked_for_the_metrics_of_all_resources_that_match(
    layers: list[dict[str, str]], expected: Subscription
) -> None:
    found = subscription(*layers)
    assert found.push_interval_ms == expected.push_interval_ms
    assert set(found.metrics) == set(expected.metrics)


def test_an_instance_is_forgotten_when_the_connection_that_made_it_closes() -> None:
    instances = ClientInstances()
    first = instances.find(1, 7, CLIENT, NOTHING, NOW_MS)
    instances.disconnect(8)
    assert instances.find(1, 8, CLIENT, NOTHING, NOW_MS) is first
    instances.disconnect(8)
    assert instances.find(1, 8, CLIENT, NOTHING, NOW_MS) is first
    instances.disconnect(7)
    assert instances.find(1, 8, CLIENT, NOTHING, NOW_MS) is not first
