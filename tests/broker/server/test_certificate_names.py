"""Names in certificates, as Java writes and compares them."""

from dataclasses import replace
from pathlib import Path

import pytest

from broker.clock import SystemClock
from broker.server.certificate_names import CertificateNames
from broker.server.certificates import write_certificates

HOSTS = ["localhost", "127.0.0.1", "::1"]


def read(folder: Path, hosts: list[str]) -> CertificateNames:
    write_certificates(folder, hosts, [], SystemClock().now_ms())
    return CertificateNames.read((folder / "server.pem").read_bytes())


def problem(
    old: CertificateNames,
    new: CertificateNames,
    *,
    allows_name: bool = False,
    allows_alternatives: bool = False,
) -> str | None:
    return old.change_problem(new, allows_name=allows_name, allows_alternatives=allows_alternatives)


def test_names_are_read_as_java_writes_them(tmp_path: Path) -> None:
    names = read(tmp_path, ["CN=kafka,OU=tests", "kafka.example", "::1"])
    assert names.distinguished == "CN=kafka, OU=tests"
    assert names.alternatives[1:] == ((2, "kafka.example"), (7, "0:0:0:0:0:0:0:1"))


def test_other_names_are_refused_as_by_kafka_unless_they_are_allowed(tmp_path: Path) -> None:
    old = read(tmp_path, HOSTS)
    renamed = replace(old, distinguished="CN=other")
    fewer = replace(old, alternatives=((2, "localhost"),))
    assert problem(old, renamed) == (
        "org.apache.kafka.common.config.ConfigException: Keystore DistinguishedName does not match:"
        "  existing={alias=kafka, DN=CN=localhost}, new={alias=kafka, DN=CN=other}"
    )
    # The order is that of Kafka 4.1.0, which has logged this line.
    assert problem(old, fewer) == (
        "org.apache.kafka.common.config.ConfigException: Keystore SubjectAltNames do not match: "
        " existing={alias=kafka, SAN=[[2, localhost], [7, 0:0:0:0:0:0:0:1], [7, 127.0.0.1]]},"
        " new={alias=kafka, SAN=[[2, localhost]]}"
    )
    assert problem(old, renamed, allows_name=True) is None
    assert problem(old, fewer, allows_alternatives=True) is None
    assert problem(fewer, old) is None


@pytest.mark.parametrize("name", ["CN=LOCALHOST", " CN=localhost "])
def test_a_distinguished_name_is_compared_without_case_and_spaces(
    tmp_path: Path, name: str
) -> None:
    old = read(tmp_path, HOSTS)
    assert problem(old, replace(old, distinguished=name)) is None
