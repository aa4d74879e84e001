"""A member of the classic protocol in a group that changes to the consumer protocol and back.

The broker understands its subscription and its assignment: those of Kafka's `ConsumerProtocol`. It
gives up all partitions when it joins again, as with the range assignor.
"""

from collections.abc import Iterator
from typing import Any

from protocol.data_messages import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    decode_data,
    encode_data,
)
from protocol.errors import ErrorCode
from tests.simulation.client_link import ClientLink, Responded
from tests.simulation.history import Place
from tests.simulation.owning_member import OwningMember

VERSION = 1


class EmbeddedMember(OwningMember):
    """One member; all members of its group subscribe to the same topics."""

    def _reset(self) -> None:
        super()._reset()
        self._join_sent_ms = 0

    @property
    def _commits_of_old_generations_are_refused(self) -> bool:
        return not self._groups.takes_late_commits

    def leave(self) -> None:
        """Leave the group, and end."""
        self._disown()
        super().leave()

    # Membership ------------------------------------------------------------------------------

    def _join(self, link: ClientLink) -> None:
        if "join" not in self._asked and "sync" not in self._asked:
            self._disown()
        self._note_join()
        super()._join(link)

    def _on_joined(self, response: Any, responded: Responded) -> None:
        self._join_sent_ms = responded.sent_ms
        super()._on_joined(response, responded)

    def _on_synced(self, response: Any, responded: Responded) -> None:
        super()._on_synced(response, responded)
        if response.error_code == ErrorCode.NONE:
            # A SyncGroup to a stable group does not restart the session; a heartbeat does.
            self._settled_ms = 0
            self._own(self.owned, self._join_sent_ms, responded)

    def _on_kept(self, generation: int, response: Any, responded: Responded) -> None:
        super()._on_kept(generation, response, responded)
        is_fine = response.error_code == ErrorCode.NONE and generation == self._generation
        if is_fine and self._is_joined:
            self._note_contact(responded, is_settled=True)

    def _on_error(self, error_code: int) -> None:
        super()._on_error(error_code)
        if not self._is_joined:
            self._disown()

    # The embedded protocol -----------------------------------------------------------------------

    def _subscription(self) -> bytes:
        message = ConsumerProtocolSubscription(
            topics=list(self.settings.topics), user_data=None, owned_partitions=[]
        )
        return encode_data(message, VERSION)

    def _encode(self, places: list[Place]) -> bytes:
        entry_class = ConsumerProtocolAssignment.TopicPartition
        message = ConsumerProtocolAssignment(
            assigned_partitions=[
                entry_class(
                    topic=name, partitions=[index for topic, index in places if topic == name]
                )
                for name in dict.fromkeys(topic for topic, _ in places)
            ],
            user_data=None,
        )
        return encode_data(message, VERSION)

    def _decode(self, assignment: bytes) -> tuple[Place, ...]:
        return tuple(sorted(_places(assignment)))


def _places(assignment: bytes) -> Iterator[Place]:
    if assignment:
        for topic in decode_data(ConsumerProtocolAssignment, assignment).assigned_partitions:
            yield from ((topic.topic, index) for index in topic.partitions)
