"""Versions of TLS and cipher suites by Java's names, for OpenSSL.

Java of today has TLSv1 and TLSv1.1 switched off, and OpenSSL needs a lower security level for them.
"""

import re
import ssl
from collections.abc import Iterable, Sequence
from typing import NoReturn

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
SWITCHED_OFF = frozenset({"SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1"})
SUITES_OF_TLS_1_3 = frozenset(
    {
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_AES_128_CCM_SHA256",
        "TLS_AES_128_CCM_8_SHA256",
    }
)
_SUITE = re.compile(r"(?:TLS|SSL)_(?P<exchange>\w+?)_WITH_(?P<cipher>\w+)")
_CIPHER = re.compile(r"(?P<name>AES|CAMELLIA|ARIA)_(?P<bits>128|256)_(?P<rest>\w+)")


class UnsupportedError(ValueError):
    """A protocol or a cipher suite that TLS of Java or OpenSSL does not have."""

    def __init__(self, message: str, kafka_text: str) -> None:
        """`kafka_text` is what Java says."""
        super().__init__(message)
        self.kafka_text = kafka_text


def versions_of(protocols: Iterable[str], suites: Sequence[str]) -> list[ssl.TLSVersion]:
    """Return the versions to speak, ascending; a version without a suite is left out.

    Raises:
        UnsupportedError: a protocol or a suite is unknown, or no version is left.
    """
    for name in protocols:
        if name not in VERSIONS and name not in SWITCHED_OFF:
            _refuse("ssl.enabled.protocols", f"Unsupported protocol{name}")
    of_suites = {"TLSv1.3" if name in SUITES_OF_TLS_1_3 else "TLSv1.2" for name in suites}
    enabled = set(protocols) & (of_suites or VERSIONS.keys())
    versions = [version for name, version in VERSIONS.items() if name in enabled]
    if not versions:
        _refuse(
            "ssl.enabled.protocols",
            "No appropriate protocol (protocol is disabled or cipher suites are inappropriate)",
        )
    return versions


def openssl_ciphers(suites: Iterable[str]) -> str:
    """Return OpenSSL's names of the suites of TLS 1.2, separated by colons.

    Raises:
        UnsupportedError: a suite is unknown.
    """
    return ":".join(_openssl_name(name) for name in suites if name not in SUITES_OF_TLS_1_3)


def _openssl_name(name: str) -> str:
    """Return `ECDHE-RSA-AES128-GCM-SHA256` for `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`."""
    suite = _SUITE.fullmatch(name)
    if suite is None:
        _refuse("ssl.cipher.suites", f"Unsupported CipherSuite: {name}")
    cipher, found = suite["cipher"], _CIPHER.fullmatch(suite["cipher"])
    if found is not None:
        rest = found["rest"].removeprefix("CBC_")
        cipher = f"{found['name']}{found['bits']}_{rest}"
    elif cipher == "CHACHA20_POLY1305_SHA256":
        cipher = "CHACHA20_POLY1305"
    parts = cipher if suite["exchange"] == "RSA" else f"{suite['exchange']}_{cipher}"
    openssl = parts.replace("_", "-")
    if not _is_of_openssl(openssl):
        _refuse("ssl.cipher.suites", f"Unsupported CipherSuite: {name}")
    return openssl


def _is_of_openssl(name: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(name)
    except ssl.SSLError:
        return False
    return True


def _refuse(key: str, java_text: str) -> NoReturn:
    kafka_text = f"java.lang.IllegalArgumentException: {java_text}"
    raise UnsupportedError(f"{key}: {java_text}", kafka_text)
