"""Definitions of configuration keys: those of Apache Kafka's classes, and ours.

Documentation is not compared: ours is in our own words.
"""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from broker.config.broker_config import BROKER_KEYS
from broker.config.keys import ConfigError, ConfigKey, UpdateMode
from broker.config.release_keys import is_known, key_in, release_defaults
from broker.config.resource_keys import GROUP_BROKER_KEYS, RESOURCE_KEYS
from broker.config.topic_keys import TOPIC_KEYS
from broker.config.values import format_value, parse_value
from protocol.configs import ResourceType
from protocol.releases import Release
from scenarios.clients.java import java_command
from scenarios.maven import CannotRunError
from tests.interop.apache_kafka import fetch_kafka_jars

pytestmark = pytest.mark.xdist_group("jvm")

SOURCE = Path(__file__).with_name("java") / "ConfigKeys.java"
RELEASE: Release = (4, 4)
TEXTS = (
    *("", " ", "x", "true", " False ", "-2", "-1", "0", "1", "2", "4", "5", "9", "10", "11", "15"),
    *("17", "18", "22", "23", "25", "26", "99", "100", "499", "500", "501", "999", "1000", "1001"),
    *("1023", "1024", "2000", "2001", "9999", "10000", "10001", "30000", "30001", "60000", "60001"),
    *("524287", "524288", "1048575", "1048576", "8388607", "8388608", "3600000", "3600001"),
    *("2147483639", "2147483640", "2147483647", "2147483648", "9223372036854775808", "32768"),
    *("0.5", "0.6", "1.5", "1e3", "NaN", "a,,b", "a, a", ",", "compact", "delete,compact", "none"),
    *("gzip", "LogAppendTime", "required", "broker", "read_committed", "earliest", "*", "1:2,3:4"),
    *("by_duration:PT1H", "SASL_SSL", "RS256", "rs256", "upgrade", "DISABLED", "share", "INFO"),
)
"""Values that are tried with every key, valid ones and others."""

OURS: Mapping[str, Mapping[str, ConfigKey]] = {
    "broker": BROKER_KEYS,
    "topic": TOPIC_KEYS,
    "group": RESOURCE_KEYS[ResourceType.GROUP],
    "client metrics": RESOURCE_KEYS[ResourceType.CLIENT_METRICS],
}
_UPDATE_MODES = {
    UpdateMode.READ_ONLY: "read-only",
    UpdateMode.STATIC_PER_BROKER: "read-only",
    UpdateMode.ONE_BROKER_OF_MOCK: "read-only",
    UpdateMode.CLUSTER_WIDE: "cluster-wide",
    UpdateMode.PER_BROKER: "cluster-wide",
    UpdateMode.ONE_BROKER: "per-broker",
}


OTHER_DEFAULTS = {
    "group.initial.rebalance.delay.ms": "0",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "ssl.keystore.type": "PEM",
    "ssl.truststore.type": "PEM",
    **{
        f"{prefix}{kind}.assignment.interval.ms": "0"
        for prefix in ("group.", "")
        for kind in ("consumer", "share", "streams")
    },
    "group.streams.initial.rebalance.delay.ms": "0",
    "streams.initial.rebalance.delay.ms": "0",
}
"""docs/compatibility.md has the reasons."""

# We check these as if the broker acted on every value, and do not parse what it never uses.
OTHER_CHECKS = {
    "authorizer.class.name",
    "connection.failed.authentication.delay.ms",
    "connections.max.reauth.ms",
    "controller.quorum.bootstrap.servers",
    "controller.quorum.voters",
    "default.replication.factor",
    "group.initial.rebalance.delay.ms",
    "group.max.session.timeout.ms",
    "group.min.session.timeout.ms",
    "log.retention.hours",
    "log.retention.minutes",
    "node.id",
    "offset.metadata.max.bytes",
    "offsets.topic.compression.codec",
    "replica.selector.class",
    "sasl.enabled.mechanisms",
    "ssl.keystore.type",
    "ssl.truststore.type",
}

PLUGIN_KEYS = {"allow.everyone.if.no.acl.found", "super.users"}
"""Keys of Kafka's authorizer, which its brokers do not know."""


class Definition(NamedTuple):
    """What a release says about a key.

    `is_hidden`: it is described only where it is set. `source` is its update mode, or the key of
    the broker that its default comes from.
    """

    config_type: str
    default: str | None
    is_hidden: bool
    source: str
    answers: tuple[str, ...]


@pytest.fixture(scope="module")
def kafkas() -> dict[tuple[str, str], Definition]:
    """Return the definitions of Kafka's classes by kind and name."""
    try:
        jars = fetch_kafka_jars("4.4.0")
    except CannotRunError as error:
        pytest.skip(str(error))
    done = subprocess.run(
        java_command(f"{jars}/*", str(SOURCE), *TEXTS, log_level="off"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {}
    for line in done.stdout.removesuffix("\n").split("\n"):
        kind, name, config_type, default, is_hidden, source, *answers = line.split("\t")
        found[kind, name] = Definition(
            config_type,
            default.removeprefix("=") if default.startswith("=") else None,
            is_hidden == "true",
            source,
            tuple(answers),
        )
    return found


def our_definition(kind: str, key: ConfigKey) -> Definition:
    key = key_in(key, RELEASE)
    defaults = release_defaults(RELEASE) if kind == "broker" else {}
    source = {
        "broker": _UPDATE_MODES.get(key.update_mode, ""),
        "topic": key.broker_synonym or "-",
        "group": GROUP_BROKER_KEYS.get(key.name, "-"),
    }.get(kind, "-")
    return Definition(
        key.config_type.name,
        format_value(defaults.get(key.name, key.default)),
        key.is_hidden,
        source,
        tuple(answer(key, text) for text in TEXTS),
    )


def answer(key: ConfigKey, text: str) -> str:
    try:
        return f"={format_value(parse_value(key, text))}"
    except ConfigError as error:
        return f"!{error}"


def test_our_keys_are_those_of_kafka(kafkas: dict[tuple[str, str], Definition]) -> None:
    ours = {
        (kind, name)
        for kind, keys in OURS.items()
        for name, key in keys.items()
        if is_known(name, RELEASE) and not key.is_mock_only and name not in PLUGIN_KEYS
    }
    assert ours == kafkas.keys()


def test_types_and_defaults_are_those_of_kafka(
    kafkas: dict[tuple[str, str], Definition],
) -> None:
    for (kind, name), definition in kafkas.items():
        ours = our_definition(kind, OURS[kind][name])
        default = OTHER_DEFAULTS.get(name, definition.default)
        expected = definition._replace(default=default, answers=ours.answers)
        assert ours == expected, f"{kind} {name}"


def test_each_value_is_parsed_or_refused_in_the_words_of_kafka(
    kafkas: dict[tuple[str, str], Definition],
) -> None:
    for (kind, name), definition in kafkas.items():
        if not definition.answers or name in OTHER_CHECKS:
            continue
        answers = our_definition(kind, OURS[kind][name]).answers
        for text, kafkas_answer, our_answer in zip(TEXTS, definition.answers, answers, strict=True):
            assert our_answer == kafkas_answer, f"{kind} {name}={text!r}"
