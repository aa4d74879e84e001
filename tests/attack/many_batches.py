"""A partition of very many tiny batches: one Fetch of a client with large limits reads them all."""

import gc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from protocol import messages
from tests.attack.attacked_broker import AttackedBroker, Cost
from tests.batches import make_batch
from tests.broker.connection_driver import NOW_MS, request_frame

TOPIC = "tiny"
WAIT_MS = 100
BYTES_MAX = 2**31 - 1
_TopicClass: Any = messages.FetchRequest.FetchTopic

Send = Callable[[], Cost]


class ManyBatches:
    """A client that reads the batches of a new partition again and again."""

    def __init__(self, broker: AttackedBroker, batch_count: int, version: int) -> None:
        self._broker = broker
        self._version = version
        self._topic = broker.cluster.create_topic(TOPIC, [(1,)], {})
        self._batch = make_batch(b"")
        for _ in range(batch_count):
            self._append()

    @property
    def log_bytes(self) -> int:
        """The bytes of all batches."""
        return self._topic.partitions[0].log.size_bytes

    def requests(self) -> Iterator[tuple[str, Send]]:
        """Yield what each request does, and a function that sends it; call each of them."""
        yield "without a session", self._fetch()
        yield "without a session, committed", self._fetch(isolation_level=1)
        wait = partial(self._fetch, max_wait_ms=WAIT_MS, bytes_min=self.log_bytes + 1)
        yield "waits for one record more", wait(change=self._append_and_wake)
        yield "opens a session", self._fetch(epoch=0)
        body = self._broker.response[9 if self._version >= 12 else 8 :]
        session_id = messages.FetchResponse.decode(body, version=self._version).session_id
        yield "in a session", self._fetch(session_id, 1)
        wait = partial(self._fetch, max_wait_ms=WAIT_MS, bytes_min=self.log_bytes + 1)
        yield "waits in a session", wait(session_id, 2, change=self._append_and_wake)

    def _fetch(
        self,
        session_id: int = 0,
        epoch: int = -1,
        isolation_level: int = 0,
        max_wait_ms: int = 0,
        bytes_min: int = 1,
        change: Callable[[], None] | None = None,
    ) -> Send:
        version = self._version
        named = _TopicClass.FetchPartition(
            version=version,
            partition=0,
            current_leader_epoch=-1,
            fetch_offset=0,
            last_fetched_epoch=-1,
            log_start_offset=-1,
            partition_max_bytes=BYTES_MAX,
        )
        topic = _TopicClass(
            version=version, topic=TOPIC, topic_id=self._topic.topic_id, partitions=[named]
        )
        request = messages.FetchRequest(
            version=version,
            replica_id=-1,
            max_wait_ms=max_wait_ms,
            min_bytes=bytes_min,
            max_bytes=BYTES_MAX,
            isolation_level=isolation_level,
            session_id=session_id,
            session_epoch=epoch,
            topics=[topic],
            forgotten_topics_data=[],
            rack_id="",
        )
        frame = request_frame(request, version, 1)
        # What the client and this module have made costs the broker no garbage collection.
        gc.freeze()
        return partial(self._broker.handle, frame, change=change)

    def _append(self) -> None:
        log = self._topic.partitions[0].log
        offset = log.log_end_offset
        log.append(offset.to_bytes(8, "big") + self._batch[8:], 1, 0)

    def _append_and_wake(self) -> None:
        self._append()
        self._topic.partitions[0].log.wake(NOW_MS)
