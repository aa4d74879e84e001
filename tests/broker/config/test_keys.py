import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from broker.config.broker_config import BROKER_KEYS
from broker.config.effects import Effect
from broker.config.keys import INT, LONG, READ_ONLY, SHORT, ConfigKey, by_name
from broker.config.resource_keys import GROUP_BROKER_KEYS, RESOURCE_KEYS
from broker.config.topic_keys import TOPIC_KEYS
from broker.config.values import format_value, parse_value

ROOT = Path(__file__).parents[3]
EVERY_KEY = [
    *BROKER_KEYS.values(),
    *TOPIC_KEYS.values(),
    *(key for keys in RESOURCE_KEYS.values() for key in keys.values()),
]


@pytest.mark.parametrize("key", EVERY_KEY, ids=lambda key: key.name)
def test_a_default_is_a_value_that_the_key_itself_accepts(key: ConfigKey) -> None:
    text = format_value(key.default)
    if text is not None:
        assert parse_value(key, text) == key.default


@pytest.mark.parametrize("key", EVERY_KEY, ids=lambda key: key.name)
def test_a_key_is_documented_in_a_sentence_or_not_at_all(key: ConfigKey) -> None:
    if key.doc is None:
        assert not (key.is_enforced and key.is_mock_only)
        return
    assert key.doc.endswith(".")
    assert key.doc[0].isupper()


@pytest.mark.parametrize("key", EVERY_KEY, ids=lambda key: key.name)
def test_the_documentation_tells_which_keys_are_not_kafkas(key: ConfigKey) -> None:
    assert (key.documentation or "").startswith("mock-kafka: ") is key.is_mock_only


@pytest.mark.parametrize("key", EVERY_KEY, ids=lambda key: key.name)
def test_a_key_that_ends_in_a_unit_of_time_or_size_is_an_integer(key: ConfigKey) -> None:
    units = {"us", "ms", "seconds", "secs", "minutes", "hours", "bytes"}
    if key.name.rpartition(".")[2] in units:
        assert key.config_type in {SHORT, INT, LONG}


@pytest.mark.parametrize("keys", [BROKER_KEYS, TOPIC_KEYS, *RESOURCE_KEYS.values()])
def test_keys_are_sorted_by_name(keys: Mapping[str, ConfigKey]) -> None:
    assert list(keys) == sorted(keys)


def test_a_name_defined_twice_is_a_bug() -> None:
    key = ConfigKey("a", INT, 1, None, READ_ONLY, "A key.")

    with pytest.raises(AssertionError):
        by_name((key,), (key,))


@pytest.mark.parametrize("key", TOPIC_KEYS.values(), ids=lambda key: key.name)
def test_a_topic_key_falls_back_to_a_broker_key_of_its_own_type(key: ConfigKey) -> None:
    if key.broker_synonym is None:
        return
    synonym = BROKER_KEYS[key.broker_synonym]
    assert synonym.config_type is key.config_type
    assert synonym.is_dynamic, "or a topic's default could not be changed at run time"
    assert synonym.is_enforced == key.is_enforced


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("auto.create.topics.enable", True),
        ("connections.max.idle.ms", 600_000),
        ("controller.quota.window.num", 11),
        ("controller.quota.window.size.seconds", 1),
        ("fetch.max.bytes", 57_671_680),
        ("group.max.session.timeout.ms", 1_800_000),
        ("group.min.session.timeout.ms", 6000),
        ("log.retention.bytes", -1),
        ("log.segment.bytes", 1_073_741_824),
        ("max.in.flight.sequence.number.per.connection", 10_000_000),
        ("max.incremental.fetch.session.cache.slots", 1000),
        ("message.max.bytes", 1_048_588),
        ("num.partitions", 1),
        ("offset.metadata.max.bytes", 4096),
        ("offsets.retention.minutes", 10_080),
        ("producer.id.expiration.ms", 86_400_000),
        ("producer.id.quota.cache.cleanup.scheduler.interval.ms", 10),
        ("producer.id.quota.window.num", 11),
        ("producer.id.quota.window.size.seconds", 3600),
        ("quota.window.num", 11),
        ("quota.window.size.seconds", 1),
        ("socket.request.max.bytes", 104_857_600),
        ("transaction.max.timeout.ms", 900_000),
        ("transactional.id.expiration.ms", 604_800_000),
    ],
)
def test_a_broker_default_is_that_of_kafka(name: str, default: object) -> None:
    assert BROKER_KEYS[name].default == default


def test_the_default_that_differs_from_kafka_is_documented() -> None:
    key = BROKER_KEYS["group.initial.rebalance.delay.ms"]

    assert key.default == 0
    assert "Kafka's default is 3000" in (key.doc or "")


@pytest.mark.parametrize("key", EVERY_KEY, ids=lambda key: key.name)
def test_a_key_acts_or_has_a_reason_why_it_does_not(key: ConfigKey) -> None:
    if key.effect is Effect.ACTS:
        assert key.reason is None
    else:
        assert (key.reason or "").endswith(".")
        assert not key.is_mock_only


SOURCES = "\n".join(
    path.read_text(encoding="utf-8")
    for path in (ROOT / "broker").rglob("*.py")
    if not path.name.endswith("_keys.py") and path.name != "described_order.py"
)
READ_FOR_OTHER_KEYS = {
    key.broker_synonym for key in TOPIC_KEYS.values() if key.broker_synonym
} | set(GROUP_BROKER_KEYS.values())
"""Keys of brokers that are defaults of keys of topics and groups."""


@pytest.mark.parametrize(
    "key", [key for key in EVERY_KEY if key.effect is Effect.ACTS], ids=lambda key: key.name
)
def test_a_key_that_acts_is_read_somewhere(key: ConfigKey) -> None:
    bound = re.fullmatch(r"group\.(?:consumer|share|streams)\.(?:min|max)\..+", key.name)
    is_read = f'"{key.name}"' in SOURCES or key.name in READ_IN_PARTS
    assert is_read or bound or key.name in READ_FOR_OTHER_KEYS


READ_IN_PARTS = {
    "remote.storage.enable",
    "ssl.keystore.type",
    "ssl.truststore.type",
    "streams.assignment.interval.ms",
    "streams.assignor.name",
    "streams.num.standby.replicas",
}
"""Keys with one valid value, or whose names are put together."""


def test_the_keys_of_quotas_act() -> None:
    for name, key in BROKER_KEYS.items():
        if name.startswith(("client.quotas", "quota.", "controller.quota.", "producer.id.quota.")):
            assert key.effect is Effect.ACTS
