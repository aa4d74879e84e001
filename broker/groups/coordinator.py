"""The table of groups: find or create the group of a request, and expire committed offsets.

This module makes the checks that need no group, in the order of Kafka's `GroupCoordinatorService`.
`group` and `joining` decide what happens inside a group.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from broker.groups.commit_check import check_commit
from broker.groups.group import Group
from broker.groups.joining import join as join_group
from broker.groups.offset_expiry import is_expired
from broker.groups.records import (
    AppendRecords,
    discard_records,
    group_key,
    group_value,
    offset_key,
    offset_value,
)
from broker.groups.requests import (
    UNKNOWN_MEMBER,
    CommitRequest,
    JoinRequest,
    MemberIdentity,
    OffsetToCommit,
    SyncRequest,
)
from broker.groups.results import (
    CommittedOffset,
    DescribedMember,
    GroupDescription,
    GroupListing,
    GroupState,
    JoinReply,
    JoinResult,
    LeftMember,
    SyncReply,
    SyncResult,
)
from broker.groups.transactional_offsets import (
    OffsetKey,
    TransactionalOffsets,
    committed_offset,
    key_of,
)
from broker.timers import Timer, Timers
from protocol.coordinator_records import CoordinatorRecord
from protocol.errors import ErrorCode

MINUTE_MS = 60_000
CLASSIC_GROUP_TYPE = "classic"


class GroupCoordinator:
    """All groups of the cluster.

    `config` is a mapping of Kafka's broker keys to parsed values and may be replaced.
    `member_id_suffix` gives the unique part of a new member's id. `append_records` stores what
    another coordinator would need to go on: each change of members and offsets.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        timers: Timers,
        member_id_suffix: Callable[[], str],
        append_records: AppendRecords = discard_records,
    ) -> None:
        self.config = config
        self._timers = timers
        self._member_id_suffix = member_id_suffix
        self._append_records = append_records
        self._groups: dict[str, Group] = {}
        self.transactional_offsets = TransactionalOffsets()
        self._expiry_timer: Timer | None = None

    def __len__(self) -> int:
        return len(self._groups)

    # Membership ----------------------------------------------------------------------------

    def join(self, request: JoinRequest, reply: JoinReply, now_ms: int) -> None:
        """Join a group; `reply` is called once: now, or when the rebalance completes."""
        if not request.group_id:
            reply(JoinResult(ErrorCode.INVALID_GROUP_ID, request.member_id))
            return
        low_ms = self.config["group.min.session.timeout.ms"]
        high_ms = self.config["group.max.session.timeout.ms"]
        if not low_ms <= request.session_timeout_ms <= high_ms:
            reply(JoinResult(ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id))
            return
        group = self._groups.get(request.group_id)
        is_new = group is None
        if group is None:
            if request.member_id != UNKNOWN_MEMBER:
                reply(JoinResult(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
                return
            group = self._create(request.group_id, now_ms)
        join_group(
            group,
            request,
            reply,
            now_ms,
            size_max=self.config["group.max.size"],
            member_id_suffix=self._member_id_suffix,
        )
        if is_new:
            self._write_new_group(group, now_ms)
        group.deliver()

    def _write_metadata(self, group: Group, now_ms: int) -> None:
        """Write the generation of a group with its members and their assignments."""
        value = group_value(
            protocol_type=group.protocol_type,
            generation_id=group.generation_id,
            protocol_name=group.protocol_name,
            leader_id=group.members.leader_id,
            state_since_ms=group.state_since_ms,
            members=group.members,
        )
        self._append_records(group.group_id, [(group_key(group.group_id), value)], now_ms)

    def _write_new_group(self, group: Group, now_ms: int) -> None:
        value = group_value(
            protocol_type=None,
            generation_id=0,
            protocol_name=None,
            leader_id=None,
            state_since_ms=group.state_since_ms,
            members=(),
        )
        self._append_records(group.group_id, [(group_key(group.group_id), value)], now_ms)

    def sync(self, request: SyncRequest, reply: SyncReply, now_ms: int) -> None:
        """Send or wait for an assignment; `reply` is called once."""
        group = self._groups.get(request.group_id)
        if not request.group_id:
            reply(SyncResult(ErrorCode.INVALID_GROUP_ID))
        elif group is None:
            reply(SyncResult(ErrorCode.UNKNOWN_MEMBER_ID))
        else:
            group.sync(request, reply, now_ms)
            group.deliver()

    def heartbeat(
        self,
        group_id: str,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        now_ms: int,
    ) -> ErrorCode:
        """Keep a member's session alive."""
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return group.heartbeat(member_id, group_instance_id, generation_id, now_ms)

    def leave(
        self, group_id: str, leavers: Sequence[MemberIdentity], now_ms: int
    ) -> tuple[ErrorCode, tuple[LeftMember, ...]]:
        """Remove members; return an error for all, or a result for each, in request order."""
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID, ()
        group = self._groups.get(group_id)
        if group is None:
            unknown = ErrorCode.UNKNOWN_MEMBER_ID
            return ErrorCode.NONE, tuple(
                LeftMember(leaver.member_id, leaver.group_instance_id, unknown)
                for leaver in leavers
            )
        left = group.leave(leavers, now_ms)
        group.deliver()
        return ErrorCode.NONE, left

    # Committed offsets ---------------------------------------------------------------------

    def commit(self, request: CommitRequest, now_ms: int) -> tuple[ErrorCode, ...]:
        """Store committed offsets; return one error code for each, in request order.

        A commit without a generation creates a missing group, without members.
        """
        group = self._groups.get(request.group_id)
        if group is None and request.generation_id < 0:
            group = self._create(request.group_id, now_ms)
        if group is None:
            missing = ErrorCode.GROUP_ID_NOT_FOUND
            error_code = missing if request.knows_missing_groups else ErrorCode.ILLEGAL_GENERATION
        else:
            error_code = check_commit(group, request)
        if group is None or error_code is not ErrorCode.NONE:
            return (error_code,) * len(request.offsets)
        if group.state is not GroupState.EMPTY:
            group.touch(request.member_id, now_ms)
        expires_ms = now_ms + request.retention_ms if request.retention_ms >= 0 else None
        return self._store(group, request.offsets, expires_ms, now_ms)

    def _store(
        self,
        group: Group,
        offsets: Sequence[OffsetToCommit],
        expires_ms: int | None,
        now_ms: int,
    ) -> tuple[ErrorCode, ...]:
        metadata_max: int = self.config["offset.metadata.max.bytes"]
        error_codes: list[ErrorCode] = []
        records: list[CoordinatorRecord] = []
        stored: list[tuple[OffsetKey, CommittedOffset]] = []
        for offset in offsets:
            if len(offset.metadata or "") > metadata_max:
                error_codes.append(ErrorCode.OFFSET_METADATA_TOO_LARGE)
                continue
            key, committed = key_of(group, offset), committed_offset(offset, now_ms, expires_ms)
            records.append((offset_key(*key), offset_value(committed)))
            stored.append((key, committed))
            error_codes.append(ErrorCode.NONE)
        error_code = ErrorCode.NONE
        if records:
            error_code = self._append_records(group.group_id, records, now_ms, is_atomic=True)
        if error_code is not ErrorCode.NONE:
            return (error_code,) * len(error_codes)
        for key, committed in stored:
            group.offsets.put(*key[1:], committed)
            self.transactional_offsets.replace(key)
        return tuple(error_codes)

    def commit_in_transaction(
        self,
        request: CommitRequest,
        *,
        offsets_partition: int,
        producer: tuple[int, int],
        now_ms: int,
    ) -> tuple[ErrorCode, ...]:
        """Store offsets until the transaction of a producer ends; return an error code for each."""
        group = self._groups.get(request.group_id)
        if group is None and request.generation_id < 0:
            group = self._create(request.group_id, now_ms)
        if group is None:
            return (ErrorCode.ILLEGAL_GENERATION,) * len(request.offsets)
        return self.transactional_offsets.commit(
            group,
            request,
            offsets_partition,
            producer,
            now_ms,
            metadata_max=self.config["offset.metadata.max.bytes"],
            append_records=self._append_records,
        )

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
        if group.state is not GroupState.EMPTY and not group.is_consumer_group:
            return ErrorCode.NON_EMPTY_GROUP, ()
        error_codes = []
        deleted = []
        for topic_name, partition_index in partitions:
            if group.is_subscribed_to(topic_name):
                error_codes.append(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
            else:
                deleted.append((topic_name, partition_index))
                self.transactional_offsets.remove((group_id, topic_name, partition_index))
                error_codes.append(ErrorCode.NONE)
        self._remove_offsets(group, deleted, now_ms)
        return ErrorCode.NONE, tuple(error_codes)

    def forget_topic(self, name: str, now_ms: int) -> None:
        """Delete all committed offsets of a topic that was deleted."""
        for group in self._groups.values():
            indexes = group.offsets.partition_indexes(name)
            if indexes:
                self._remove_offsets(group, [(name, index) for index in indexes], now_ms)
        self.transactional_offsets.remove_topic(name)

    def _remove_offsets(
        self, group: Group, partitions: Iterable[tuple[str, int]], now_ms: int
    ) -> None:
        tombstones: list[CoordinatorRecord] = []
        for topic_name, partition_index in partitions:
            if group.offsets.remove(topic_name, partition_index):
                tombstones.append((offset_key(group.group_id, topic_name, partition_index), None))
        if tombstones:
            self._append_records(group.group_id, tombstones, now_ms)

    # Groups --------------------------------------------------------------------------------

    def describe(self, group_id: str) -> GroupDescription | None:
        """Return a group with its members, or None if there is no group with this id."""
        group = self._groups.get(group_id)
        if group is None:
            return None
        stable_protocol = group.protocol_name if group.state is GroupState.STABLE else None
        return GroupDescription(
            group_id=group_id,
            state=group.state,
            protocol_type=group.protocol_type or "",
            protocol_name=stable_protocol or "",
            members=tuple(
                DescribedMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    metadata=member.protocols.get(stable_protocol or "", b""),
                    assignment=member.assignment,
                )
                for member in group.members
            ),
        )

    def list_groups(
        self, states: Collection[str] = (), types: Collection[str] = ()
    ) -> list[GroupListing]:
        """Return all groups, or those in these states and of these types, ignoring case."""
        state_names = {name.strip().lower() for name in states}
        type_names = {name.strip().lower() for name in types}
        if type_names and CLASSIC_GROUP_TYPE not in type_names:
            return []
        return [
            GroupListing(group.group_id, group.state, group.protocol_type or "")
            for group in self._groups.values()
            if not state_names or group.state.value.lower() in state_names
        ]

    def group_ids(self) -> list[str]:
        """Return the ids of all groups."""
        return list(self._groups)

    def unload(self, group_id: str, now_ms: int) -> None:
        """Move a group to another coordinator; waiting requests get NOT_COORDINATOR."""
        group = self._groups[group_id]
        group.unload(now_ms)
        group.deliver()

    def forget_all(self, now_ms: int) -> None:
        """Forget all groups and their offsets, because their log was deleted.

        Waiting requests get NOT_COORDINATOR after the current request.
        """
        groups = tuple(self._groups.values())
        self._groups.clear()
        self.transactional_offsets = TransactionalOffsets()
        for group in groups:
            group.close()

        def deliver(_now_ms: int) -> None:
            for group in groups:
                group.deliver()

        self._timers.schedule(now_ms, deliver)

    def delete_group(self, group_id: str, now_ms: int) -> ErrorCode:
        """Delete a group that has no members, with its offsets."""
        group = self._groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if group.state is not GroupState.EMPTY:
            return ErrorCode.NON_EMPTY_GROUP
        self._drop(group, now_ms)
        return ErrorCode.NONE

    def _create(self, group_id: str, now_ms: int) -> Group:
        group = Group(
            group_id,
            self._timers,
            initial_rebalance_delay_ms=self.config["group.initial.rebalance.delay.ms"],
            now_ms=now_ms,
            on_metadata=self._write_metadata,
        )
        self._groups[group_id] = group
        if self._expiry_timer is None:
            self._schedule_expiry(now_ms)
        return group

    def _drop(self, group: Group, now_ms: int) -> None:
        partitions = [(name, index) for name, index, _committed in group.offsets]
        self._remove_offsets(group, partitions, now_ms)
        self._append_records(group.group_id, [(group_key(group.group_id), None)], now_ms)
        group.close()
        self.transactional_offsets.remove_group(group.group_id)
        del self._groups[group.group_id]

    # Expiry --------------------------------------------------------------------------------

    def _schedule_expiry(self, now_ms: int) -> None:
        interval_ms = self.config["offsets.retention.check.interval.ms"]
        self._expiry_timer = self._timers.schedule(now_ms + interval_ms, self._run_expiry)

    def _run_expiry(self, now_ms: int) -> None:
        self.expire_offsets(now_ms)
        self._expiry_timer = None
        if self._groups:
            self._schedule_expiry(now_ms)

    def expire_offsets(self, now_ms: int) -> None:
        """Delete offsets past their retention, and empty groups without offsets."""
        retention_ms = self.config["offsets.retention.minutes"] * MINUTE_MS
        for group in tuple(self._groups.values()):
            expired = [
                (topic_name, partition_index)
                for topic_name, partition_index, committed in group.offsets
                if is_expired(group, topic_name, committed, retention_ms, now_ms)
                and not self.is_unstable(group.group_id, topic_name, partition_index)
            ]
            self._remove_offsets(group, expired, now_ms)
            is_idle = group.state is GroupState.EMPTY and not group.members.pending
            has_pending = self.transactional_offsets.has_pending(group.group_id)
            if is_idle and not group.offsets and not has_pending:
                self._drop(group, now_ms)
