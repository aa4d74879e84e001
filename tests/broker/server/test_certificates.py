"""TLS accepts the certificates of server and clients."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from broker.clock import SystemClock
from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.security.principal_mapping import certificate_name
from broker.server.certificates import describe_certificates, write_certificates
from broker.server.tls import server_context


def shake_hands(client: ssl.SSLObject, server: ssl.SSLObject, pipes: list[ssl.MemoryBIO]) -> None:
    to_client, from_client, to_server, from_server = pipes
    done: set[ssl.SSLObject] = set()
    for _ in range(10):
        for side in (client, server):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                pass
            to_server.write(from_client.read())
            to_client.write(from_server.read())
    assert len(done) == 2


def test_a_client_trusts_the_server_and_is_identified_by_its_certificate(tmp_path: Path) -> None:
    name = "CN=alice,OU=Tests,O=Mock"
    files = write_certificates(tmp_path, ["localhost", "127.0.0.1"], [name], SystemClock().now_ms())
    config = BrokerConfig.from_overrides(
        {
            "ssl.keystore.location": str(tmp_path / "server.pem"),
            "ssl.truststore.location": str(tmp_path / "ca.pem"),
            "ssl.client.auth": "required",
        }
    )
    pipes = [ssl.MemoryBIO() for _ in range(4)]
    server = server_context(config, has_sasl=False).wrap_bio(pipes[2], pipes[3], server_side=True)
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    context.load_cert_chain(files[name])
    client = context.wrap_bio(pipes[0], pipes[1], server_hostname="127.0.0.1")
    shake_hands(client, server, pipes)
    assert certificate_name(server.getpeercert()) == name
    assert files[name].name == "client-alice.pem"


def test_key_files_are_readable_only_by_their_owner(tmp_path: Path) -> None:
    (tmp_path / "server.pem").touch(mode=0o644)
    files = write_certificates(tmp_path, ["localhost"], ["a/b"], SystemClock().now_ms())
    assert files["a/b"] == tmp_path / "client-a_b.pem"
    for path in (files["a/b"], tmp_path / "server.pem"):
        assert path.stat().st_mode & 0o077 == 0


def test_the_printed_settings_name_every_file(tmp_path: Path) -> None:
    files = write_certificates(tmp_path, ["localhost"], ["alice"], SystemClock().now_ms())
    text = describe_certificates(tmp_path, files)
    for path in tmp_path.iterdir():
        assert str(path) in text


def test_an_invalid_client_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="X=y"):
        write_certificates(tmp_path, ["localhost"], ["X=y"], SystemClock().now_ms())


def test_certificates_that_have_expired_are_of_an_authority_that_has_not(tmp_path: Path) -> None:
    now_ms = SystemClock().now_ms()
    files = write_certificates(tmp_path, ["localhost"], ["alice"], now_ms, valid_days=-1)
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    authority, *expired = (
        x509.load_pem_x509_certificate(path.read_bytes())
        for path in (tmp_path / "ca.pem", tmp_path / "server.pem", files["alice"])
    )
    assert authority.not_valid_after_utc > now
    for certificate in expired:
        assert certificate.not_valid_before_utc < certificate.not_valid_after_utc
        assert now - certificate.not_valid_after_utc < timedelta(days=1, seconds=1)
        assert authority.not_valid_before_utc <= certificate.not_valid_before_utc


def test_a_date_that_is_too_far_away_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no date is 9999999 days away"):
        write_certificates(tmp_path, ["localhost"], [], SystemClock().now_ms(), 9_999_999)
