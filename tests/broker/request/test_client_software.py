"""Which clients are known to fail a batch on THROTTLING_QUOTA_EXCEEDED."""

import re

import pytest

from broker.request.client_software import (
    FAILING_LIBRARIES,
    ClientSoftware,
    FailingLibrary,
    fails_on_throttling_quota_exceeded,
)


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("librdkafka", "2.16.0"),
        ("confluent-kafka-python", "2.16.1-rdkafka-2.16.0"),
        ("confluent-kafka-go", "2.16.0"),
        ("confluent-kafka-dotnet", "2.16.0"),
        ("confluent-kafka-javascript", "1.10.0-librdkafka-2.16.0"),
        ("karafka", "v2.5.0-rdkafka-ruby-v0.25.0-librdkafka-v2.12.1"),
        ("some-other-binding", "1.0-librdkafka-2.16.0"),
        ("sarama", "v1.61.1"),
        ("apache-kafka-java", "2.4.0"),
        ("apache-kafka-java", "2.6.3"),
    ],
)
def test_known_libraries_fail_with_any_client_id(name: str, version: str) -> None:
    assert fails_on_throttling_quota_exceeded(ClientSoftware(name, version), "payments")


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("apache-kafka-java", "2.7.0"),
        ("apache-kafka-java", "2.10.0-SNAPSHOT"),
        ("apache-kafka-java", "4.1.0"),
        ("apache-kafka-java", "unknown"),
        ("kafka-python", "3.0.12"),
        ("kgo", "v1.22.2"),
        ("a-client-that-nobody-knows", "1.0"),
    ],
)
def test_other_libraries_get_error_89_even_with_a_client_id_of_the_table(
    name: str, version: str
) -> None:
    for client_id in ("payments", "rdkafka", "aiokafka-producer-1", None):
        assert not fails_on_throttling_quota_exceeded(ClientSoftware(name, version), client_id)


@pytest.mark.parametrize(
    ("client_id", "fails"),
    [
        ("aiokafka-producer-1", True),
        ("aiokafka-producer-12", True),
        ("rdkafka", True),
        ("kafkajs", True),
        ("sarama", True),
        ("producer-3", True),
        ("aiokafka-producer-", False),
        ("my-aiokafka-producer-1", False),
        ("rdkafka2", False),
        ("payments", False),
        ("", False),
        (None, False),
    ],
)
def test_a_client_without_a_name_is_known_by_its_default_client_id(
    client_id: str | None, fails: bool
) -> None:
    assert fails_on_throttling_quota_exceeded(None, client_id) is fails


@pytest.mark.parametrize(
    ("version", "fails"),
    [
        ("2.16.1-rdkafka-2.16.9", True),
        ("2.16.1-rdkafka-2.17.0", False),
        ("2.17.0-rdkafka-2.16.0", True),
        ("rdkafka-of-unknown-age", False),
    ],
)
def test_the_version_bound_is_of_the_library_and_not_of_its_binding(
    version: str, fails: bool
) -> None:
    library = FailingLibrary(
        "librdkafka", "", re.compile("rdkafka"), version_marker="rdkafka", fixed_in=(2, 17)
    )
    assert library.covers(ClientSoftware("binding", version), None) is fails


@pytest.mark.parametrize(
    ("version", "fails"),
    [("9" * 32_767, False), ("1." * 16_000 + "1", True), ("9" * 5_000 + ".1", False)],
)
def test_a_version_of_any_length_is_accepted(version: str, fails: bool) -> None:
    software = ClientSoftware("apache-kafka-java", version)
    assert fails_on_throttling_quota_exceeded(software, None) is fails


def test_every_row_has_evidence_with_a_version_that_was_run() -> None:
    assert len({library.name for library in FAILING_LIBRARIES}) == len(FAILING_LIBRARIES)
    for library in FAILING_LIBRARIES:
        assert re.search(r"\d+\.\d+\.\d+[a-z ,]* run", library.evidence), library.name
