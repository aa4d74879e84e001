"""Which client libraries fail a batch on THROTTLING_QUOTA_EXCEEDED instead of sending it again.

KIP-936 refuses a producer id with error 89. Kafka's own producer retries it. A library that does
not know the code, or does not retry it on Produce, reports the batch as failed, and its records are
lost. `FAILING_LIBRARIES` says which libraries do that. A library is recognised by the name and
version of ApiVersions v3+ (KIP-511); one that sends neither, by its default client id.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from protocol.releases import Release


class ClientSoftware(NamedTuple):
    """`client_software_name` and `client_software_version`, as ApiVersions v3+ has them."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class FailingLibrary:
    """A library whose idempotent producer fails a batch on THROTTLING_QUOTA_EXCEEDED.

    Every library in the table retries NOT_ENOUGH_REPLICAS.
    """

    name: str
    evidence: str
    """Where its source decides this, and the version that was read or run."""
    default_client_ids: re.Pattern[str]
    """Matches the default client ids; used for a client that sends no name."""
    software_names: frozenset[str] = frozenset()
    """What it sends as `client_software_name`; empty when it never sends one."""
    version_marker: str | None = None
    """Text in `client_software_version` that identifies the library, whatever name it sends."""
    fixed_in: Release | None = None
    """The first version that retries; None while there is none."""

    def covers(self, software: ClientSoftware | None, client_id: str | None) -> bool:
        """Return whether this is the client's library, in a version that fails the batch."""
        if software is None:
            return self.default_client_ids.fullmatch(client_id or "") is not None
        name, version = software
        if name not in self.software_names and (
            self.version_marker is None or self.version_marker not in version
        ):
            return False
        if self.fixed_in is None:
            return True
        release = _last_release(version)
        return release is not None and release < self.fixed_in


FAILING_LIBRARIES: tuple[FailingLibrary, ...] = (
    FailingLibrary(
        "librdkafka",
        "rdkafka_request.c: rd_kafka_handle_Produce_error does not name error 89, and the default"
        " of rd_kafka_err_action is PERMANENT | MSG_NOT_PERSISTED (2.15 read; 2.16.0 run, by"
        " confluent-kafka 2.16.1). NOT_ENOUGH_REPLICAS is RETRY. rdkafka_conf.c: client.id is"
        " rdkafka and client.software.name is librdkafka (since 1.4) unless a binding sets another:"
        " confluent-kafka-python (confluent_kafka.c), -go (config.go), -dotnet (Library.cs),"
        " -javascript (client.js), karafka. rust-rdkafka and node-rdkafka set none. Several"
        " bindings put rdkafka and its version behind their own.",
        re.compile("rdkafka"),
        frozenset(
            {
                "librdkafka",
                "confluent-kafka-python",
                "confluent-kafka-go",
                "confluent-kafka-dotnet",
                "confluent-kafka-javascript",
                "karafka",
            }
        ),
        version_marker="rdkafka",
    ),
    FailingLibrary(
        "aiokafka",
        "errors.py: for_code does not know 89 and gives UnknownError, which is not retriable, and"
        " producer/sender.py fails the batch (0.14.0, read and run). NotEnoughReplicasError is"
        " retriable. conn.py sends ApiVersions v0; producer.py: client_id is aiokafka-producer-N.",
        re.compile("aiokafka-producer-[0-9]+"),
    ),
    FailingLibrary(
        "kafka-clients",
        "Java before 2.7, which introduced code 89 (KIP-599): Errors.forCode gives"
        " UNKNOWN_SERVER_ERROR, which is not a RetriableException (2.6.3 and, for the bound,"
        " 2.7.2 run)."
        " NotEnoughReplicasException is one. It sends its name since 2.4; ProducerConfig:"
        " client.id is producer-N.",
        re.compile("producer-[0-9]+"),
        frozenset({"apache-kafka-java"}),
        fixed_in=(2, 7),
    ),
    FailingLibrary(
        "sarama",
        "async_producer.go: handleSuccess retries a fixed list of errors, which has"
        " ErrNotEnoughReplicas and not ErrThrottlingQuotaExceeded (1.60 read, 1.61.1 run)."
        " api_versions_request.go: client_software_name is sarama; config.go: so is ClientID.",
        re.compile("sarama"),
        frozenset({"sarama"}),
    ),
    FailingLibrary(
        "kafkajs",
        "protocol/error.js ends at code 88; an unknown code is not retriable (2.2.4, read and run)."
        " NOT_ENOUGH_REPLICAS is retriable. It sends ApiVersions up to v2; index.js: clientId is"
        " kafkajs.",
        re.compile("kafkajs"),
    ),
)
"""The libraries for which `producer.id.quota.error.code=auto` uses NOT_ENOUGH_REPLICAS."""


@lru_cache(maxsize=32)  # few, because a client may send long names
def fails_on_throttling_quota_exceeded(
    software: ClientSoftware | None, client_id: str | None
) -> bool:
    """Return whether a client is known to lose a batch that is refused with error 89.

    Args:
        software: what the client's connection sent in ApiVersions v3+; None if it sent no name.
        client_id: of the request; used only when there is no name.
    """
    return any(library.covers(software, client_id) for library in FAILING_LIBRARIES)


def _last_release(version: str) -> Release | None:
    """Return the last dotted number: of `2.16.1-rdkafka-2.16.0` the library's own, 2.16.0."""
    # Bounded: a client may send 32 KiB of digits.
    found = re.findall(r"[0-9]{1,6}(?:\.[0-9]{1,6}){1,5}", version)
    return tuple(map(int, found[-1].split("."))) if found else None
