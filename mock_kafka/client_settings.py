"""The settings with which a Kafka client connects to a cluster, in the client's own words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

__tracebackhide__ = True  # pytest shows the line of the caller

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN")
"""The SASL mechanisms with a password; the first that is enabled is used."""

Client = Literal["confluent", "kafka-python", "aiokafka", "java"]

_LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


@dataclass(frozen=True)
class Credential:
    """How a user authenticates."""

    mechanism: str
    user: str
    password: str


@dataclass(frozen=True)
class Access:
    """What a client needs to know about a listener.

    `ca_path` is the file of the authority that has signed the brokers' certificates, None if it is
    not known or there are none. `credential` is None without SASL.
    """

    bootstrap_servers: str
    security_protocol: str = "PLAINTEXT"
    ca_path: str | None = None
    credential: Credential | None = None

    @property
    def has_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.security_protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        """Whether clients authenticate with SASL."""
        return self.security_protocol.startswith("SASL_")


def sasl_users(users: Mapping[str, str]) -> str:
    """Return users as the value of `sasl.users`; each character of a password is itself."""
    return ",".join(
        f"{quote(name, safe='')}:{quote(password, safe='')}" for name, password in users.items()
    )


def credential_of(
    users: Mapping[str, str], user: str | None, password: str | None, enabled_mechanisms: str
) -> Credential:
    """Return how a user authenticates: one of `users`, by default the first, or another one.

    `enabled_mechanisms` is a value of `sasl.enabled.mechanisms`.

    Raises:
        ValueError: there is no such user, or no mechanism with passwords.
    """
    name = next(iter(users), None) if user is None else user
    known_password = users.get(name or "") if password is None else password
    if name is None or known_password is None:
        from mock_kafka.near_names import did_you_mean  # noqa: PLC0415 - only for an error

        known = f"users are: {', '.join(users)}" if users else "users= of MockKafka names none"
        raise ValueError(
            f"there is no user {name!r}{did_you_mean(name or '', users)}; {known}; for others pass"
            " user= and password="
        )
    enabled = [word.strip() for word in enabled_mechanisms.split(",")]
    mechanism = next((known for known in MECHANISMS if known in enabled), None)
    if mechanism is None:
        raise ValueError(f"sasl.enabled.mechanisms has none of {', '.join(MECHANISMS)}")
    return Credential(mechanism, name, known_password)


def client_settings(client: str, access: Access) -> dict[str, Any]:
    """Return the settings of a client: one of "confluent", "kafka-python", "aiokafka", "java".

    Raises:
        ValueError: there is no such client.
    """
    if client not in _SETTINGS:
        from mock_kafka.near_names import did_you_mean  # noqa: PLC0415 - only for an error

        known = ", ".join(_SETTINGS)
        raise ValueError(
            f"no settings for {client!r}{did_you_mean(client, _SETTINGS)}; there are: {known}"
        )
    return _SETTINGS[client](access)


def _address(access: Access, separator: str) -> dict[str, Any]:
    """Return the addresses and the protocol; `separator` is between the words of a name."""
    settings = {f"bootstrap{separator}servers": access.bootstrap_servers}
    if access.security_protocol != "PLAINTEXT":
        settings[f"security{separator}protocol"] = access.security_protocol
    return settings


def _of_librdkafka(access: Access) -> dict[str, Any]:
    settings = _address(access, ".")
    if access.ca_path is not None:
        settings["ssl.ca.location"] = access.ca_path
    if access.credential is not None:
        settings |= {
            "sasl.mechanism": access.credential.mechanism,
            "sasl.username": access.credential.user,
            "sasl.password": access.credential.password,
        }
    return settings


def _of_java(access: Access) -> dict[str, Any]:
    settings = _address(access, ".")
    if access.ca_path is not None:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": access.ca_path}
    if access.credential is not None:
        mechanism = access.credential.mechanism
        user, password = map(_jaas_text, (access.credential.user, access.credential.password))
        settings |= {
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": (
                f"{_LOGIN_MODULES[mechanism]} required username={user} password={password};"
            ),
        }
    return settings


def _of_python(access: Access) -> dict[str, Any]:
    """Return the settings that kafka-python and aiokafka have in common."""
    settings = _address(access, "_")
    if access.credential is not None:
        settings |= {
            "sasl_mechanism": access.credential.mechanism,
            "sasl_plain_username": access.credential.user,
            "sasl_plain_password": access.credential.password,
        }
    return settings


def _of_kafka_python(access: Access) -> dict[str, Any]:
    ca = {} if access.ca_path is None else {"ssl_cafile": access.ca_path}
    return _of_python(access) | ca


def _of_aiokafka(access: Access) -> dict[str, Any]:
    if not access.has_tls:
        return _of_python(access)
    import ssl  # noqa: PLC0415 - a slow import that few need

    return _of_python(access) | {"ssl_context": ssl.create_default_context(cafile=access.ca_path)}


def _jaas_text(text: str) -> str:
    """Return a quoted string of a JAAS configuration, which `StreamTokenizer` of Java reads."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return '"{}"'.format(escaped.replace("\r", "\\r"))


_SETTINGS: Mapping[str, Callable[[Access], dict[str, Any]]] = {
    "confluent": _of_librdkafka,
    "kafka-python": _of_kafka_python,
    "aiokafka": _of_aiokafka,
    "java": _of_java,
}
