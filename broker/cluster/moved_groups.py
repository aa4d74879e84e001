"""Unload the groups of partitions of `__consumer_offsets` that have new leaders."""

from typing import TYPE_CHECKING

from broker.cluster.group_log import GroupLog
from broker.timers import Timers
from protocol.pacing import InTurns, may_pause, paced

if TYPE_CHECKING:  # the cluster makes them late
    from broker.cluster.share_groups import ShareGroups
    from broker.groups.group_table import GroupTable


class MovedGroups:
    """The partitions whose groups are not unloaded yet.

    A broker that stops leaves many partitions at once; their groups are unloaded together.
    """

    def __init__(
        self,
        timers: Timers,
        group_log: GroupLog,
        in_turns: InTurns,
    ) -> None:
        """`in_turns` runs what a timer has to do in turns with requests."""
        self._timers = timers
        self._group_log = group_log
        self._in_turns = in_turns
        self._indexes: set[int] = set()

    def unload(
        self, partition_index: int, groups: "GroupTable", share: "ShareGroups", now_ms: int
    ) -> None:
        """Unload the groups of a partition after the current request."""
        if len(groups) or len(share.groups):
            if not self._indexes:
                self._timers.schedule(
                    now_ms, lambda now_ms: self._unload_all(groups, share, now_ms)
                )
            self._indexes.add(partition_index)

    @may_pause
    def _unload_all(self, groups: "GroupTable", share: "ShareGroups", now_ms: int) -> None:
        indexes = frozenset(self._indexes)
        self._indexes.clear()

        def unload() -> None:
            for group_id in paced(groups.group_ids()):
                if self._group_log.partition_index(group_id) in indexes:
                    groups.unload(group_id, now_ms)
            share.restart_sessions(self._group_log, indexes, now_ms)

        self._in_turns(unload)
