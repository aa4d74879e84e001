"""The producer's metadata of the cluster, and when to refresh it."""

from client.producer.actions import MetadataResponse, PartitionView, TopicView
from client.producer.batch import TopicPartition
from client.resources import Address
from protocol.errors import ErrorCode

NO_LEADER_ID = -1
_FATAL = {ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_AUTHORIZATION_FAILED}


class TopicMetadata:
    """Brokers, topics and leaders; one Metadata request at a time.

    The sender sets `is_requested`; a response or `on_failure` resets it.
    """

    def __init__(self, max_age_ms: int) -> None:
        self.brokers: dict[int, Address] = {}
        self.is_requested = False
        self._max_age_ms = max_age_ms
        self._requested_topics: dict[str, None] = {}
        self._topics: dict[str, TopicView] = {}
        self._candidates: dict[str, list[int]] = {}
        self._is_stale = False
        self._failures = 0
        self._next_request_ms = 0
        self._fresh_until_ms = 0

    def add_topic(self, topic: str) -> None:
        """Request this topic from now on."""
        if topic not in self._requested_topics:
            self._requested_topics[topic] = None
            self._is_stale = True

    def refresh(self) -> None:
        """Request metadata again as soon as possible."""
        self._is_stale = True

    @property
    def requested_topics(self) -> tuple[str, ...]:
        """The topics to request."""
        return tuple(self._requested_topics)

    def due_ms(self) -> int | None:
        """Return when to request next; None while a request is in flight or without topics."""
        if self.is_requested or not self._requested_topics:
            return None
        return (
            self._next_request_ms
            if self._is_stale
            else max(self._next_request_ms, self._fresh_until_ms)
        )

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions; 0 for an unknown topic."""
        view = self._topics.get(topic)
        return len(view.partitions) if view else 0

    def candidates(self, topic: str) -> list[int]:
        """Return the partitions that have a leader, or all if none has one."""
        known = self._candidates.get(topic)
        if known is None:
            partitions = self._topics[topic].partitions
            led = [index for index, view in partitions.items() if view.leader_id != NO_LEADER_ID]
            known = self._candidates[topic] = led or list(partitions)
        return known

    def leader_of(self, partition: TopicPartition) -> int:
        """Return the leader's node id, or NO_LEADER_ID."""
        view = self._topics.get(partition.topic)
        known = view.partitions.get(partition.partition) if view else None
        if known is None or known.leader_id not in self.brokers:
            return NO_LEADER_ID
        return known.leader_id

    def topic_id(self, topic: str) -> bytes:
        """Return the topic id, 16 bytes; zeros while it is unknown."""
        view = self._topics.get(topic)
        return view.topic_id if view else bytes(16)

    def on_failure(self, now_ms: int, wait_ms: int) -> None:
        """Note that the request was lost; the next one is due in `wait_ms`."""
        self.is_requested = False
        self._is_stale = True
        self._next_request_ms = now_ms + wait_ms

    @property
    def failures(self) -> int:
        """How many responses in a row lacked a topic or leader."""
        return self._failures

    def on_response(self, response: MetadataResponse, now_ms: int, wait_ms: int) -> dict[str, int]:
        """Update from a response; return the topics with a fatal error and their error codes.

        If a topic or a leader is missing, the next request is due in `wait_ms`. A leader of an
        older epoch than the known one is ignored: that broker lags behind.
        """
        self.is_requested = False
        self._candidates.clear()
        if response.brokers:
            self.brokers = dict(response.brokers)
        fatal: dict[str, int] = {}
        is_incomplete = not response.brokers
        for topic in self._requested_topics:
            view = response.topics.get(topic)
            if view is None:
                is_incomplete = True
            elif view.error_code in _FATAL:
                fatal[topic] = view.error_code
            elif view.error_code == ErrorCode.NONE or view.partitions:
                self._topics[topic] = self._newer(topic, view)
                is_incomplete |= any(
                    self.leader_of(TopicPartition(topic, index)) == NO_LEADER_ID
                    for index in view.partitions
                )
            else:
                is_incomplete = True
                self._forget_leaders(topic)
        for topic in fatal:
            del self._requested_topics[topic]
        self._is_stale = is_incomplete
        self._failures = self._failures + 1 if is_incomplete else 0
        self._next_request_ms = now_ms + wait_ms
        self._fresh_until_ms = now_ms + self._max_age_ms
        return fatal

    def _newer(self, topic: str, received: TopicView) -> TopicView:
        known = self._topics.get(topic)
        if known is None or known.topic_id != received.topic_id:
            return received
        partitions: dict[int, PartitionView] = {}
        for index, view in received.partitions.items():
            before = known.partitions.get(index)
            is_older = before is not None and view.leader_epoch < before.leader_epoch
            partitions[index] = before if before is not None and is_older else view
        return TopicView(received.error_code, partitions, received.topic_id)

    def _forget_leaders(self, topic: str) -> None:
        known = self._topics.get(topic)
        if known is not None:
            self._topics[topic] = TopicView(
                known.error_code,
                {
                    index: PartitionView(NO_LEADER_ID, view.leader_epoch)
                    for index, view in known.partitions.items()
                },
                known.topic_id,
            )
