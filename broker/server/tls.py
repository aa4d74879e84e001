"""TLS of the server: contexts from PEM, in files or in the configuration itself (KIP-651).

The event loop does not report a failed handshake, so the context logs it. It does not know the
client's address.
"""

import re
import ssl
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from typing import Any

from broker.config.keys import ConfigError
from broker.log import log
from broker.server.tls_suites import UnsupportedError, openssl_ciphers, versions_of

_VERIFY_MODES = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}

VALID_DAYS = 365
"""How long certificates are valid that are made for tests."""

UNEXPECTED_PLAINTEXT = (
    "the client does not speak TLS, and this port does: set its security.protocol to SSL or"
    " SASL_SSL, or use the port of a listener without TLS"
)

_NOT_WITH_PEM = (
    "SSL key store password cannot be specified with PEM format, only key password may be specified"
)
_PEM_BLOCK = re.compile(r"-+BEGIN ([A-Z0-9 ]+)-+\s+([A-Za-z0-9+/=\s]+)-+END \1-+")
_BASE64_LINE = 64


class StoreError(ConfigError):
    """A keystore or a truststore cannot be used; `kafka_text` is what Kafka's exception says."""

    def __init__(self, message: str, kafka_text: str | None = None) -> None:
        """Without `kafka_text` it is the message of an `InvalidConfigurationException`."""
        super().__init__(message)
        self.kafka_text = kafka_text or _invalid_configuration(message)


def _invalid_configuration(message: str) -> str:
    return f"org.apache.kafka.common.errors.InvalidConfigurationException: {message}"


class _TlsSession(ssl.SSLObject):
    """The TLS side of one connection."""

    def do_handshake(self) -> None:
        """Continue the handshake; log the reason of a failure."""
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            if error.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST"}:
                log.warning("connection closed", reason=UNEXPECTED_PLAINTEXT)
            else:
                log.info("connection closed", reason=f"TLS handshake failed: {error}")
            raise


