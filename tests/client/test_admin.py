"""The admin client with scripted responses and a clock that only sleeping moves."""

import pytest

from client.errors import (
    ApiError,
    ConnectionLostError,
    ThrottlingQuotaExceededError,
    UnreachableError,
)
from client.resources import (
    Address,
    ConfigChange,
    ConfigResource,
    NewPartitions,
    NewTopic,
    QuotaChange,
    QuotaFilter,
    TopicDescription,
)
from protocol.client_quotas import QuotaMatch
from protocol.configs import ConfigOperation, ConfigSource, ResourceType
from tests.client.scripted import (
    BOOTSTRAP,
    Clock,
    admin_of,
    configs,
    configs_altered,
    created,
    deleted,
    metadata,
    partitions_created,
    quotas,
    quotas_altered,
)

QUOTA_EXCEEDED, NOT_CONTROLLER, EXISTS = 89, 41, 36


def names_of(request: object) -> list[str]:
    return [topic.name for topic in request.topics]  # type: ignore[attr-defined]


def test_topics_that_the_quota_refused_are_retried_after_the_throttle_time() -> None:
    clock = Clock()
    admin, peer = admin_of(
        created(("a", 0), ("b", QUOTA_EXCEEDED), ("c", QUOTA_EXCEEDED), throttle_time_ms=700),
        created(("b", 0), ("c", QUOTA_EXCEEDED), throttle_time_ms=12_000),
        created(("c", EXISTS)),
        clock=clock,
    )
    outcomes = admin.create_topics([NewTopic("a"), NewTopic("b"), NewTopic("c")])
    assert [names_of(request) for request in peer.requests] == [["a", "b", "c"], ["b", "c"], ["c"]]
    assert clock.sleeps == [700, 12_000]
    assert outcomes["a"] is None
    assert outcomes["b"] is None
    assert outcomes["c"] is not None
    assert outcomes["c"].error_code == EXISTS


def test_without_retries_a_refusal_is_returned_at_once_with_its_throttle_time() -> None:
    clock = Clock()
    admin, peer = admin_of(
        created(("a", 0), ("b", QUOTA_EXCEEDED), throttle_time_ms=12_000), clock=clock
    )
    outcomes = admin.create_topics([NewTopic("a"), NewTopic("b")], retry_on_quota_violation=False)
    error = outcomes["b"]
    assert isinstance(error, ThrottlingQuotaExceededError)
    assert error.throttle_time_ms == 12_000
    assert (outcomes["a"], len(peer.asked), clock.sleeps) == (None, 1, [])


@pytest.mark.parametrize(("throttle_time_ms", "tries"), [(60_000, 1), (59_999, 2), (29_999, 3)])
def test_nothing_is_retried_after_the_api_timeout(throttle_time_ms: int, tries: int) -> None:
    clock = Clock()
    refusal = created(("a", QUOTA_EXCEEDED), throttle_time_ms=throttle_time_ms)
    admin, peer = admin_of(*[refusal] * 9, clock=clock)
    error = admin.create_topics([NewTopic("a")])["a"]
    assert isinstance(error, ThrottlingQuotaExceededError)
    assert error.throttle_time_ms == throttle_time_ms
    assert len(peer.asked) == tries
    assert clock.now == 1_000 + 60_000


def test_a_refusal_without_a_throttle_time_is_retried_after_the_backoff() -> None:
    clock = Clock()
    admin, _ = admin_of(created(("a", QUOTA_EXCEEDED)), created(("a", 0)), clock=clock)
    assert admin.create_topics([NewTopic("a")]) == {"a": None}
    assert clock.sleeps == [100]


