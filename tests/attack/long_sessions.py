"""A fetch session with tens of thousands of partitions: small requests that have much to do."""

import gc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from broker.cluster.topics import Partition
from broker.cluster.transaction_index import AbortedTransaction
from protocol import messages
from tests.attack.attacked_broker import AttackedBroker, Cost
from tests.batches import make_batch
from tests.broker.connection_driver import NOW_MS, request_frame

TOPIC = "long"
WAIT_MS = 100
_TopicClass: Any = messages.FetchRequest.FetchTopic

Send = Callable[[], Cost]


class LongSession:
    """A session of all partitions of a new topic; its client reads all it gets."""

    def __init__(
        self, broker: AttackedBroker, partition_count: int, version: int, isolation_level: int = 0
    ) -> None:
        self._broker = broker
        self._topic = broker.cluster.create_topic(TOPIC, [(1,)] * partition_count, {})
        self._version = version
        self._isolation_level = isolation_level
        self._session_id = self._epoch = self._offset = 0
        self._batch = make_batch(b"v")

    def requests(self) -> Iterator[tuple[str, Send]]:
        """Yield what each request does, and a function that sends it; call each of them."""
        indexes = range(len(self._topic.partitions))
        yield "opens a session", self._fetch(indexes)
        body = self._broker.response[9 if self._version >= 12 else 8 :]
        opened = messages.FetchResponse.decode(body, version=self._version)
        self._session_id, self._epoch = opened.session_id, 1
        yield "looks for the first time", self._fetch()
        yield "finds nothing", self._fetch()
        yield "waits without success", self._fetch(wait_ms=WAIT_MS)
        yield "waits for one record", self._fetch(wait_ms=WAIT_MS, change=self._append_to_one)
        self._append(self._topic.partitions[1:])
        yield "gets records of all", self._fetch()
        self._offset += 1
        yield "has read all", self._fetch(indexes)
        yield "waits for records of all", self._fetch(wait_ms=WAIT_MS, change=self._append_to_all)
        self._offset += 1
        yield "reads all again", self._fetch(indexes, offset=0)
        for partition in self._topic.partitions:
            end = partition.log.log_end_offset
            partition.log.transaction_index.append(AbortedTransaction(7, 0, end - 1, end))
        yield "reads aborted transactions", self._fetch(indexes, offset=0)
        self._broker.cluster.note_change()
        yield "looks after a change", self._fetch()
        yield "is beyond the end of all", self._fetch(indexes, offset=99)
        yield "has an error in all", self._fetch()

    def _fetch(
        self,
        indexes: Sequence[int] = (),
        wait_ms: int = 0,
        change: Callable[[], None] | None = None,
        offset: int | None = None,
    ) -> Send:
        version = self._version
        partitions = [
            _TopicClass.FetchPartition(
                version=version,
                partition=index,
                current_leader_epoch=-1,
                fetch_offset=self._offset if offset is None else offset,
                last_fetched_epoch=-1,
                log_start_offset=-1,
                partition_max_bytes=1 << 20,
            )
            for index in indexes
        ]
        topic = _TopicClass(
            version=version, topic=TOPIC, topic_id=self._topic.topic_id, partitions=partitions
        )
        request = messages.FetchRequest(
            version=version,
            replica_id=-1,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=50 << 20,
            isolation_level=self._isolation_level,
            session_id=self._session_id,
            session_epoch=self._epoch,
            topics=[topic] if indexes else [],
            forgotten_topics_data=[],
            rack_id="",
        )
        if self._session_id:
            self._epoch += 1
        frame = request_frame(request, version, 1)
        # What the client and this module have made costs the broker no garbage collection.
        gc.freeze()
        return partial(self._broker.handle, frame, change=change)

    def _append_to_one(self) -> None:
        self._append(self._topic.partitions[:1])

    def _append_to_all(self) -> None:
        self._append(self._topic.partitions)

    def _append(self, partitions: Sequence[Partition]) -> None:
        for partition in partitions:
            log = partition.log
            batch = log.log_end_offset.to_bytes(8, "big") + self._batch[8:]
            log.append(batch, 1, partition.leader_epoch)
            log.wake(NOW_MS)
