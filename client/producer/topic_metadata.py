"""What the producer knows of the cluster, and when it wants to know it anew."""

from client.producer.actions import MetadataResponse, PartitionView, TopicView
from client.producer.batch import TopicPartition
from client.resources import Address
from protocol.errors import ErrorCode

NO_LEADER_ID = -1
_FATAL = {ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.TOPIC_AUTHORIZATION_FAILED}


class TopicMetadata:
    """Brokers, topics and leaders; one question at a time.

    `is_asked` is for whoever sends the question; a response or `on_failure` ends it.
    """

    def __init__(self, max_age_ms: int) -> None:
        self.brokers: dict[int, Address] = {}
        self.is_asked = False
        self._max_age_ms = max_age_ms
        self._wanted: dict[str, None] = {}
        self._topics: dict[str, TopicView] = {}
        self._candidates: dict[str, list[int]] = {}
        self._is_stale = False
        self._failures = 0
        self._next_ask_ms = 0
        self._fresh_until_ms = 0

    def want(self, topic: str) -> None:
        """The topic is asked for from now on."""
        if topic not in self._wanted:
            self._wanted[topic] = None
            self._is_stale = True

    def refresh(self) -> None:
        """What is known has turned out to be wrong."""
        self._is_stale = True

    @property
    def wanted(self) -> tuple[str, ...]:
        """The topics to ask for."""
        return tuple(self._wanted)

    def due_ms(self) -> int | None:
        """When to ask next; None while a question is out or no topic is wanted."""
        if self.is_asked or not self._wanted:
            return None
        return self._next_ask_ms if self._is_stale else max(self._next_ask_ms, self._fresh_until_ms)

    def partition_count(self, topic: str) -> int:
        """0 for a topic that no broker has told of."""
        view = self._topics.get(topic)
        return len(view.partitions) if view else 0

    def candidates(self, topic: str) -> list[int]:
        """The partitions that have a leader, or all when none has one."""
        known = self._candidates.get(topic)
        if known is None:
            partitions = self._topics[topic].partitions
            led = [index for index, each in partitions.items() if each.leader_id != NO_LEADER_ID]
            known = self._candidates[topic] = led or list(partitions)
        return known

    def leader_of(self, partition: TopicPartition) -> int:
        """The leader's node id, or NO_LEADER_ID."""
        view = self._topics.get(partition.topic)
        told = view.partitions.get(partition.partition) if view else None
        if told is None or told.leader_id not in self.brokers:
            return NO_LEADER_ID
        return told.leader_id

    def topic_id(self, topic: str) -> bytes:
        """Sixteen bytes, zeros while none is known."""
        view = self._topics.get(topic)
        return view.topic_id if view else bytes(16)

    def on_failure(self, now_ms: int, wait_ms: int) -> None:
        """The question was lost; not before `wait_ms` again."""
        self.is_asked = False
        self._is_stale = True
        self._next_ask_ms = now_ms + wait_ms

    @property
    def failures(self) -> int:
        """How many responses in a row left something open."""
        return self._failures

    def on_response(self, response: MetadataResponse, now_ms: int, wait_ms: int) -> dict[str, int]:
        """Learn; returns the topics that can't ever be written to, with their error codes.

        Where a topic or a leader is missing the question is asked again after `wait_ms`. A leader
        of an older epoch than the known one is news from a broker that lags behind, and not taken.
        """
        self.is_asked = False
        self._candidates.clear()
        if response.brokers:
            self.brokers = dict(response.brokers)
        hopeless: dict[str, int] = {}
        is_open = not response.brokers
        for topic in self._wanted:
            told = response.topics.get(topic)
            if told is None:
                is_open = True
            elif told.error_code in _FATAL:
                hopeless[topic] = told.error_code
            elif told.error_code == ErrorCode.NONE or told.partitions:
                self._topics[topic] = self._newer(topic, told)
                is_open |= any(
                    self.leader_of(TopicPartition(topic, index)) == NO_LEADER_ID
                    for index in told.partitions
                )
            else:
                is_open = True
                self._lose_leaders(topic)
        for topic in hopeless:
            del self._wanted[topic]
        self._is_stale = is_open
        self._failures = self._failures + 1 if is_open else 0
        self._next_ask_ms = now_ms + wait_ms
        self._fresh_until_ms = now_ms + self._max_age_ms
        return hopeless

    def _newer(self, topic: str, told: TopicView) -> TopicView:
        known = self._topics.get(topic)
        if known is None or known.topic_id != told.topic_id:
            return told
        partitions: dict[int, PartitionView] = {}
        for index, view in told.partitions.items():
            before = known.partitions.get(index)
            is_older = before is not None and view.leader_epoch < before.leader_epoch
            partitions[index] = before if before is not None and is_older else view
        return TopicView(told.error_code, partitions, told.topic_id)

    def _lose_leaders(self, topic: str) -> None:
        known = self._topics.get(topic)
        if known is not None:
            self._topics[topic] = TopicView(
                known.error_code,
                {
                    index: PartitionView(NO_LEADER_ID, each.leader_epoch)
                    for index, each in known.partitions.items()
                },
                known.topic_id,
            )