def test_create_partitions_and_delete_topics_are_retried_in_the_same_way() -> None:
    clock = Clock()
    admin, peer = admin_of(
        partitions_created(("a", QUOTA_EXCEEDED, None), ("b", 37, "why"), throttle_time_ms=300),
        partitions_created(("a", 0, None)),
        deleted(("a", 0), ("b", QUOTA_EXCEEDED), throttle_time_ms=400),
        deleted(("b", 0)),
        clock=clock,
    )
    outcomes = admin.create_partitions({"a": NewPartitions(3), "b": NewPartitions(1, ((1,),))})
    assert outcomes["a"] is None
    assert str(outcomes["b"]) == "why"
    assert admin.delete_topics(["a", "b", "a"]) == {"a": None, "b": None}
    assert [names_of(request) for request in peer.requests] == [
        ["a", "b"],
        ["a"],
        ["a", "b"],
        ["b"],
    ]
    assert peer.requests[0].topics[1].assignments[0].broker_ids == [1]
    assert peer.requests[2].topic_names == ["a", "b"]
    assert clock.sleeps == [300, 400]


def test_after_not_controller_topics_are_sent_to_the_controller() -> None:
    clock = Clock()
    admin, peer = admin_of(
        created(("a", NOT_CONTROLLER)),
        metadata(brokers=((1, "one", 9092), (2, "two", 9093))),
        created(("a", 0)),
        deleted(("a", 0)),
        clock=clock,
    )
    assert admin.create_topics([NewTopic("a")], retry_on_quota_violation=False) == {"a": None}
    assert admin.delete_topics(["a"]) == {"a": None}
    two = Address("two", 9093)
    assert [address for address, _ in peer.asked] == [BOOTSTRAP, BOOTSTRAP, two, two]


def test_a_topic_missing_from_the_response_is_an_error() -> None:
    admin, _ = admin_of(created(("a", 0)))
    error = admin.create_topics([NewTopic("a"), NewTopic("b")])["b"]
    assert error is not None
    assert error.error_code == -1


def test_create_topics_sends_counts_assignments_and_configs() -> None:
    admin, peer = admin_of(created(("t", 0)))
    topic = NewTopic("t", assignments=((1, 2), (2, 1)), configs={"retention.ms": "5"})
    admin.create_topics([topic], validate_only=True)
    [request] = peer.requests
    assert request.validate_only
    [sent] = request.topics
    assert (sent.num_partitions, sent.replication_factor) == (-1, -1)
    assert [
        (assignment.partition_index, assignment.broker_ids) for assignment in sent.assignments
    ] == [
        (0, [1, 2]),
        (1, [2, 1]),
    ]
    assert [(config.name, config.value) for config in sent.configs] == [("retention.ms", "5")]


def test_the_next_request_waits_for_the_throttle_time_of_the_last_response() -> None:
    clock = Clock()
    throttled = metadata()
    throttled.throttle_time_ms = 250
    admin, _ = admin_of(throttled, metadata(), metadata(), clock=clock)
    admin.list_topics()
    clock.now += 50
    admin.list_topics()
    admin.list_topics()
    assert clock.sleeps == [200]


def test_an_unreachable_bootstrap_broker_is_replaced_by_the_next_one() -> None:
    two = Address("two", 2)
    admin, peer = admin_of(
        UnreachableError("down"), metadata(), metadata(), bootstrap=[BOOTSTRAP, two]
    )
    admin.list_topics()
    admin.list_topics()
    assert [address for address, _ in peer.asked] == [BOOTSTRAP, two, two]


def test_if_no_broker_is_reachable_the_last_error_is_raised() -> None:
    admin, _ = admin_of(
        UnreachableError("first"), UnreachableError("last"), bootstrap=[BOOTSTRAP, BOOTSTRAP]
    )
    with pytest.raises(UnreachableError, match="last"):
        admin.list_topics()


def test_a_request_that_may_have_taken_effect_is_not_sent_to_another_broker() -> None:
    admin, peer = admin_of(
        ConnectionLostError("gone"), created(("a", 0)), bootstrap=[BOOTSTRAP, Address("two", 2)]
    )
    with pytest.raises(ConnectionLostError):
        admin.create_topics([NewTopic("a")])
    assert len(peer.asked) == 1


def test_describe_topics_returns_partitions_and_creates_no_topic() -> None:
    admin, peer = admin_of(metadata(("t", 2)))
    topic = admin.describe_topics(["t"])["t"]
    assert isinstance(topic, TopicDescription)
    assert [partition.index for partition in topic.partitions] == [0, 1]
    assert [partition.leader_id for partition in topic.partitions] == [-1, 1]
    assert topic.partitions[0].replica_ids == (1, 2)
    assert peer.requests[0].allow_auto_topic_creation is False


