"""Every message in every version of Apache Kafka 4.4.0 has the bytes that Kafka's classes write."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from protocol import control_records, coordinator_records, data_messages, messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_body, encode_message
from scenarios.clients.java import java_command
from scenarios.maven import CannotRunError
from tests.interop.apache_kafka import VERSION, fetch_kafka_jars
from tests.interop.kafka_schemas import Schema, Variety, as_message, as_value, read_schemas

SOURCE = Path(__file__).with_name("java") / "Messages.java"
FULLNESS = (0, 1, 1, 0.9, 0.7, 0.5, 0.5, 0.3)
"""How much there is in the values of every version: nothing, everything, and between."""

_COMMON = "org.apache.kafka.common.message"
_COORDINATOR = "org.apache.kafka.coordinator"


@dataclass(frozen=True)
class Kind:
    """Where messages come from: the jar, the package, and what precedes their fields."""

    jar: str
    java_package: str
    prefix: str = "none"

    def java_class(self, name: str) -> str:
        return f"{self.java_package}.{name}{'Data' if self.prefix == 'none' else ''}"


CLIENTS = Kind("kafka-clients", _COMMON)
DATA = Kind("kafka-clients", _COMMON, "version")


def _coordinator(name: str, prefix: str) -> Kind:
    return Kind(f"kafka-{name}-coordinator", f"{_COORDINATOR}.{name}.generated", prefix)


@dataclass(frozen=True)
class Case:
    """A value of a message and its bytes as Kafka's class writes them."""

    version: int
    value: Any
    encoded: bytes


def _message_classes() -> dict[str, tuple[Any, Kind]]:
    """Return our classes by the names of their messages."""
    both = (messages.request_class, messages.response_class)
    found = {get(key).name: (get(key), CLIENTS) for key in messages.API_NAMES for get in both}
    for records, name in (
        (coordinator_records.GROUP_RECORDS, "group"),
        (coordinator_records.TRANSACTION_RECORDS, "transaction"),
        (coordinator_records.SHARE_RECORDS, "share"),
    ):
        for key, value in records.values():
            found[key.name] = (key, _coordinator(name, "type"))
            found[value.name] = (value, _coordinator(name, "version"))
    for data_class in (
        control_records.end_txn_marker_class(),
        data_messages.ConsumerProtocolAssignment,
        data_messages.ConsumerProtocolSubscription,
    ):
        found[data_class.name] = (data_class, DATA)
    return found


MESSAGES = _message_classes()

pytestmark = pytest.mark.xdist_group("jvm")  # one worker runs Java once


@pytest.fixture(scope="module")
def jars() -> Path:
    """The folder with the jars of Apache Kafka; where they are missing the skip says so."""
    try:
        return fetch_kafka_jars()
    except CannotRunError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def schemas(jars: Path) -> Mapping[str, Schema]:
    """Apache Kafka's schemas by the names of their messages."""
    names = {kind.jar for _message_class, kind in MESSAGES.values()}
    return {
        message_name: schema
        for name in sorted(names)
        for message_name, schema in read_schemas(jars / f"{name}-{VERSION}.jar").items()
    }


@pytest.fixture(scope="module")
def cases(jars: Path, schemas: Mapping[str, Schema]) -> Mapping[str, list[Case]]:
    """Values for every version of every message, encoded by one run of Java."""
    values = [
        (name, version, schemas[name].value(version, Variety(f"{name} {version} {index}", part)))
        for name in MESSAGES
        for version in schemas[name].versions
        for index, part in enumerate(FULLNESS)
    ]
    lines = []
    for name, version, value in values:
        kind = MESSAGES[name][1]
        lines.append(f"{kind.prefix}\t{kind.java_class(name)}\t{version}\t{json.dumps(value)}\n")
    done = subprocess.run(
        java_command(f"{jars}/*", str(SOURCE), heap_mb=512, log_level="error"),
        input="".join(lines),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[Case]] = {}
    for (name, version, value), line in zip(values, done.stdout.splitlines(), strict=True):
        assert not line.startswith("error"), f"{name} {version} {line}: {value}"
        found.setdefault(name, []).append(Case(version, value, bytes.fromhex(line)))
    return found


def test_every_api_that_kafkas_brokers_offer_to_clients_has_messages(
    schemas: Mapping[str, Schema],
) -> None:
    offered = {schema.api_key for schema in schemas.values() if "broker" in schema.listeners}
    assert offered == {int(key) for key in messages.API_NAMES} == {int(key) for key in ApiKey}


@pytest.mark.parametrize("name", MESSAGES)
def test_every_version_of_kafka_is_there(name: str, schemas: Mapping[str, Schema]) -> None:
    low, high = MESSAGES[name][0].valid_versions
    assert low == schemas[name].versions[0]
    assert high >= schemas[name].versions[-1]


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_has_the_bytes_that_kafka_writes(
    name: str, schemas: Mapping[str, Schema], cases: Mapping[str, list[Case]]
) -> None:
    message_class, kind = MESSAGES[name]
    assert len({case.encoded for case in cases[name]}) > 1
    for case in cases[name]:
        message = as_message(message_class, schemas[name].fields, case.version, case.value)
        assert _encode(kind, message, case.version).hex() == case.encoded.hex(), case.value


@pytest.mark.parametrize("name", MESSAGES)
def test_the_bytes_that_kafka_writes_are_read_as_what_they_say(
    name: str, schemas: Mapping[str, Schema], cases: Mapping[str, list[Case]]
) -> None:
    message_class, kind = MESSAGES[name]
    for case in cases[name]:
        message = _decode(kind, message_class, case)
        assert as_value(message, schemas[name].fields, case.version) == case.value


def _encode(kind: Kind, message: Any, version: int) -> bytes:
    if kind.prefix == "version":
        return data_messages.encode_data(message, version)
    if kind.prefix == "type":
        return coordinator_records.encode_key(message)
    return encode_message(message, version)


def _decode(kind: Kind, message_class: Any, case: Case) -> Any:
    if kind.prefix == "version":
        return data_messages.decode_data(message_class, case.encoded)
    if kind.prefix == "type":
        prefix = data_messages.read_prefix(case.encoded)
        assert prefix == coordinator_records.record_type(message_class)
        return decode_body(message_class, case.version, memoryview(case.encoded)[2:])
    return decode_body(message_class, case.version, memoryview(case.encoded))
