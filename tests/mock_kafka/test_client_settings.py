"""The settings of each client, and the errors. tests/interop connects with them."""

import re
import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.clock import SystemClock
from broker.security.credentials import parse_users
from broker.server.certificates import write_certificates
from mock_kafka.client_settings import (
    Access,
    Credential,
    client_settings,
    credential_of,
    sasl_users,
)
from protocol.environment import resolve_environment

CLIENTS = ("confluent", "kafka-python", "aiokafka", "java")
SCRAM = Credential("SCRAM-SHA-512", "alice", 'a"b\\c')


@pytest.mark.parametrize("client", CLIENTS)
def test_a_plaintext_listener_needs_the_addresses_only(client: str) -> None:
    [(key, value)] = client_settings(client, Access("h:1,h:2")).items()
    assert (key.replace("_", "."), value) == ("bootstrap.servers", "h:1,h:2")


def test_each_client_gets_its_own_names() -> None:
    access = Access("h:1", "SASL_SSL", "/ca.pem", SCRAM)
    assert client_settings("confluent", access) == {
        "bootstrap.servers": "h:1",
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": "/ca.pem",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": 'a"b\\c',
    }
    assert client_settings("kafka-python", access) == {
        "bootstrap_servers": "h:1",
        "security_protocol": "SASL_SSL",
        "ssl_cafile": "/ca.pem",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "alice",
        "sasl_plain_password": 'a"b\\c',
    }
    assert client_settings("java", access) == {
        "bootstrap.servers": "h:1",
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required"
        r' username="alice" password="a\"b\\c";',
    }


def test_aiokafka_gets_a_context_that_trusts_the_authority(tmp_path: Path) -> None:
    write_certificates(tmp_path, ["localhost"], [], SystemClock().now_ms())
    settings = client_settings("aiokafka", Access("h:1", "SSL", str(tmp_path / "ca.pem")))
    context = settings.pop("ssl_context")
    assert isinstance(context, ssl.SSLContext)
    assert len(context.get_ca_certs()) == 1
    assert settings == {"bootstrap_servers": "h:1", "security_protocol": "SSL"}


def test_an_unknown_client_is_an_error_with_the_known_ones() -> None:
    message = "no settings for 'kafka-pyton'; did you mean kafka-python?; there are: confluent, "
    with pytest.raises(ValueError, match=re.escape(message)):
        client_settings("kafka-pyton", Access("h:1"))


@pytest.mark.parametrize(
    ("enabled", "mechanism"),
    [
        ("PLAIN,SCRAM-SHA-256", "SCRAM-SHA-256"),
        ("PLAIN, SCRAM-SHA-512", "SCRAM-SHA-512"),
        ("OAUTHBEARER,PLAIN", "PLAIN"),
    ],
)
def test_the_best_mechanism_that_is_enabled_is_used(enabled: str, mechanism: str) -> None:
    assert credential_of({"a": "1", "b": "2"}, None, None, enabled) == Credential(
        mechanism, "a", "1"
    )


def test_a_user_is_the_first_or_a_named_or_another_one() -> None:
    users = {"alice": "1", "bob": "2"}
    assert credential_of(users, "bob", None, "PLAIN") == Credential("PLAIN", "bob", "2")
    assert credential_of(users, "eve", "3", "PLAIN") == Credential("PLAIN", "eve", "3")
    for given_users, user, enabled, reason in (
        (users, "alic", "PLAIN", "no user 'alic'; did you mean alice?; users are: alice, bob"),
        ({}, None, "PLAIN", "no user None; users= of MockKafka names none"),
        (users, None, "OAUTHBEARER", "sasl.enabled.mechanisms has none of SCRAM-SHA-256, "),
    ):
        with pytest.raises(ValueError, match=re.escape(reason)):
            credential_of(given_users, user, None, enabled)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(st.dictionaries(NAMES, NAMES))
def test_names_and_passwords_may_have_any_characters(users: dict[str, str]) -> None:
    assert parse_users(resolve_environment(sasl_users(users), {})) == users