def test_the_configuration_of_a_broker_is_requested_from_that_broker() -> None:
    two = ConfigResource(ResourceType.BROKER, "2")
    default = ConfigResource(ResourceType.BROKER, "")
    admin, peer = admin_of(
        metadata(brokers=((1, "one", 9092), (2, "two", 9093))),
        configs(4, "2", ("k", "v", 2), ("secret", "x", 99), sensitive=["secret"]),
        configs(4, "", error_code=42),
    )
    described = admin.describe_configs([two, default])
    assert [address.host for address, _ in peer.asked] == ["one", "two", "one"]
    entries = described[two]
    assert isinstance(entries, list)
    assert (entries[0].value, entries[0].source) == ("v", ConfigSource.DYNAMIC_BROKER_CONFIG)
    assert (entries[1].value, entries[1].source) == (None, ConfigSource.UNKNOWN)
    refused = described[default]
    assert isinstance(refused, ApiError)
    assert refused.error_code == 42


def test_configurations_are_changed_key_by_key() -> None:
    resource = ConfigResource(ResourceType.TOPIC, "t")
    admin, peer = admin_of(configs_altered(2, "t", 40))
    outcomes = admin.incremental_alter_configs(
        {
            resource: [
                ConfigChange("a", ConfigOperation.SET, "1"),
                ConfigChange("b", ConfigOperation.DELETE),
            ]
        }
    )
    [sent] = peer.requests[0].resources
    assert [(c.name, c.config_operation, c.value) for c in sent.configs] == [
        ("a", 0, "1"),
        ("b", 1, None),
    ]
    assert str(outcomes[resource]) == "INVALID_CONFIG"


def test_describe_client_quotas_sends_the_filters() -> None:
    admin, peer = admin_of(quotas(({"user": None}, {"k": 1.5})), quotas(error_code=35))
    filters = [QuotaFilter("user", QuotaMatch.ANY), QuotaFilter("ip", QuotaMatch.EXACT, "::1")]
    [entry] = admin.describe_client_quotas(filters, is_strict=True)
    assert (entry.entity, entry.quotas) == ({"user": None}, {"k": 1.5})
    sent = peer.requests[0]
    assert sent.strict
    assert [(c.entity_type, c.match_type, c.match) for c in sent.components] == [
        ("user", 2, None),
        ("ip", 0, "::1"),
    ]
    with pytest.raises(ApiError, match="UNSUPPORTED_VERSION"):
        admin.describe_client_quotas(filters, is_strict=True)


def test_quota_outcomes_have_the_order_of_the_changes() -> None:
    admin, peer = admin_of(
        quotas_altered(({"user": "b"}, 42), ({"client-id": None, "user": "a"}, 0))
    )
    outcomes = admin.alter_client_quotas(
        [
            QuotaChange({"user": "a", "client-id": None}, {"k": 2.0, "gone": None}),
            QuotaChange({"user": "b"}, {"k": 0.5}),
        ]
    )
    assert outcomes[0] is None
    assert outcomes[1] is not None
    assert outcomes[1].error_code == 42
    sent = peer.requests[0].entries[0].ops
    assert [(op.key, op.value, op.remove) for op in sent] == [
        ("k", 2.0, False),
        ("gone", 0.0, True),
    ]


def test_a_throttle_longer_than_the_api_timeout_is_an_error_after_the_timeout() -> None:
    clock = Clock()
    refusal = created(("a", QUOTA_EXCEEDED), throttle_time_ms=90_000)
    admin, peer = admin_of(refusal, metadata(), clock=clock)
    admin.create_topics([NewTopic("a")], retry_on_quota_violation=False)
    with pytest.raises(ThrottlingQuotaExceededError, match="another 30000 ms") as caught:
        admin.list_topics()
    assert caught.value.throttle_time_ms == 30_000
    assert clock.sleeps == [60_000]
    assert len(peer.requests) == 1
    assert admin.list_topics() == []
    assert clock.sleeps == [60_000, 30_000]
