"""TLS contexts: client certificates, and errors of files."""

import asyncio
import contextlib
import re
import ssl
from pathlib import Path

import pytest
import structlog.testing

from broker.clock import SystemClock
from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.serve import ServeOptions, start_server
from broker.server.certificates import write_certificates
from broker.server.tls import UNEXPECTED_PLAINTEXT, server_context
from protocol.framing import UNEXPECTED_TLS
from tests.broker.connection_driver import metadata_frame
from tests.broker.server.tcp_client import assert_serves, connect


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_certificates(tmp_path, ["localhost"], [], SystemClock().now_ms())
    return tmp_path


def configured(**keys: str) -> BrokerConfig:
    overrides = {f"ssl.{key.replace('_', '.')}": value for key, value in keys.items()}
    return BrokerConfig.from_overrides(overrides)


@pytest.mark.parametrize(
    ("client_auth", "has_sasl", "mode"),
    [
        ("none", False, ssl.CERT_NONE),
        ("requested", False, ssl.CERT_OPTIONAL),
        ("required", False, ssl.CERT_REQUIRED),
        ("required", True, ssl.CERT_NONE),
    ],
)
def test_ssl_client_auth_decides_whether_a_certificate_is_requested(
    folder: Path, client_auth: str, has_sasl: bool, mode: ssl.VerifyMode
) -> None:
    config = configured(
        keystore_location=str(folder / "server.pem"),
        truststore_location=str(folder / "ca.pem"),
        client_auth=client_auth,
    )
    assert server_context(config, has_sasl=has_sasl).verify_mode is mode


