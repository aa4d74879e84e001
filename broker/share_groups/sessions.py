"""Share sessions of one broker: which partitions each member of a share group fetches.

Sources: Kafka's `ShareSession`, `ShareSessionCache`, `CachedSharePartition` and
`SharePartitionManager.newContext`.
"""

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from broker.errors import Refusal
from protocol.errors import ErrorCode
from protocol.pacing import may_pause

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EPOCH_MAX = (1 << 31) - 1
CHANGING_EPOCH = -2
"""The epoch of a session while a request changes its partitions, which may pause."""


class ShareSessionKey(NamedTuple):
    """The member whose session it is."""

    group_id: str
    member_id: str


NO_TOPIC_ID = UUID(int=0)
"""The codec decodes it as None."""


class TopicIdPartition(NamedTuple):
    """A partition, by the id of its topic."""

    topic_id: UUID
    partition_index: int


class ShareSession:
    """The partitions that a member fetches, in the order in which a response has them.

    `epoch` is the one that the next request must have. `must_send` are partitions that the next
    response includes even without records: they are new in the session, or had an error.
    """

    __slots__ = ("connection_id", "epoch", "key", "must_send", "partitions")

    def __init__(
        self, key: ShareSessionKey, partitions: Iterable[TopicIdPartition], connection_id: int
    ) -> None:
        self.key = key
        self.connection_id = connection_id
        self.epoch = INITIAL_EPOCH + 1
        self.partitions: dict[TopicIdPartition, None] = dict.fromkeys(partitions)
        self.must_send: set[TopicIdPartition] = set()

    @may_pause
    def update(
        self, added: Iterable[TopicIdPartition], forgotten: Iterable[TopicIdPartition]
    ) -> None:
        """Add the partitions that a request names, then remove the forgotten ones."""
        for partition in added:
            if partition not in self.partitions:
                self.partitions[partition] = None
                self.must_send.add(partition)
        for partition in forgotten:
            self.partitions.pop(partition, None)
            self.must_send.discard(partition)

    def take_into_response(
        self, partition: TopicIdPartition, error_code: ErrorCode, *, has_records: bool
    ) -> bool:
        """Return whether a response includes a partition, and note what it says of it.

        A partition with records goes to the end of the order.
        """
        is_sent = has_records or error_code is not ErrorCode.NONE or partition in self.must_send
        self.must_send.discard(partition)
        if error_code is not ErrorCode.NONE:
            self.must_send.add(partition)
        if has_records and partition in self.partitions:
            del self.partitions[partition]
            self.partitions[partition] = None
        return is_sent


def next_epoch(epoch: int) -> int:
    """Return the epoch after this one; after the largest it is 1."""
    return 1 if epoch == EPOCH_MAX else epoch + 1


class ShareSessionCache:
    """The share sessions of one broker, which end with the connection of their member."""

    def __init__(self, sessions_max: int) -> None:
        """`sessions_max` is the limit `group.share.max.share.sessions`."""
        self._sessions_max = sessions_max
        self._sessions: dict[ShareSessionKey, ShareSession] = {}
        self._keys_by_connection: dict[int, ShareSessionKey] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, key: ShareSessionKey) -> ShareSession | None:
        """Return the session of a member, or None."""
        return self._sessions.get(key)

    def member_count(self, group_id: str) -> int:
        """Return the number of sessions of a group."""
        return sum(key.group_id == group_id for key in self._sessions)

    def clear(self) -> None:
        """Remove all sessions."""
        self._sessions.clear()
        self._keys_by_connection.clear()

    def open(
        self,
        key: ShareSessionKey,
        partitions: Iterable[TopicIdPartition],
        connection_id: int,
    ) -> ShareSession | Refusal:
        """Begin a session, which replaces an older one of the member."""
        self.forget(key)
        if len(self._sessions) >= self._sessions_max:
            return Refusal(
                ErrorCode.SHARE_SESSION_LIMIT_REACHED,
                "The limit of share sessions has been reached.",
            )
        session = ShareSession(key, partitions, connection_id)
        self._sessions[key] = session
        self._keys_by_connection[connection_id] = key
        return session

    def forget(self, key: ShareSessionKey) -> None:
        """End the session of a member without releasing its records, as for a new one."""
        self._sessions.pop(key, None)

    @may_pause
    def resume(
        self,
        key: ShareSessionKey,
        epoch: int,
        added: Iterable[TopicIdPartition] = (),
        forgotten: Iterable[TopicIdPartition] = (),
    ) -> ShareSession | Refusal:
        """Take the next request into its session; `epoch` is neither the first nor the last.

        The iterables may pause. A request that comes in between is none of the session.
        """
        session = self._sessions.get(key)
        if session is None:
            return not_found()
        if session.epoch != epoch or epoch == CHANGING_EPOCH:
            return Refusal(
                ErrorCode.INVALID_SHARE_SESSION_EPOCH, "The share session epoch is invalid."
            )
        session.epoch = CHANGING_EPOCH
        session.update(added, forgotten)
        session.epoch = next_epoch(epoch)
        return not_found() if self._sessions.get(key) is not session else session

    def close(self, session: ShareSession) -> bool:
        """End a session; return False if it has ended: the member may have another one."""
        if self._sessions.get(session.key) is not session:
            return False
        del self._sessions[session.key]
        return True

    def disconnect(self, connection_id: int) -> ShareSessionKey | None:
        """Return the member that had opened its session on a connection that is gone."""
        return self._keys_by_connection.pop(connection_id, None)


def not_found() -> Refusal:
    """Return the refusal of a request without a session."""
    return Refusal(ErrorCode.SHARE_SESSION_NOT_FOUND, "The share session was not found.")
