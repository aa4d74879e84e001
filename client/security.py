"""Read TLS and SASL settings from properties with the names of Kafka's clients.

Certificates are PEM files: `ssl.truststore.location` and `ssl.keystore.location` with Kafka's type
PEM (KIP-651), or librdkafka's `ssl.ca.location`, `ssl.certificate.location`, `ssl.key.location`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from client.errors import SecurityError
from client.sasl import MECHANISMS

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_CREDENTIAL = re.compile(r"""\b(username|password)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))""")
_KEYS = {
    "security.protocol",
    "sasl.mechanism",
    "sasl.jaas.config",
    "sasl.username",
    "sasl.password",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.keystore.location",
    "ssl.keystore.type",
    "ssl.truststore.location",
    "ssl.truststore.type",
}


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """PEM files; without `ca_path` the system's certificate authorities are trusted."""

    ca_path: str | None = None
    certificate_path: str | None = None
    key_path: str | None = None
    key_password: str | None = None
    is_hostname_checked: bool = True


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """Mechanism and credentials."""

    mechanism: str
    username: str
    password: str


@dataclass(frozen=True, slots=True)
class Security:
    """TLS and SASL of a connection; neither by default."""

    tls: TlsSettings | None = None
    sasl: SaslSettings | None = None


def security_of(properties: Mapping[str, str]) -> Security:
    """Return the settings in a client's properties; ignore other keys of Kafka's clients.

    Raises:
        SecurityError: an unsupported protocol, mechanism, key or store, or no credentials.
    """
    for key in properties:
        if key.startswith(("ssl.", "sasl.", "security.")) and key not in _KEYS:
            raise SecurityError(f"{key}: this client does not support this key")
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        raise SecurityError(f"security.protocol={protocol}: one of {', '.join(PROTOCOLS)}")
    return Security(
        tls=_tls(properties) if protocol.endswith("SSL") else None,
        sasl=_sasl(properties) if protocol.startswith("SASL_") else None,
    )


def _tls(properties: Mapping[str, str]) -> TlsSettings:
    for store in ("truststore", "keystore"):
        kind = properties.get(f"ssl.{store}.type", "PEM")
        if kind.upper() != "PEM":
            raise SecurityError(f"ssl.{store}.type={kind}: this client reads PEM files only")
    keystore = properties.get("ssl.keystore.location")
    return TlsSettings(
        ca_path=properties.get("ssl.truststore.location", properties.get("ssl.ca.location")),
        certificate_path=properties.get("ssl.certificate.location", keystore),
        key_path=properties.get("ssl.key.location", keystore),
        key_password=properties.get("ssl.key.password"),
        is_hostname_checked=properties.get("ssl.endpoint.identification.algorithm", "https") != "",
    )


def _sasl(properties: Mapping[str, str]) -> SaslSettings:
    mechanism = properties.get("sasl.mechanism", "PLAIN")
    if mechanism not in MECHANISMS:
        raise SecurityError(f"sasl.mechanism={mechanism}: one of {', '.join(MECHANISMS)}")
    in_jaas = {
        key: re.sub(r"\\(.)", r"\1", quoted) or unquoted
        for key, quoted, unquoted in _CREDENTIAL.findall(properties.get("sasl.jaas.config", ""))
    }
    username = properties.get("sasl.username", in_jaas.get("username"))
    password = properties.get("sasl.password", in_jaas.get("password"))
    if username is None or password is None:
        raise SecurityError(
            "SASL needs a username and a password: sasl.jaas.config, or sasl.username and"
            " sasl.password"
        )
    return SaslSettings(mechanism, username, password)
