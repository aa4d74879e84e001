import pytest

from broker.config.broker_config import BrokerConfig
from broker.config.broker_requirements import change_problem, retention_ms
from broker.config.keys import ConfigError


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            {"log.retention.ms": "0"},
            "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
        ),
        ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms must be greater than or equal to 0"),
        (
            {"log.cleaner.dedupe.buffer.size": "1"},
            "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        ),
        (
            {"max.connections.per.ip": "0"},
            (
                "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides"
                " property is set."
            ),
        ),
    ],
)
def test_a_requirement_is_explained_in_the_words_of_kafka(
    overrides: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError) as refusal:
        BrokerConfig.from_overrides(overrides)

    assert str(refusal.value) == f"requirement failed: {message}"


def test_two_ids_of_a_broker_are_a_contradiction() -> None:
    with pytest.raises(ConfigError, match=r"^You must set `node\.id` to the same value"):
        BrokerConfig.from_overrides({"node.id": "1", "broker.id": "2"})


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ({"num.io.threads": "4"}, None),
        ({"num.io.threads": "16"}, None),
        (
            {"num.io.threads": "17"},
            (
                "Dynamic thread count update validation failed for num.io.threads=17, value should"
                " not be greater than double the current value 8"
            ),
        ),
        (
            {"num.io.threads": "3"},
            (
                "Dynamic thread count update validation failed for num.io.threads=3, value should"
                " be at least half the current value 8"
            ),
        ),
        ({"log.cleaner.threads": "0"}, "Log cleaner threads should be at least 1"),
        (
            {"log.cleaner.threads": "3"},
            "Log cleaner threads cannot be increased to more than double the current value 1",
        ),
        (
            {"log.local.retention.ms": "-1"},
            (
                "Invalid value -1 for configuration log.local.retention.ms: Value must not be -1 as"
                " log.retention.ms value is set as 604800000."
            ),
        ),
        (
            {"log.local.retention.bytes": "9", "log.retention.bytes": "8"},
            (
                "Invalid value 9 for configuration log.local.retention.bytes: Value must not be"
                " more than log.retention.bytes property value: 8"
            ),
        ),
        ({"log.local.retention.bytes": "8", "log.retention.bytes": "8"}, None),
    ],
)
def test_a_change_at_run_time_has_limits(overrides: dict[str, str], problem: str | None) -> None:
    before = BrokerConfig()

    assert change_problem(before, before.with_dynamic(None, overrides)) == problem


def test_cleaner_threads_are_at_most_halved() -> None:
    before = BrokerConfig.from_overrides({"log.cleaner.threads": "8"})

    problem = change_problem(before, before.with_dynamic(None, {"log.cleaner.threads": "3"}))

    assert problem == (
        "Log cleaner threads cannot be reduced to less than half the current value 8"
    )


def test_retention_without_a_limit_is_minus_one() -> None:
    assert retention_ms(BrokerConfig.from_overrides({"log.retention.minutes": "-7"})) == -1