def handshake(context: ssl.SSLContext, version: ssl.TLSVersion) -> str | None:
    """Return the cipher suite that a client of one version of TLS agrees on with a server."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.minimum_version = client.maximum_version = version
    context.sslobject_class = ssl.SSLObject
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server),
        context.wrap_bio(to_server, to_client, server_side=True),
    ]
    try:
        for side in sides * 2:
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
    except ssl.SSLError:
        return None
    cipher = sides[0].cipher()
    return None if cipher is None else cipher[0]


@pytest.mark.parametrize(
    ("keys", "of_1_2", "has_1_3"),
    [
        ({}, True, True),
        ({"enabled_protocols": "TLSv1.2"}, True, False),
        ({"enabled_protocols": "TLSv1.3"}, False, True),
        ({"cipher_suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}, True, False),
        ({"cipher_suites": "TLS_AES_128_GCM_SHA256"}, False, True),
    ],
)
def test_protocols_and_cipher_suites_decide_what_a_listener_speaks(
    folder: Path, keys: dict[str, str], *, of_1_2: bool, has_1_3: bool
) -> None:
    config = configured(keystore_location=str(folder / "server.pem"), **keys)
    context = server_context(config, has_sasl=False)
    agreed = handshake(context, ssl.TLSVersion.TLSv1_2)
    assert (agreed is not None) is of_1_2
    if "cipher_suites" in keys and of_1_2:
        assert agreed == "ECDHE-ECDSA-AES128-GCM-SHA256"
    assert (handshake(context, ssl.TLSVersion.TLSv1_3) is not None) is has_1_3


@pytest.mark.parametrize(
    "keys", [{"enabled_protocols": "TLSv9"}, {"cipher_suites": "x"}, {"enabled_protocols": "TLSv1"}]
)
def test_a_protocol_or_suite_that_nobody_has_is_refused(folder: Path, keys: dict[str, str]) -> None:
    config = configured(keystore_location=str(folder / "server.pem"), **keys)
    with pytest.raises(ConfigError, match=r"ssl\.(enabled\.protocols|cipher\.suites): "):
        server_context(config, has_sasl=False)


def test_a_missing_key_is_named_in_the_error(folder: Path) -> None:
    server = str(folder / "server.pem")
    for config, key in (
        (configured(), "ssl.keystore.location"),
        (configured(keystore_location=str(folder / "none.pem")), "ssl.keystore.location"),
        (configured(keystore_location=str(folder / "ca.pem")), "ssl.keystore.location"),
        (configured(keystore_location=server, client_auth="required"), "ssl.truststore.location"),
        (
            configured(keystore_location=server, truststore_location="/none.pem"),
            "ssl.truststore.location",
        ),
    ):
        with pytest.raises(ConfigError, match=key):
            server_context(config, has_sasl=False)


def split_keystore(folder: Path) -> tuple[str, str]:
    """Return the key and the certificate of `server.pem`."""
    key, end, chain = (folder / "server.pem").read_text().partition("-----END PRIVATE KEY-----\n")
    return key + end, chain


@pytest.mark.parametrize("line_end", ["\n", " ", "\r\n"])
def test_a_client_is_verified_with_keys_that_are_in_the_configuration_itself(
    tmp_path: Path, line_end: str
) -> None:
    files = write_certificates(tmp_path, ["localhost"], ["alice"], SystemClock().now_ms())
    texts = (*split_keystore(tmp_path), (tmp_path / "ca.pem").read_text())
    key, chain, authority = (text.replace("\n", line_end) for text in texts)
    server = server_context(
        configured(
            keystore_type="PEM",
            keystore_key=key,
            keystore_certificate_chain=chain,
            truststore_certificates=authority,
            client_auth="required",
        ),
        has_sasl=False,
    )
    client = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    client.load_cert_chain(files["alice"])
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for side in sides:
        with pytest.raises(ssl.SSLWantReadError):
            side.do_handshake()
    for side in sides:
        side.do_handshake()
    certificate = sides[1].getpeercert()
    assert certificate is not None
    assert certificate["subject"] == ((("commonName", "alice"),),)


def test_a_key_in_the_configuration_needs_a_certificate_and_no_file(folder: Path) -> None:
    key, chain = split_keystore(folder)
    server, authority = str(folder / "server.pem"), str(folder / "ca.pem")
    for config, reason in (
        (configured(keystore_key=key), "certificate chain is not specified"),
        (configured(keystore_certificate_chain=chain), "private key is not specified"),
        (
            configured(
                keystore_key=key, keystore_certificate_chain=chain, keystore_location=server
            ),
            "Both SSL key store location and separate private key",
        ),
        (
            configured(keystore_key="secret", keystore_certificate_chain=chain),
            "ssl.keystore.key: no PEM block",
        ),
        (
            configured(keystore_key=chain, keystore_certificate_chain=chain),
            "ssl.keystore.key and ssl.keystore.certificate.chain are no PEM",
        ),
        (
            configured(
                keystore_location=server,
                truststore_location=authority,
                truststore_certificates=chain,
            ),
            "Both SSL trust store location and separate trust certificates",
        ),
        (
            configured(keystore_location=server, truststore_certificates=key),
            "ssl.truststore.certificates: this is no PEM",
        ),
    ):
        with pytest.raises(ConfigError, match=re.escape(reason)) as raised:
            server_context(config, has_sasl=False)
        assert "secret" not in str(raised.value)


async def test_a_client_without_tls_on_a_tls_port_and_the_reverse_are_named_in_the_log(
    folder: Path,
) -> None:
    config = BrokerConfig.from_overrides(
        {
            "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0",
            "ssl.keystore.location": str(folder / "server.pem"),
        }
    )
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    server = await start_server(ServeOptions("127.0.0.1", 0, 1, config))
    ports = [address.port for address in server.cluster.brokers[1].endpoints.values()]
    try:
        with structlog.testing.capture_logs() as lines:
            for port in ports[:2]:
                with pytest.raises((ssl.SSLError, ConnectionError)):
                    await asyncio.open_connection("127.0.0.1", port, ssl=context)
            for first_bytes in (metadata_frame(1), b"GET / HTTP/1.1\r\n\r\n"):
                reader, writer = await connect(ports[2])
                writer.write(first_bytes)
                assert await reader.read() in {b"", b"\x15\x03\x01\x00\x02\x02\x46"}
                writer.close()
        reasons = [(line["log_level"], line["reason"]) for line in lines]
        assert (
            reasons == [("warning", UNEXPECTED_TLS)] * 2 + [("warning", UNEXPECTED_PLAINTEXT)] * 2
        )
        await assert_serves(ports[0])
    finally:
        await server.stop()


def test_only_pem_keystores_are_accepted() -> None:
    with pytest.raises(ConfigError, match="PEM"):
        configured(keystore_type="JKS")
    with pytest.raises(ConfigError, match="openssl pkcs12 -nodes make PEM of a JKS store"):
        configured(truststore_type="JKS")


def test_a_failed_handshake_is_logged_in_one_line_with_the_reason(folder: Path) -> None:
    server = server_context(
        configured(
            keystore_location=str(folder / "server.pem"),
            truststore_location=str(folder / "ca.pem"),
            client_auth="required",
        ),
        has_sasl=False,
    )
    client = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname="localhost"),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    with structlog.testing.capture_logs() as lines:
        for side in sides:
            with pytest.raises(ssl.SSLWantReadError):
                side.do_handshake()
        sides[0].do_handshake()
        with pytest.raises(ssl.SSLError):
            sides[1].do_handshake()

    [line] = lines
    assert line["event"] == "connection closed"
    assert "did not return a certificate" in line["reason"]


@pytest.mark.parametrize(
    ("rules", "principal"),
    [
        ("DEFAULT", "CN=Alice,OU=tests"),
        ("RULE:^CN=(.*?),.*$/$1/L", "alice"),
        ("RULE:^O=.*$/x/", None),
    ],
)
async def test_the_principal_is_the_name_in_the_certificate(
    tmp_path: Path, rules: str, principal: str | None
) -> None:
    name = "CN=Alice,OU=tests"
    files = write_certificates(tmp_path, ["localhost"], [name], SystemClock().now_ms())
    config = BrokerConfig.from_overrides(
        {
            "listeners": "SSL://127.0.0.1:0",
            "ssl.keystore.location": str(tmp_path / "server.pem"),
            "ssl.truststore.location": str(tmp_path / "ca.pem"),
            "ssl.client.auth": "required",
            "ssl.principal.mapping.rules": rules,
        }
    )
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    context.load_cert_chain(files[name])

    server = await start_server(ServeOptions("127.0.0.1", 0, 1, config))
    try:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", server.cluster.brokers[1].port, ssl=context, server_hostname="localhost"
        )
        writer.write(metadata_frame(1))
        await reader.read(1)
        writer.close()
        connections = [protocol.connection for protocol in server._protocols]
        found = [
            connection.session.principal for connection in connections if connection is not None
        ]
    finally:
        await server.stop()
    assert found == ([] if principal is None else [principal])
