"""Properties of Kafka's clients become settings or an error of one line."""

import pytest

from client.errors import SecurityError
from client.security import SaslSettings, Security, TlsSettings, security_of

JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required "


def test_without_settings_a_connection_is_plaintext() -> None:
    assert security_of({}) == Security()
    assert security_of({"client.id": "x", "security.protocol": "plaintext"}) == Security()


@pytest.mark.parametrize(
    ("jaas", "username", "password"),
    [
        (JAAS + 'username="alice" password="s3=c;r t";', "alice", "s3=c;r t"),
        (JAAS + "username=alice password=secret;", "alice", "secret"),
        (JAAS + r'password="a\"b\\c" username="u";', "u", 'a"b\\c'),
    ],
)
def test_credentials_are_read_from_a_jaas_line(jaas: str, username: str, password: str) -> None:
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.jaas.config": jaas}
    assert security_of(properties) == Security(sasl=SaslSettings("PLAIN", username, password))


def test_librdkafkas_names_work_as_well() -> None:
    properties = {
        "security.protocol": "SASL_SSL",
        "sasl.username": "u",
        "sasl.password": "p",
        "ssl.ca.location": "ca.pem",
        "ssl.certificate.location": "me.pem",
        "ssl.key.location": "me.key",
    }
    tls = TlsSettings("ca.pem", "me.pem", "me.key")
    assert security_of(properties) == Security(tls, SaslSettings("PLAIN", "u", "p"))


def test_kafkas_pem_stores_hold_chain_and_key() -> None:
    properties = {
        "security.protocol": "SSL",
        "ssl.truststore.location": "trust.pem",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.location": "me.pem",
        "ssl.key.password": "k",
        "ssl.endpoint.identification.algorithm": "",
    }
    tls = TlsSettings("trust.pem", "me.pem", "me.pem", "k", is_hostname_checked=False)
    assert security_of(properties) == Security(tls)


@pytest.mark.parametrize(
    ("properties", "word"),
    [
        ({"security.protocol": "TLS"}, "SASL_SSL"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "GSSAPI"}, "GSSAPI"),
        ({"security.protocol": "SASL_SSL"}, "sasl.jaas.config"),
        ({"security.protocol": "SASL_SSL", "sasl.username": "u"}, "password"),
        ({"security.protocol": "SSL", "ssl.truststore.type": "JKS"}, "PEM"),
        ({"ssl.truststore.password": "x"}, "ssl.truststore.password"),
    ],
)
def test_unsupported_settings_are_an_error(properties: dict[str, str], word: str) -> None:
    with pytest.raises(SecurityError, match=word):
        security_of(properties)
