"""The table of groups and their committed offsets.

Groups of all protocols that commit offsets are in one table, because a group id has one type at a
time. The order of the checks is that of Kafka's `OffsetMetadataManager`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from broker.groups.any_group import AnyGroup, hides_topics, is_empty, is_idle, tombstones_of
from broker.groups.commit_check import check_commit
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.membership import ConsumerMembership
from broker.groups.deleted_offsets import RECORDS_PER_STEP, DeletedOffsets
from broker.groups.group import Group
from broker.groups.group_records import AppendRecords, group_key, group_value
from broker.groups.offset_expiry import expires_ms_of, expiry_ms
from broker.groups.offsets import OffsetTable
from broker.groups.requests import CommitRequest
from broker.groups.results import CommittedOffset, GroupListing, GroupState
from broker.groups.transactional_offsets import TransactionalOffsets, prepare_commit
from broker.timers import PeriodicTask, Timers
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

if TYPE_CHECKING:  # most brokers never have such a group
    from broker.groups.streams.membership import StreamsMembership

MINUTE_MS = 60_000

OFFSETS_PER_DELETION = 1_000
"""Offsets that an OffsetDelete deletes in one go."""
OFFSETS_PER_STEP = 5_000
"""Offsets that one step of the expiry looks at; a group counts as one."""


class GroupTable:
    """All groups of the cluster, and what they committed.

    `config` is a mapping of Kafka's broker keys to parsed values and may be replaced.
    `append_records` stores what another coordinator would need to go on.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        timers: Timers,
        append_records: AppendRecords,
        consumers: ConsumerMembership,
        streams: Callable[[], "StreamsMembership"],
        is_share_group: Callable[[str], bool],
    ) -> None:
        self.config = config
        self._timers = timers
        self._append_records = append_records
        self._consumers = consumers
        self._streams = streams
        self._is_share_group = is_share_group
        self._groups: dict[str, AnyGroup] = {}
        self.transactional_offsets = TransactionalOffsets()
        self._deleted = DeletedOffsets(
            timers, append_records, lambda key: self.committed(*key) is not None
        )
        check_interval_ms = config["offsets.retention.check.interval.ms"]
        self._expiry = PeriodicTask(
            timers, check_interval_ms, self._run_expiry, self._next_expiry_ms
        )
        """Runs while there is a group."""

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, group_id: str) -> bool:
        """Return whether there is a group with this id, of any type."""
        return group_id in self._groups

    def get(self, group_id: str) -> AnyGroup | None:
        """Return the group with this id, of any protocol that commits offsets."""
        return self._groups.get(group_id)

    def has_group(self, group_id: str) -> bool:
        """Return whether there is a group with this id, in this table or of the share protocol."""
        return group_id in self._groups or self._is_share_group(group_id)

    # Committed offsets ---------------------------------------------------------------------

    @may_pause
    def commit(
        self, request: CommitRequest, now_ms: int, verify: Callable[[], ErrorCode] | None = None
    ) -> tuple[ErrorCode, ...]:
        """Store committed offsets; return one error code for each, in request order.

        A commit without a generation creates a missing group, without members. `verify`, after the
        last pause, says whether the broker still coordinates the group.
        """
        error_codes, offsets, records, to_check = prepare_commit(
            request,
            now_ms,
            self.config["offset.metadata.max.bytes"],
            expires_ms_of(request.retention_ms, now_ms),
        )
        # A rebalance during a pause may give the partitions to another member: check after it.
        error_code = ErrorCode.NONE if verify is None else verify()
        if error_code is ErrorCode.NONE:
            error_code = self._accept_commit(to_check, now_ms)
        if error_code is not ErrorCode.NONE:
            return (error_code,) * len(request.offsets)
        group = self._groups[request.group_id]
        if isinstance(group, Group) and group.state is not GroupState.EMPTY:
            group.touch(request.member_id, now_ms)
        if records:
            error_code = self._append_records(group.group_id, records, now_ms, is_atomic=True)
            if error_code is not ErrorCode.NONE:
                return (error_code,) * len(error_codes)
        pending = self.transactional_offsets
        for key, committed in offsets:
            group.offsets.put(key[1], key[2], committed)
            if pending:
                pending.replace(key)
        return tuple(error_codes)

    def _accept_commit(
        self, request: CommitRequest, now_ms: int, *, is_transactional: bool = False
    ) -> ErrorCode:
        """Return NONE, or why nobody or this member may not commit offsets to a group.

        Creates the group for a commit without a generation.
        """
        group = self._groups.get(request.group_id)
        if group is None:
            if self._is_share_group(request.group_id):
                return ErrorCode.GROUP_ID_NOT_FOUND
            if request.generation_id >= 0:
                is_known = request.knows_missing_groups
                return ErrorCode.GROUP_ID_NOT_FOUND if is_known else ErrorCode.ILLEGAL_GENERATION
            group = self.create(request.group_id, now_ms)
        return check_commit(group, request, is_transactional=is_transactional)

    @may_pause
    def commit_in_transaction(
        self,
        request: CommitRequest,
        *,
        offsets_partition: int,
        producer: tuple[int, int],
        now_ms: int,
        verify: Callable[[], ErrorCode],
    ) -> tuple[ErrorCode, ...]:
        """Store offsets until the transaction of a producer ends; return an error code for each.

        `verify`, after the last pause, says whether the transaction takes them.
        """
        error_codes, offsets, records, to_check = prepare_commit(
            request, now_ms, self.config["offset.metadata.max.bytes"]
        )
        keys = [key for key, _committed in offsets]
        for start in paced(range(0, len(keys), RECORDS_PER_STEP)):
            self._deleted.write_before(keys[start : start + RECORDS_PER_STEP], now_ms)
        self._deleted.write_before(keys, now_ms)  # of those that were deleted in a pause
        error_code = verify()
        if error_code is ErrorCode.NONE:
            error_code = self._accept_commit(to_check, now_ms, is_transactional=True)
        if error_code is ErrorCode.NONE and records:
            error_code = self._append_records(
                request.group_id, records, now_ms, is_atomic=True, producer=producer
            )
        if error_code is not ErrorCode.NONE:
            return (error_code,) * len(request.offsets)
        for key, committed in offsets:
            self.transactional_offsets.add(offsets_partition, producer[0], key, committed)
        return tuple(error_codes)

    @may_pause
    def end_transaction(self, offsets_partition: int, producer_id: int, *, is_commit: bool) -> None:
        """Make the pending offsets of a producer valid, or drop them; their marker is written."""
        for key, committed in self.transactional_offsets.complete(offsets_partition, producer_id):
            group = self._groups.get(key[0])
            if is_commit and group is not None:
                group.offsets.put(*key[1:], committed)

    def is_unstable(self, group_id: str, topic_name: str, partition_index: int) -> bool:
        """Return whether an open transaction commits this offset (UNSTABLE_OFFSET_COMMIT)."""
        return self.transactional_offsets.is_pending(group_id, topic_name, partition_index)

    def committed(
        self, group_id: str, topic_name: str, partition_index: int
    ) -> CommittedOffset | None:
        """Return the offset that a group last committed for a partition, or None."""
        group = self._groups.get(group_id)
        return None if group is None else group.offsets.get(topic_name, partition_index)

    def all_committed(self, group_id: str) -> Iterator[tuple[str, int, CommittedOffset]]:
        """Return topic name, partition index and offset of every commit of a group."""
        group = self._groups.get(group_id)
        return iter(()) if group is None else iter(group.offsets)

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Return NONE, or why a member may not fetch the committed offsets of its group."""
        group = self._groups.get(group_id)
        if group is None or isinstance(group, Group):
            return ErrorCode.NONE
        return group.check_fetch(member_id, member_epoch)

    @may_pause
    def delete_offsets(
        self, group_id: str, partitions: Sequence[tuple[str, int]], now_ms: int
    ) -> tuple[ErrorCode, tuple[ErrorCode, ...]]:
        """Delete offsets of partitions that no member of the group reads.

        Returns an error for all, or NONE and an error code for each (topic name, index).
        """
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID, ()
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND, ()
        if hides_topics(group):
            return ErrorCode.NON_EMPTY_GROUP, ()
        error_codes: list[ErrorCode] = []
        for start in paced(range(0, len(partitions), OFFSETS_PER_DELETION)):
            part = partitions[start : start + OFFSETS_PER_DELETION]
            if hides_topics(group):  # members have joined in a pause
                error_codes += [ErrorCode.NON_EMPTY_GROUP] * len(part)
            else:
                error_codes += self._delete_part(group, part, now_ms)
        return ErrorCode.NONE, tuple(error_codes)

    def _delete_part(
        self, group: AnyGroup, partitions: Sequence[tuple[str, int]], now_ms: int
    ) -> Iterator[ErrorCode]:
        deleted = []
        for topic_name, partition_index in partitions:
            if group.is_subscribed_to(topic_name):
                yield ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            else:
                deleted.append((topic_name, partition_index))
                yield ErrorCode.NONE
        if self._groups.get(group.group_id) is group:  # else it was deleted in a pause
            for topic_name, partition_index in deleted:
                self.transactional_offsets.remove((group.group_id, topic_name, partition_index))
            self._remove_offsets(group, deleted, now_ms)

    def note_topic_change(self, name: str) -> None:
        """Have groups that subscribe to a topic look at it again, with their next heartbeat."""
        self._consumers.topics.forget(name)
        for group in self._groups.values():
            if not isinstance(group, Group) and group.requires(name):
                group.has_current_metadata = False

    def forget_topic(self, name: str, now_ms: int) -> None:
        """Delete all committed offsets of a topic that was deleted."""
        self.transactional_offsets.remove_topic(name)
        taken = [
            (group.group_id, group.offsets.take_topic(name)) for group in self._groups.values()
        ]
        deleted = ((group_id, {name: indexes}) for group_id, indexes in taken if indexes)
        self._deleted.delete(deleted, now_ms)

    def _remove_offsets(
        self, group: AnyGroup, partitions: Iterable[tuple[str, int]], now_ms: int
    ) -> None:
        deleted: dict[str, list[int]] = {}
        for topic_name, partition_index in partitions:
            if group.offsets.remove(topic_name, partition_index):
                deleted.setdefault(topic_name, []).append(partition_index)
        self._deleted.delete([(group.group_id, deleted)], now_ms)

    # Groups --------------------------------------------------------------------------------

    @may_pause
    def list_groups(
        self, states: Collection[str] = (), types: Collection[str] = ()
    ) -> list[GroupListing]:
        """Return all groups, or those in these states and of these types, ignoring case."""
        state_names = {name.strip().lower() for name in paced(states)}
        type_names = {name.lower() for name in paced(types)}
        listings = [
            GroupListing(
                group.group_id, group.state.value, group.group_type, group.protocol_type or ""
            )
            for group in paced(self._groups.values())
        ]
        return [
            listing
            for listing in paced(listings)
            if (not state_names or listing.filtered_state in state_names)
            and (not type_names or listing.group_type in type_names)
        ]

    def group_ids(self) -> list[str]:
        """Return the ids of all groups."""
        return list(self._groups)

    @may_pause
    def unload(self, group_id: str, now_ms: int) -> None:
        """Move a group, if it is there, to a new coordinator; who waits gets NOT_COORDINATOR."""
        group = self._groups.get(group_id)
        if isinstance(group, Group):
            group.unload(now_ms)
            group.deliver()
        elif isinstance(group, ConsumerGroup):
            self._consumers.restart_timers(group, now_ms)
        elif group is not None:
            self._streams().restart_timers(group, now_ms)

    @may_pause
    def restart(self, group_id: str, now_ms: int, *, is_left: bool) -> None:
        """Forget the members of a group: its log has lost them. With `is_left` it has the group."""
        self.unload(group_id, now_ms)
        group = self._groups.pop(group_id, None)
        offsets = None if group is None else group.offsets
        if group is not None:
            self.close(group)
        if is_left or offsets:
            self.create(group_id, now_ms, offsets)

    @may_pause
    def forget_all(self, now_ms: int) -> None:
        """Forget all groups: their log was deleted. Waiting requests get NOT_COORDINATOR later."""
        groups = tuple(self._groups.values())
        self._groups.clear()
        self._deleted.clear()
        self.transactional_offsets = TransactionalOffsets()
        for group in groups:
            self.close(group)

        def deliver(_now_ms: int) -> None:
            for group in groups:
                if isinstance(group, Group):
                    group.deliver()

        self._timers.schedule(now_ms, deliver)

    @may_pause
    def delete_group(self, group_id: str, now_ms: int) -> ErrorCode:
        """Delete a group that has no members, with its offsets."""
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if not is_empty(group):
            return ErrorCode.NON_EMPTY_GROUP
        self._drop(group, now_ms)
        return ErrorCode.NONE

    def create(self, group_id: str, now_ms: int, offsets: OffsetTable | None = None) -> Group:
        """Add a classic group without members, and return it."""
        group = Group(
            group_id,
            self._timers,
            initial_rebalance_delay_ms=self.config["group.initial.rebalance.delay.ms"],
            now_ms=now_ms,
            on_metadata=self.write_metadata,
            offsets=offsets,
        )
        self.put(group, now_ms)
        return group

    def put(self, group: AnyGroup, now_ms: int) -> None:
        """Add a group, or put it in the place of one of the other type."""
        self._groups[group.group_id] = group
        self._expiry.start(now_ms + self._expiry.interval_ms)

    @may_pause
    def _drop(self, group: AnyGroup, now_ms: int) -> None:
        self.transactional_offsets.remove_group(group.group_id)
        self._deleted.delete([(group.group_id, group.offsets.take_all())], now_ms)
        self._append_records(group.group_id, tombstones_of(group), now_ms)
        self.close(group)
        del self._groups[group.group_id]

    @may_pause
    def close(self, group: AnyGroup) -> None:
        """Stop the timers of a group that is no longer in the table."""
        if isinstance(group, Group):
            group.close()
        elif isinstance(group, ConsumerGroup):
            self._consumers.stop_timers(group)
        else:
            self._streams().stop_timers(group)

    def write_metadata(self, group: Group, now_ms: int) -> None:
        """Write the generation of a classic group with its members and their assignments."""
        value = group_value(
            protocol_type=group.protocol_type,
            generation_id=group.generation_id,
            protocol_name=group.protocol_name,
            leader_id=group.members.leader_id,
            state_since_ms=group.state_since_ms,
            members=group.members,
        )
        self._append_records(group.group_id, [(group_key(group.group_id), value)], now_ms)

    # Expiry --------------------------------------------------------------------------------

    @may_pause
    def _run_expiry(self, now_ms: int) -> Iterator[None]:
        yield from self._expire(now_ms)
        if not self._groups:
            self._expiry.stop()

    def _next_expiry_ms(self) -> int | None:
        """Return when the expiry could next delete something; at once if there is no group."""
        times: list[int | None] = []
        for group in self._groups.values():
            if self._has_nothing_left(group):
                return 0
            for name, index, _committed in group.offsets:
                times.append(self._expires_ms(group, name, index))
        return min((t for t in times if t is not None), default=None if self._groups else 0)

    @may_pause
    def expire_offsets(self, now_ms: int) -> None:
        """Delete offsets past their retention, and empty groups without offsets."""
        for _ in self._expire(now_ms):
            pass

    @may_pause
    def _expire(self, now_ms: int) -> Iterator[None]:
        """Do what `expire_offsets` does, and yield after each short step."""
        left = OFFSETS_PER_STEP
        for group in tuple(self._groups.values()):
            offsets = list(group.offsets)
            while offsets and self._groups.get(group.group_id) is group:
                looked_at, offsets = offsets[:left], offsets[left:]
                expired = [
                    (topic_name, partition_index)
                    for topic_name, partition_index, _committed in looked_at
                    if (expires_ms := self._expires_ms(group, topic_name, partition_index))
                    is not None
                    and expires_ms <= now_ms
                ]
                self._remove_offsets(group, expired, now_ms)
                left -= len(looked_at)
                if left <= 0:
                    left = OFFSETS_PER_STEP
                    yield
            if self._groups.get(group.group_id) is group and self._has_nothing_left(group):
                self._drop(group, now_ms)
            left -= 1
            if left <= 0:
                left = OFFSETS_PER_STEP
                yield

    def _has_nothing_left(self, group: AnyGroup) -> bool:
        """Return whether a group has no members and no offsets, also none of a transaction."""
        has_pending = self.transactional_offsets.has_pending(group.group_id)
        return is_idle(group) and not group.offsets and not has_pending

    def _expires_ms(self, group: AnyGroup, name: str, index: int) -> int | None:
        """Return when an offset expires; None if it stays, or was deleted by another step."""
        committed = group.offsets.get(name, index)
        if committed is None or self.is_unstable(group.group_id, name, index):
            return None
        retention_ms = self.config["offsets.retention.minutes"] * MINUTE_MS
        return expiry_ms(group, name, committed, retention_ms)
