"""A client that sends what no client library sends: random bytes, and frames that were damaged.

It writes to no topic and joins no group of other clients. So whatever it does, they notice nothing,
and the broker either responds or closes its connection.
"""

from functools import cache
from random import Random
from struct import Struct

from client.protocol_codec import ProtocolCodec
from client.resources import Address
from protocol import messages
from protocol.api_keys import ApiKey
from simulation.network import Network
from tests.batches import make_batch
from tests.simulation.brokers import HOSTILE_HOST
from tests.simulation.client_link import known_versions

_NOWHERE = "nowhere"
_REQUEST_COUNT_MAX = 4
_HEADER = Struct(">hh")


@cache
def _templates() -> tuple[bytes, ...]:
    """Return frames of requests that change nothing of other clients."""
    wire = ProtocolCodec(HOSTILE_HOST)
    wire.on_api_versions(known_versions())
    topic = messages.ProduceRequest.TopicProduceData
    fetch_topic = messages.FetchRequest.FetchTopic
    requests = (
        messages.ProduceRequest(
            transactional_id=None,
            acks=-1,
            timeout_ms=1_000,
            topic_data=[
                topic(
                    name=_NOWHERE,
                    partition_data=[
                        topic.PartitionProduceData(index=0, records=make_batch(b"hostile"))
                    ],
                )
            ],
        ),
        messages.MetadataRequest(
            topics=[messages.MetadataRequest.MetadataRequestTopic(name=_NOWHERE)],
            allow_auto_topic_creation=False,
        ),
        messages.FetchRequest(
            max_wait_ms=100,
            min_bytes=1,
            max_bytes=1 << 20,
            isolation_level=0,
            session_id=0,
            session_epoch=0,
            topics=[
                fetch_topic(
                    topic="orders",
                    partitions=[
                        fetch_topic.FetchPartition(
                            partition=0,
                            current_leader_epoch=-1,
                            fetch_offset=0,
                            last_fetched_epoch=-1,
                            log_start_offset=-1,
                            partition_max_bytes=1 << 20,
                        )
                    ],
                )
            ],
            forgotten_topics_data=[],
            rack_id="",
        ),
        messages.FindCoordinatorRequest(key=_NOWHERE, key_type=0, coordinator_keys=[_NOWHERE]),
        messages.HeartbeatRequest(
            group_id=_NOWHERE, generation_id=1, member_id="x", group_instance_id=None
        ),
    )
    version_max = {ApiKey.PRODUCE: 9, ApiKey.FETCH: 12}
    return tuple(
        wire.request(request, version_max=version_max.get(ApiKey(request.API_KEY)))
        for request in requests
    )


class HostileClient:
    """Connect, send some frames, and read nothing or everything."""

    def __init__(self, network: Network, random: Random, bootstrap: list[Address]) -> None:
        self._network = network
        self._random = random
        self._address = random.choice(bootstrap)
        self._reads = random.random() < 0.7

    def start(self) -> None:
        """Connect."""
        self._link = self._network.connect(HOSTILE_HOST, HOSTILE_HOST, self._address, self)

    def close(self) -> None:
        """Close the connection."""
        self._link.close()

    def on_open(self) -> None:
        """Send frames; half of the time end the connection at once."""
        if not self._reads:
            self._link.down.pause()
        for _ in range(self._random.randint(1, _REQUEST_COUNT_MAX)):
            data = self._some_bytes()
            self._network.trace(f"hostile bytes: {data[:60].hex()}")
            self._link.send_to_broker(data)
        if self._random.random() < 0.5:
            self._link.close()

    def on_bytes(self, data: bytes) -> None:
        """Ignore responses."""

    def on_closed(self, reason: str) -> None:
        """Ignore the end of the connection."""

    def _some_bytes(self) -> bytes:
        random = self._random
        template = bytearray(random.choice(_templates()))
        choice = random.random()
        if choice < 0.15:
            return random.randbytes(random.randint(1, 64))
        if choice < 0.3:
            size = random.choice((-1, 0, 1, 7, 1 << 30, (1 << 31) - 1))
            return size.to_bytes(4, "big", signed=True) + random.randbytes(8)
        if choice < 0.45:
            return bytes(template[: random.randrange(len(template))])
        if choice < 0.6:
            # A body of random bytes behind a valid header: API key, version and correlation id.
            body = random.randbytes(random.randint(0, 64))
            header = random.randrange(93).to_bytes(2, "big") + random.randrange(14).to_bytes(
                2, "big"
            )
            frame = header + bytes(4) + b"\xff\xff" + body
            return len(frame).to_bytes(4, "big") + frame
        for _ in range(random.choice((1, 1, 2, 8))):
            # Not the first bytes: the frame keeps its size and its API.
            template[random.randrange(6, len(template))] = random.randrange(256)
        return bytes(template)
