"""TLS of the server: contexts from the files that the configuration names.

The event loop does not report a failed handshake, so the context logs it. It does not know the
client's address.
"""

import ssl
from collections.abc import Mapping
from typing import Any

from broker.config.keys import ConfigError
from broker.log import log

_VERIFY_MODES = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class _TlsSession(ssl.SSLObject):
    """The TLS side of one connection."""

    def do_handshake(self) -> None:
        """Continue the handshake; log the reason of a failure."""
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            log.info("connection closed", reason=f"TLS handshake failed: {error}")
            raise


def server_context(config: Mapping[str, Any], *, has_sasl: bool) -> ssl.SSLContext:
    """Return the TLS context of a listener: its certificate, and whether clients need one.

    With SASL no client certificate is requested, as in Kafka: SASL authenticates the client.

    Raises:
        ConfigError: a key is missing, or a file is invalid.
    """
    keystore, truststore = config["ssl.keystore.location"], config["ssl.truststore.location"]
    if keystore is None:
        raise ConfigError("a TLS listener needs ssl.keystore.location, a PEM file")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslobject_class = _TlsSession
    password = config["ssl.key.password"]
    try:
        context.load_cert_chain(keystore, password=lambda: password or "")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"ssl.keystore.location: {keystore} is no PEM file with key and certificate: {error}"
        ) from error
    if has_sasl:
        return context
    context.verify_mode = _VERIFY_MODES[config["ssl.client.auth"]]
    if truststore is not None:
        try:
            context.load_verify_locations(truststore)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"ssl.truststore.location: {truststore} is no PEM file with certificates: {error}"
            ) from error
    elif context.verify_mode is not ssl.CERT_NONE:
        raise ConfigError("ssl.client.auth needs ssl.truststore.location, a PEM file")
    return context
