"""Bugs of classic groups and committed offsets."""

from typing import Any

from broker.groups import commit_check, leaving
from broker.groups.group import Group
from broker.groups.group_table import GroupTable
from broker.groups.members import Membership
from broker.groups.offsets import OffsetTable
from broker.groups.session_timer import SessionTimer
from broker.handlers import k14_sync_group
from protocol.errors import ErrorCode
from tests.simulation.mutants.mutant import Mutant, edited
from tests.simulation.patches import Patch, wrap
from tests.simulation.provoking_worlds import LastMembersWorld


def assign_to_all(patch: Patch) -> None:
    """Answer each SyncGroup with the first assignment that was sent."""
    latest = b""

    def generous(original: Any) -> Any:
        def respond(result: Any, version: int) -> Any:
            nonlocal latest
            response = original(result, version)
            if response.error_code == ErrorCode.NONE:
                latest = response.assignment = latest or response.assignment
            return response

        return respond

    wrap(patch, k14_sync_group, "_response", generous)


GROUP_MUTANTS: tuple[Mutant, ...] = (
    Mutant("Each member gets the first assignment that was sent.", "assignments", assign_to_all),
    edited(
        "A rebalance begins no new generation.",
        "assignments",
        Group._complete_join,
        "self.generation_id += 1",
        "pass",
    ),
    edited(
        "A heartbeat of an old generation is fine.",
        "generations",
        Group.heartbeat,
        "generation_id != self.generation_id",
        "generation_id > self.generation_id",
    ),
    edited(
        "A member commits offsets in an old generation.",
        "generations",
        commit_check.check_commit,
        "request.generation_id != group.generation_id",
        "request.generation_id > group.generation_id",
    ),
    edited(
        "A SyncGroup of an old generation gets the assignment.",
        "generations",
        Group._check_sync,
        "request.generation_id != self.generation_id",
        "request.generation_id > self.generation_id",
    ),
    edited(
        "The session of a member never expires.",
        "internal_errors",
        Group.expire,
        "if member.is_excused_from_heartbeats():",
        "if member.member_id:",
    ),
    edited(
        "A heartbeat does not keep the session alive.",
        "sessions",
        Group.heartbeat,
        "self.touch(member_id, now_ms)",
        "pass",
    ),
    edited(
        "A session ends at its first timeout, whatever came since.",
        "sessions",
        SessionTimer._run,
        "if fired.due_ms < self._deadline_ms:",
        "if fired.due_ms < 0:",
    ),
    edited(
        "The session timer of a member that leaves is not stopped.",
        "internal_errors",
        Group.remove,
        "member.session.stop()",
        "pass",
    ),
    edited(
        "The timer of a rebalance is not stopped.",
        "sessions",
        Group._complete_join,
        "self._stop_join_timer()",
        "pass",
    ),
    edited(
        "A member that leaves causes no rebalance.",
        "internal_errors",
        leaving.leave,
        "if any(member.error_code is ErrorCode.NONE for member in left):",
        "if not left:",
        LastMembersWorld,
    ),
    edited(
        "A rebalance waits for the first member only.",
        "internal_errors",
        Membership.have_all_joined,
        "self.awaiting_join_count == len(self._by_id)",
        "self.awaiting_join_count > 0",
    ),
    edited(
        "A static member that returns keeps its old member id.",
        "internal_errors",
        Membership.rename_static,
        "self._static_ids[member.group_instance_id] = new_member_id",
        "pass",
    ),
    edited(
        "A group loses its offsets when its coordinator changes.",
        "commits",
        GroupTable.unload,
        "group.unload(now_ms)",
        "group.unload(now_ms); group.offsets = OffsetTable()",
    ),
    edited(
        "A committed offset is never replaced.",
        "commits",
        OffsetTable.put,
        "[partition_index] = committed",
        ".setdefault(partition_index, committed)",
    ),
    edited(
        "A commit is stored whatever its check says.",
        "generations",
        GroupTable._accept_commit,
        "return check_commit(group, request, is_transactional=is_transactional)",
        "return ErrorCode.NONE",
    ),
    edited(
        "A commit of several partitions stores the first.",
        "commits",
        GroupTable.commit,
        "for key, committed in offsets:",
        "for key, committed in offsets[:1]:",
    ),
    edited(
        "A member that does not know its id keeps it when the coordinator changes.",
        "internal_errors",
        Group.unload,
        "self.touch(member.member_id, now_ms)",
        "member.session.stop()",
    ),
)
