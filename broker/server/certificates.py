"""Throw-away certificates for tests: an authority, a server and clients, as PEM files."""

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from broker.config.keys import ConfigError
from broker.server.tls import VALID_DAYS

AUTHORITY_FILE = "ca.pem"
SERVER_FILE = "server.pem"


@dataclass(frozen=True, slots=True)
class _Authority:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class _Validity:
    start: datetime
    end: datetime

    @classmethod
    def of(cls, now: datetime, days: int) -> "_Validity":
        """Return the time from an hour ago, or for an end in the past from a day before it."""
        end = now + timedelta(days=days)
        return cls(min(now - timedelta(hours=1), end - timedelta(days=1)), end)


def write_certificates(
    folder: Path,
    hosts: Sequence[str],
    clients: Sequence[str],
    now_ms: int,
    valid_days: int = VALID_DAYS,
) -> dict[str, Path]:
    """Write `ca.pem`, `server.pem` and `client-NAME.pem` files; return the latter by client name.

    A server's or client's file holds its key and its certificate. A client is a common name or a
    distinguished name, for example `CN=alice,OU=tests`. They end `valid_days` from now, or before
    now if it is negative; the authority's certificate is valid all the same.

    Raises:
        ConfigError: the name of a client or host is invalid, or no date is so far away.
        OSError: the folder can't be written to.
    """
    subjects = {client: _subject(client) for client in clients}
    server_subject = _subject(hosts[0])
    alternatives = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    try:
        validity = _Validity.of(now, valid_days)
        of_authority = _Validity(validity.start, max(validity.end, now + timedelta(VALID_DAYS)))
    except OverflowError as error:
        raise ConfigError(f"no date is {valid_days} days away") from error
    key = ec.generate_private_key(ec.SECP256R1())
    name = _subject("mock-kafka throwaway CA")
    builder = _builder(name, name, key, of_authority).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    builder = builder.add_extension(
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
    ).add_extension(_key_usage(is_authority=True), critical=True)
    authority = _Authority(builder.sign(key, SHA256()), key)
    (folder / AUTHORITY_FILE).write_bytes(authority.certificate.public_bytes(Encoding.PEM))
    _write_signed(
        folder / SERVER_FILE,
        authority,
        server_subject,
        validity,
        [alternatives, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])],
    )
    files = {}
    for client, subject in subjects.items():
        files[client] = folder / f"client-{_file_stem(subject)}.pem"
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        _write_signed(files[client], authority, subject, validity, [usage])
    return files


def describe_certificates(folder: Path, files: dict[str, Path]) -> str:
    """Return the settings for the broker and for clients that use them."""
    lines = [
        "# on the broker, in its properties or with -o",
        "listeners=SSL://:9092",
        f"ssl.keystore.location={folder / SERVER_FILE}",
        f"ssl.truststore.location={folder / AUTHORITY_FILE}",
        "ssl.client.auth=required",
    ]
    for client, path in files.items():
        lines += [
            "",
            f"# confluent-kafka (librdkafka) as {client}",
            "security.protocol=SSL",
            f"ssl.ca.location={folder / AUTHORITY_FILE}",
            f"ssl.certificate.location={path}",
            f"ssl.key.location={path}",
            f"# kafka-python as {client}: security_protocol='SSL',",
            f"#   ssl_cafile='{folder / AUTHORITY_FILE}',",
            f"#   ssl_certfile='{path}', ssl_keyfile='{path}'",
            f"# Java as {client}: ssl.keystore.type=PEM, ssl.keystore.location={path},",
            f"#   ssl.truststore.type=PEM, ssl.truststore.location={folder / AUTHORITY_FILE}",
        ]
    return "\n".join(lines)


def _subject(text: str) -> x509.Name:
    try:
        if "=" in text:
            return x509.Name.from_rfc4514_string(text)
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
    except ValueError as error:
        raise ConfigError(f"{text!r} is neither a common name nor a DN: {error}") from error


def _file_stem(subject: x509.Name) -> str:
    names = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    text = str(names[0].value) if names else subject.rfc4514_string()
    return re.sub(r"[^A-Za-z0-9._-]", "_", text)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host)
    except ValueError as error:
        raise ConfigError(f"{host!r} is neither an address nor a host name: {error}") from error


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, validity: _Validity
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity.start)
        .not_valid_after(validity.end)
    )


def _key_usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _write_signed(
    path: Path,
    authority: _Authority,
    subject: x509.Name,
    validity: _Validity,
    extensions: Sequence[x509.ExtensionType],
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    builder = _builder(subject, authority.certificate.subject, key, validity)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    for extension in (*extensions, identifier):
        builder = builder.add_extension(extension, critical=False)
    builder = builder.add_extension(
        x509.BasicConstraints(ca=False, path_length=None), critical=True
    ).add_extension(_key_usage(is_authority=False), critical=True)
    certificate = builder.sign(authority.key, SHA256())
    key_bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.unlink(missing_ok=True)  # an old file may be readable by others
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(key_bytes + certificate.public_bytes(Encoding.PEM))
