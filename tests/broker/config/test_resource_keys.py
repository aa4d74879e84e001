"""Configurations of groups by release; the tests of IncrementalAlterConfigs have the others."""

import pytest

from broker.config.broker_config import BrokerConfig
from broker.config.resource_keys import group_problem, group_setting
from protocol.configs import ResourceType

LIMIT, LOCKS = "share.delivery.count.limit", "share.partition.max.record.locks"
QUEUE = "errors.deadletterqueue.topic.name"


def problem(release: str, name: str, value: str) -> str | None:
    config = BrokerConfig.from_overrides({"broker.api.versions": release})
    return group_problem({name: value}, config)


@pytest.mark.parametrize(
    ("name", "before", "since"),
    [
        (LIMIT, "4.2", "4.3"),
        (LOCKS, "4.2", "4.3"),
        ("share.renew.acknowledge.enable", "4.2", "4.3"),
        ("consumer.assignment.interval.ms", "4.2", "4.3"),
        ("share.assignment.interval.ms", "4.2", "4.3"),
        (QUEUE, "4.3", "4.4"),
        ("errors.deadletterqueue.copy.record.enable", "4.3", "4.4"),
    ],
)
def test_a_group_has_a_key_from_its_first_release_on(name: str, before: str, since: str) -> None:
    value = {LIMIT: "7", LOCKS: "300"}.get(name, "true")
    value = "500" if name.endswith(".ms") else value

    assert problem(before, name, value) == f"Unknown group config name: {name}"
    assert problem(since, name, value) is None


@pytest.mark.parametrize(
    ("name", "values", "bounds"),
    [
        (LIMIT, ("11", "12"), "2 to 10"),
        (LOCKS, ("4001", "9999"), "100 to 4000"),
        ("share.record.lock.duration.ms", ("14999", "60001"), "15000 to 60000"),
        ("consumer.assignment.interval.ms", ("15001", "99999"), "0 to 15000"),
        ("share.assignment.interval.ms", ("15001", "99999"), "0 to 15000"),
    ],
)
def test_the_bounds_of_the_brokers_hold_for_the_limits_of_a_group(
    name: str, values: tuple[str, str], bounds: str
) -> None:
    for value in values:
        message = f"{name} must be in the range {bounds} inclusive."
        assert problem("4.4", name, value) == message
        refusal = problem("4.3", name, value)
        assert refusal is not None
        assert refusal.startswith(f"{name} must be ")
        bound = "min" if value == "14999" else "max"
        assert f" than or equal to group.{name.partition('.')[0]}.{bound}." in refusal


@pytest.mark.parametrize(
    ("name", "value", "bound", "expected"),
    [
        ("consumer.session.timeout.ms", "46000", "group.consumer.min.session.timeout.ms", 50_000),
        ("consumer.session.timeout.ms", "46000", "group.consumer.max.session.timeout.ms", 45_500),
        ("consumer.session.timeout.ms", "45200", "group.consumer.max.session.timeout.ms", 45_200),
        (LOCKS, "3000", "group.share.max.partition.max.record.locks", 2500),
        ("streams.num.standby.replicas", "2", "group.streams.max.standby.replicas", 1),
        (
            "streams.task.offset.interval.ms",
            "16000",
            "group.streams.min.task.offset.interval.ms",
            20_000,
        ),
        ("share.isolation.level", "read_committed", "group.share.max.size", "read_committed"),
    ],
)
def test_since_kafka_4_3_a_group_keeps_to_bounds_that_have_changed(
    name: str, value: str, bound: str, expected: object
) -> None:
    bounds = {
        "group.consumer.min.session.timeout.ms": "50000",
        "group.consumer.max.session.timeout.ms": "45500",
        "group.share.max.partition.max.record.locks": "2500",
        "group.streams.max.standby.replicas": "1",
        "group.streams.min.task.offset.interval.ms": "20000",
        "group.share.max.size": "10",
    }
    values = {
        "group.consumer.session.timeout.ms": "50000" if "min" in bound else "45000",
        bound: bounds[bound],
    }
    groups = {(ResourceType.GROUP, "g"): {name: value}}

    config = BrokerConfig({"broker.api.versions": "4.4"} | values, resources=groups)
    assert group_setting(config, "g", name) == expected


def test_before_kafka_4_3_a_value_stays_when_the_bounds_change() -> None:
    name = "consumer.session.timeout.ms"
    groups = {(ResourceType.GROUP, "g"): {name: "46000"}}
    values = {"group.consumer.max.session.timeout.ms": "45500"}

    def timeout_ms(release: str) -> object:
        config = BrokerConfig({"broker.api.versions": release} | values, resources=groups)
        return group_setting(config, "g", name)

    assert (timeout_ms("4.2"), timeout_ms("4.3")) == (46_000, 45_500)


@pytest.mark.parametrize(("value", "bound"), [("1", "greater"), ("70000", "less")])
def test_before_kafka_4_4_a_message_names_the_key_of_the_bound(value: str, bound: str) -> None:
    name, end = "session.timeout.ms", "min" if bound == "greater" else "max"
    assert problem("4.2", f"consumer.{name}", value) == (
        f"consumer.{name} must be {bound} than or equal to group.consumer.{end}.{name}"
    )


@pytest.mark.parametrize(
    ("release", "own_default", "expected"),
    [
        ("4.4", "40000", None),
        ("4.3", "55000", None),
        ("4.3", "40000", "group.share.min.session.timeout.ms"),
        ("4.2", "55000", "group.share.min.session.timeout.ms"),
    ],
)
def test_keys_that_are_not_set_count_with_the_default_of_the_release_before_4_4(
    release: str, own_default: str, expected: str | None
) -> None:
    config = BrokerConfig.from_overrides(
        {
            "broker.api.versions": release,
            "group.share.min.session.timeout.ms": "50000",
            "group.share.session.timeout.ms": own_default,
        }
    )

    found = group_problem({"share.auto.offset.reset": "earliest"}, config)

    assert (found is None) == (expected is None)
    assert found is None or found.endswith(f"greater than or equal to {expected}")


def test_kafka_4_3_checks_an_assignment_interval_only_if_it_is_set() -> None:
    low = {"broker.api.versions": "4.3", "group.streams.min.assignment.interval.ms": "500"}
    config = BrokerConfig.from_overrides(low)

    assert group_problem({}, config) is None
    assert group_problem({"streams.assignment.interval.ms": "499"}, config) is not None


def test_a_session_is_longer_than_the_heartbeat_interval_of_the_brokers() -> None:
    config = BrokerConfig.from_overrides(
        {
            "broker.api.versions": "4.3",
            "group.share.session.timeout.ms": "60000",
            "group.share.min.session.timeout.ms": "5000",
        }
    )

    assert group_problem({"share.session.timeout.ms": "5000"}, config) == (
        "share.session.timeout.ms must be greater than share.heartbeat.interval.ms"
    )


def test_a_dead_letter_queue_is_no_internal_topic() -> None:
    assert problem("4.4", QUEUE, "__dead") == (f"{QUEUE}: DLQ topic name must not start with '__'")
