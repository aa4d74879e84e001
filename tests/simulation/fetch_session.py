"""The client's part of a fetch session (KIP-227), as in Kafka's `FetchSessionHandler`."""

from typing import Any
from uuid import UUID

from protocol import messages
from protocol.errors import ErrorCode
from tests.simulation.history import Place

NO_SESSION_ID = 0
INITIAL_EPOCH = 0

Positions = dict[Place, tuple[int, int]]
"""Leader epoch and fetch offset of each partition."""


class FetchSession:
    """What one client and one broker know that the client fetches."""

    def __init__(self) -> None:
        self.session_id = NO_SESSION_ID
        self.epoch = INITIAL_EPOCH
        self._handled_epoch = INITIAL_EPOCH
        """The epoch of the last request with a response."""
        self._known: Positions = {}
        """What the broker has for certain."""
        self._possible: set[Place] = set()
        """All partitions that the session may have."""

        self.is_outdated = False
        """Whether the broker must refuse the next request: it has handled one with this epoch."""

    @property
    def is_incremental(self) -> bool:
        """Whether the next request names only what has changed."""
        return self.epoch != INITIAL_EPOCH

    def next_request(self, positions: Positions, topic_ids: dict[str, UUID], wait_ms: int) -> Any:
        """Return the next request, of these partitions."""
        changed = positions
        forgotten: set[Place] = set()
        if self.is_incremental:
            forgotten = self._possible - positions.keys()
            changed = {
                place: position
                for place, position in positions.items()
                if self._known.get(place) != position
            }
        request = fetch_request(changed, topic_ids, wait_ms)
        request.session_id, request.session_epoch = self.session_id, self.epoch
        topic_class = messages.FetchRequest.ForgottenTopic
        request.forgotten_topics_data = [
            topic_class(
                topic=name,
                topic_id=topic_ids[name],
                partitions=[index for topic, index in sorted(forgotten) if topic == name],
            )
            for name in sorted({topic for topic, _ in forgotten})
        ]
        self._known = dict(positions)
        self._possible |= positions.keys()
        return request

    def take(self, response: Any) -> bool:
        """Note a response; return whether its partitions count."""
        error_code = response.error_code
        self.is_outdated = False
        if error_code != ErrorCode.NONE:
            self._begin_again(ends=error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        elif response.session_id == NO_SESSION_ID:
            self._begin_again(ends=True)
        else:
            if not self.is_incremental:
                self._possible = set(self._known)
            self.session_id = response.session_id
            self._handled_epoch = self.epoch
            self.epoch += 1
        return bool(error_code == ErrorCode.NONE)

    def lose(self, choice: int) -> None:
        """Go on after a connection was lost, whose last request may have been handled or not.

        Choice 0 is what Kafka's consumer does: it opens another session. The others go on with
        this epoch, with the one that the session has if the request was handled, or an old one.
        """
        self._known = {}
        if choice == 0 or not self.is_incremental:
            self._begin_again(ends=False)
        elif choice == 2:
            self.epoch += 1
            self.is_outdated = False
        elif choice == 3 and self._handled_epoch != INITIAL_EPOCH:
            self.epoch = self._handled_epoch
            self.is_outdated = True

    def _begin_again(self, *, ends: bool) -> None:
        self.epoch = self._handled_epoch = INITIAL_EPOCH
        self.is_outdated = False
        if ends:
            self.session_id = NO_SESSION_ID


def fetch_request(positions: Positions, topic_ids: dict[str, UUID], wait_ms: int) -> Any:
    """Return a Fetch request of these partitions with their leader epochs and offsets."""
    topic_class = messages.FetchRequest.FetchTopic
    return messages.FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[
            topic_class(
                topic=name,
                topic_id=topic_ids[name],
                partitions=[
                    topic_class.FetchPartition(
                        partition=index,
                        current_leader_epoch=epoch,
                        fetch_offset=offset,
                        last_fetched_epoch=-1,
                        log_start_offset=-1,
                        partition_max_bytes=1 << 20,
                    )
                    for (topic, index), (epoch, offset) in positions.items()
                    if topic == name
                ],
            )
            for name in dict.fromkeys(topic for topic, _ in positions)
        ],
        forgotten_topics_data=[],
        rack_id="",
    )
