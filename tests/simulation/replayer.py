"""A Produce request that arrives once more, long after its response.

So it is when a client sends it again on another connection, and the first one delivers it late.
"""

from random import Random
from typing import TYPE_CHECKING, Any

from broker.cluster.topics import Partition
from protocol.errors import ErrorCode
from protocol.records import read_header
from tests.simulation.client_link import ClientLink, Responded
from tests.simulation.history import AcknowledgedBatch, Place

if TYPE_CHECKING:
    from tests.simulation.world import World

KNOWN_BATCHES = 5
"""Batches of a producer that Kafka's rule for duplicates keeps."""
NEWEST_COUNT = 4
_STORED = {ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}


class Replayer:
    """Send one acknowledged request to the leader of its partition, and check the response."""

    def __init__(self, world: "World", random: Random) -> None:
        self._world = world
        self._random = random
        self._link: ClientLink | None = None

    def start(self) -> None:
        """Connect, unless nothing was acknowledged yet."""
        world, random = self._world, self._random
        batches = [
            batch
            for batch in world.history.acknowledged
            if batch.place[0] in {topic.name for topic in world.data_topics()}
        ]
        if not batches:
            return
        epochs: dict[tuple[int, Place], int] = {}
        for batch in batches:
            key = batch.producer_id, batch.place
            epochs[key] = max(batch.producer_epoch, epochs.get(key, 0))
        # A batch that begins an epoch fits every partition, unless the epoch is checked.
        old = [
            batch
            for batch in batches
            if batch.base_sequence == 0
            and batch.producer_epoch < epochs[batch.producer_id, batch.place]
        ]
        newest = batches[-NEWEST_COUNT:]
        batch = random.choice(random.choice((newest, newest, batches, old or batches)))
        leader_id = self._partition(batch).leader_id
        address = next(
            (known for known in world.bootstrap if known.host == f"broker-{leader_id}"), None
        )
        if address is None:
            return
        link = ClientLink(
            world.network,
            world.history,
            user="writer",
            client_id="replayer",
            says_hello=False,
            versions_max={},
            on_open=lambda: self._send(link, batch),
            on_lost=lambda _reason: None,
        )
        self._link = link
        link.open(address)

    def close(self) -> None:
        """Close the connection."""
        if self._link is not None:
            self._link.close()

    def _partition(self, batch: AcknowledgedBatch) -> Partition:
        topic = self._world.server.cluster.topics.get(batch.place[0])
        assert topic is not None, "members read it, so nobody deletes it"
        return topic.partitions[batch.place[1]]

    def _send(self, link: ClientLink, batch: AcknowledgedBatch) -> None:
        self._world.network.trace(f"{batch[2:]} arrives again")
        before = self._newest(batch)
        link.ask(
            batch.request,
            lambda response, responded: self._check(batch, before, response, responded),
            version_max=batch.version,
        )

    def _newest(self, batch: AcknowledgedBatch) -> list[tuple[int, int]]:
        """Return epoch and first sequence number of the newest batches of the producer."""
        headers = (read_header(stored, 0) for stored in self._partition(batch).log.rewind())
        own = [
            (header.producer_epoch, header.base_sequence)
            for header in headers
            if header.producer_id == batch.producer_id
        ]
        return own[-KNOWN_BATCHES:]

    def _check(
        self,
        batch: AcknowledgedBatch,
        before: list[tuple[int, int]],
        response: Any,
        responded: Responded,
    ) -> None:
        (result,) = response.responses[0].partition_responses
        history = self._world.history
        is_stored = result.error_code in _STORED
        if is_stored and result.base_offset not in {-1, batch.base_offset}:
            history.duplicates.append(f"{batch[2:]} was answered with {result.base_offset}")
        newest = self._newest(batch)
        key = batch.producer_epoch, batch.base_sequence
        is_known = before == newest and newest and newest[-1][0] == key[0] and key in newest
        if is_known and result.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            rule = self._world.config["producer.state.batches"]
            if rule == str(KNOWN_BATCHES) and not history.has_upgrades:
                history.duplicates.append(f"{batch[2:]} at {responded.handled_ms}: {result}")