def server_context(config: Mapping[str, Any], *, has_sasl: bool) -> ssl.SSLContext:
    """Return the TLS context of a listener: its certificate, and whether clients need one.

    With SASL no client certificate is requested, as in Kafka: SASL authenticates the client.

    Raises:
        StoreError: a key is missing, a file or a PEM text is invalid, or both are given.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslobject_class = _TlsSession
    restrict_protocols(context, config["ssl.enabled.protocols"], config["ssl.cipher.suites"])
    load_keystore(context, config)
    has_truststore = load_truststore(context, config)
    if has_sasl:
        return context
    context.verify_mode = _VERIFY_MODES[config["ssl.client.auth"]]
    if context.verify_mode is not ssl.CERT_NONE and not has_truststore:
        raise StoreError(
            "ssl.client.auth needs ssl.truststore.location, a PEM file, or"
            " ssl.truststore.certificates"
        )
    return context


def restrict_protocols(
    context: ssl.SSLContext, protocols: Sequence[str], suites: Sequence[str]
) -> None:
    """Have a context speak these versions of TLS only, with these cipher suites, if there are any.

    Raises:
        StoreError: a name is unknown, or nothing is left to speak.
    """
    try:
        versions = versions_of(protocols, suites)
        context.minimum_version, context.maximum_version = versions[0], versions[-1]
        if suites and versions[0] is ssl.TLSVersion.TLSv1_2:
            context.set_ciphers(openssl_ciphers(suites))
    except UnsupportedError as error:
        raise StoreError(str(error), error.kafka_text) from error
    except ssl.SSLError as error:
        raise StoreError(f"ssl.cipher.suites: OpenSSL has none of {', '.join(suites)}") from error


def has_keystore(config: Mapping[str, Any]) -> bool:
    """Return whether a configuration has a key or a certificate for TLS listeners."""
    keys = ("ssl.keystore.location", "ssl.keystore.key", "ssl.keystore.certificate.chain")
    return any(config[key] is not None for key in keys)


def load_keystore(context: ssl.SSLContext, config: Mapping[str, Any]) -> None:
    """Load key and certificate; the rules and texts are those of `DefaultSslEngineFactory`.

    Raises:
        StoreError: there is none, or it cannot be used.
    """
    path = config["ssl.keystore.location"]
    key, chain = config["ssl.keystore.key"], config["ssl.keystore.certificate.chain"]
    if key is None and chain is None:
        _load_keystore_file(context, config)
        return
    if chain is None:
        raise StoreError("SSL private key is specified, but certificate chain is not specified.")
    if key is None:
        raise StoreError("SSL certificate chain is specified, but private key is not specified")
    if path is not None:
        raise StoreError("Both SSL key store location and separate private key are specified.")
    if config["ssl.keystore.password"] is not None:
        raise StoreError(f"{_NOT_WITH_PEM}.")
    failed = _invalid_configuration("Invalid PEM keystore configs")
    text = _pem_lines("ssl.keystore.key", key, failed)
    text += _pem_lines("ssl.keystore.certificate.chain", chain, failed)
    # `ssl` reads keys from files only; nobody else can open this folder.
    with TemporaryDirectory(prefix="mock-kafka-") as folder:
        file = Path(folder) / "keystore.pem"
        file.write_text(text, encoding="ascii")
        try:
            context.load_cert_chain(file, password=lambda: config["ssl.key.password"] or "")
        except (OSError, ValueError) as error:
            raise StoreError(
                "ssl.keystore.key and ssl.keystore.certificate.chain are no PEM key and"
                f" certificate: {error}",
                failed,
            ) from error


def _load_keystore_file(context: ssl.SSLContext, config: Mapping[str, Any]) -> None:
    path = config["ssl.keystore.location"]
    if path is None:
        raise StoreError(
            "a TLS listener needs ssl.keystore.location, a PEM file, or ssl.keystore.key and"
            " ssl.keystore.certificate.chain"
        )
    if config["ssl.keystore.password"] is not None:
        raise StoreError(_NOT_WITH_PEM)
    try:
        context.load_cert_chain(path, password=lambda: config["ssl.key.password"] or "")
    except (OSError, ValueError) as error:
        raise StoreError(
            f"ssl.keystore.location: {path} is no PEM file with key and certificate: {error}",
            _invalid_configuration(f"Failed to load PEM SSL keystore {path}"),
        ) from error


def load_truststore(context: ssl.SSLContext, config: Mapping[str, Any]) -> bool:
    """Load the certificates that clients' certificates are checked with; return if there are.

    Raises:
        StoreError: they cannot be used.
    """
    path, text = config["ssl.truststore.location"], config["ssl.truststore.certificates"]
    if path is not None and text is not None:
        raise StoreError(
            "Both SSL trust store location and separate trust certificates are specified."
        )
    if config["ssl.truststore.password"] is not None:
        if path is None and text is None:
            raise StoreError(
                "SSL trust store is not specified, but trust store password is specified."
            )
        raise StoreError("SSL trust store password cannot be specified for PEM format.")
    if path is not None:
        failed = _invalid_configuration(f"Failed to load PEM SSL keystore {path}")
    else:
        failed = _invalid_configuration("No matching CERTIFICATE entries in PEM file")
    try:
        if path is not None:
            context.load_verify_locations(path)
        elif text is not None:
            pem = _pem_lines("ssl.truststore.certificates", text, failed)
            context.load_verify_locations(cadata=pem)
    except (OSError, ValueError) as error:
        where = "ssl.truststore.certificates: this"
        if path is not None:
            where = f"ssl.truststore.location: {path}"
        message = f"{where} is no PEM file with certificates: {error}"
        raise StoreError(message, failed) from error
    return path is not None or text is not None


def _pem_lines(key: str, text: str, kafka_text: str) -> str:
    """Return PEM with the lines that OpenSSL needs; Kafka takes any whitespace for them.

    Raises:
        StoreError: there is no PEM block; the text, which may be a key, is not repeated.
    """
    blocks = _PEM_BLOCK.findall(text)
    if not blocks:
        message = f"{key}: no PEM block, -----BEGIN ...----- to -----END ...-----"
        raise StoreError(message, kafka_text)
    return "".join(
        "\n".join(
            [
                f"-----BEGIN {label}-----",
                *wrap("".join(base64.split()), _BASE64_LINE),
                f"-----END {label}-----\n",
            ]
        )
        for label, base64 in blocks
    )
