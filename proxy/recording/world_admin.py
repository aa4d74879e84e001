"""An admin client that also reads records, and what a cluster says of itself."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple
from uuid import UUID

from client import clock
from client.addresses import addresses_of
from client.admin import API_TIMEOUT_MS, Admin
from client.resources import Address
from client.security import security_of
from client.tools.session import CLIENT_ID, milliseconds
from client.transport import REQUEST_TIMEOUT_MS, SocketTransport
from protocol import messages

FETCH_BYTES_MAX = 1024 * 1024
"""Of one response; a batch that is larger comes alone."""
_WAIT_MS = 500
_READ_COMMITTED, _READ_UNCOMMITTED = 1, 0
_NO_SESSION, _LAST_EPOCH = 0, -1
_CONSUMER = -1


class FetchPlace(NamedTuple):
    """Where a Fetch begins: a partition of a topic, by name and id, and an offset."""

    topic: str
    topic_id: UUID | None
    partition: int
    offset: int


class WorldAdmin(Admin):
    """`Admin` with the requests that a recording needs beside."""

    def metadata(self) -> "messages.MetadataResponse":
        """Return the cluster id and the brokers, and no topics."""
        return self._ask(messages.MetadataRequest(topics=[], allow_auto_topic_creation=False))

    def all_topics(self) -> "messages.MetadataResponse":
        """Return the brokers and all topics, with their ids, leaders and replicas."""
        return self._ask(messages.MetadataRequest(topics=None, allow_auto_topic_creation=False))

    def api_versions(self) -> "messages.ApiVersionsResponse":
        """Return the APIs of a broker, and the features of the cluster."""
        request = messages.ApiVersionsRequest(
            client_software_name=CLIENT_ID, client_software_version="1"
        )
        return self._ask(request)

    def fetch(
        self, leader: Address, place: FetchPlace, *, is_committed: bool
    ) -> "messages.FetchResponse":
        """Fetch batches of one partition from an offset on, in no session."""
        topic_class = messages.FetchRequest.FetchTopic
        request = messages.FetchRequest(
            cluster_id=None,
            replica_id=_CONSUMER,
            max_wait_ms=_WAIT_MS,
            min_bytes=1,
            max_bytes=FETCH_BYTES_MAX,
            isolation_level=_READ_COMMITTED if is_committed else _READ_UNCOMMITTED,
            session_id=_NO_SESSION,
            session_epoch=_LAST_EPOCH,
            topics=[
                topic_class(
                    topic=place.topic,
                    topic_id=place.topic_id,
                    partitions=[
                        topic_class.FetchPartition(
                            partition=place.partition,
                            current_leader_epoch=-1,
                            fetch_offset=place.offset,
                            last_fetched_epoch=-1,
                            log_start_offset=-1,
                            partition_max_bytes=FETCH_BYTES_MAX,
                        )
                    ],
                )
            ],
            forgotten_topics_data=[],
            rack_id="",
        )
        return self._ask(request, leader)

    def pause(self, duration_ms: int) -> None:
        """Wait before a request is sent again."""
        self._sleep_ms(duration_ms)


@contextmanager
def open_world_admin(bootstrap_servers: str, properties: Mapping[str, str]) -> Iterator[WorldAdmin]:
    """Open a `WorldAdmin` for a `with` block with properties as those of Kafka's clients.

    Raises:
        ValueError: an address is not HOST:PORT.
        SecurityError: the properties for TLS or SASL are invalid.
        ToolError: a timeout is no number.
    """
    client_id = properties.get("client.id", CLIENT_ID)
    request_timeout_ms = milliseconds(properties, "request.timeout.ms", REQUEST_TIMEOUT_MS)
    api_timeout_ms = milliseconds(properties, "default.api.timeout.ms", API_TIMEOUT_MS)
    addresses = addresses_of(bootstrap_servers)
    with SocketTransport(client_id, security_of(properties), request_timeout_ms) as transport:
        yield WorldAdmin(
            addresses,
            transport,
            now_ms=clock.now_ms,
            sleep_ms=clock.sleep_ms,
            default_api_timeout_ms=api_timeout_ms,
        )
