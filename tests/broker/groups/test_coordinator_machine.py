"""Random clients in virtual time, and invariants of every state of a group."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker.groups.group import NEW_MEMBER_JOIN_TIMEOUT_MS, Group
from broker.groups.requests import MemberIdentity
from broker.groups.results import GroupState, JoinResult, SyncResult
from protocol.errors import ErrorCode
from tests.broker.groups.driver import GROUP, Driver
from tests.examples import examples

INSTANCES = ("i1", "i2")
PROTOCOLS = st.sampled_from(
    [("range", "sticky"), ("sticky", "range"), ("range", "sticky", "x"), ("range",), ("other",)]
)
REBALANCE_TIMEOUTS = st.sampled_from([0, 5_000, 40_000, 40_000])
SESSION_TIMEOUTS = st.sampled_from([6_000, 20_000])
PICK = st.integers(0, 11)


def who(member_id: str) -> str:
    """Return the instance id of a static member, or the id of a dynamic one."""
    instance = member_id.partition("-")[0]
    return instance if instance in INSTANCES else member_id


class GroupMachine(RuleBasedStateMachine):
    """Clients that join, sync, leave and stop heartbeating at random."""

    def __init__(self) -> None:
        super().__init__()
        self.driver = self.make_driver()
        self.joins: list[list[JoinResult]] = []
        self.syncs: list[list[SyncResult]] = []
        self.generations: dict[str, int] = {}
        self.leaders: dict[int, set[str]] = {}
        self.last_generation_id = 0

    def make_driver(self) -> Driver:
        return Driver(group_max_size=4)

    @property
    def group(self) -> Group | None:
        group = self.driver.groups.table._groups.get(GROUP)
        assert group is None or isinstance(group, Group)
        return group

    @property
    def state(self) -> GroupState | None:
        return None if self.group is None else self.group.state

    def known_id(self, pick: int) -> str:
        """Mostly a member's id; else a reserved or unknown one."""
        members = self.member_ids()
        if pick < 8 and members:
            return members[pick % len(members)]
        return (*self.generations, "made-up")[-(pick % 4) - 1 :][0]

    def member_ids(self) -> list[str]:
        return [] if self.group is None else [member.member_id for member in self.group.members]

    def note_joins(self) -> None:
        for responses in self.joins:
            for result in responses:
                self.generations[result.member_id] = result.generation_id
                if result.error_code is ErrorCode.NONE:
                    leaders = self.leaders.setdefault(result.generation_id, set())
                    leaders.add(who(result.leader_id))
        self.joins = [responses for responses in self.joins if not responses]
        self.syncs = [responses for responses in self.syncs if not responses]

    # What clients do ---------------------------------------------------------------------------

    @rule(
        names=PROTOCOLS,
        instance=st.sampled_from([None, None, *INSTANCES]),
        must_know_id=st.sampled_from([False, False, False, True]),
        can_skip=st.booleans(),
        session_ms=SESSION_TIMEOUTS,
        rebalance_ms=REBALANCE_TIMEOUTS,
    )
    def join_without_member_id(
        self,
        names: tuple[str, ...],
        instance: str | None,
        must_know_id: bool,
        can_skip: bool,
        session_ms: int,
        rebalance_ms: int,
    ) -> None:
        self.join(
            "",
            client_id=f"c{len(self.generations)}",
            protocols=dict.fromkeys(names, b""),
            group_instance_id=instance,
            must_know_id=must_know_id,
            can_skip_assignment=can_skip,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
        )

    @precondition(lambda self: self.generations)
    @rule(pick=PICK, names=PROTOCOLS, rebalance_ms=REBALANCE_TIMEOUTS, says_instance=st.booleans())
    def join_again(
        self, pick: int, names: tuple[str, ...], rebalance_ms: int, says_instance: bool
    ) -> None:
        member_id = self.known_id(pick)
        instance = who(member_id) if says_instance and who(member_id) in INSTANCES else None
        self.join(
            member_id,
            protocols=dict.fromkeys(names, b""),
            group_instance_id=instance,
            rebalance_timeout_ms=rebalance_ms,
        )

    def join(self, member_id: str, **fields: Any) -> None:
        self.joins.append(self.driver.join(member_id, **fields))

    @precondition(lambda self: self.generations)
    @rule(pick=PICK)
    def sync(self, pick: int) -> None:
        self.sync_as(self.known_id(pick))

    def sync_as(self, member_id: str) -> None:
        generation_id = self.generations.get(member_id, 1)
        assignments = dict.fromkeys(self.generations, b"partitions")
        self.syncs.append(self.driver.sync(member_id, generation_id, assignments))

    @rule()
    def everybody_joins_again(self) -> None:
        pending = [] if self.group is None else list(self.group.members.pending)
        for member_id in (*self.member_ids(), *pending):
            self.join(member_id, protocols=dict.fromkeys(("range", "sticky"), b""))

    @precondition(lambda self: self.state is GroupState.COMPLETING_REBALANCE)
    @rule(but_pick=PICK)
    def everybody_syncs_but_one(self, but_pick: int) -> None:
        self.note_joins()
        for number, member_id in enumerate(reversed(self.member_ids())):
            if number != but_pick:
                self.sync_as(member_id)

    @precondition(lambda self: self.generations)
    @rule(pick=PICK)
    def heartbeat(self, pick: int) -> None:
        member_id = self.known_id(pick)
        self.driver.heartbeat(member_id, self.generations.get(member_id, 1))

    @rule()
    def everybody_heartbeats(self) -> None:
        self.note_joins()
        for member_id in self.member_ids():
            self.driver.heartbeat(member_id, self.generations.get(member_id, 1))

    @precondition(lambda self: len(self.member_ids()) > 2)
    @rule(pick=PICK)
    def leave(self, pick: int) -> None:
        self.driver.groups.leave(GROUP, [MemberIdentity(self.known_id(pick))], self.driver.now_ms)

    @precondition(lambda self: len(self.member_ids()) > 2)
    @rule(instance=st.sampled_from(INSTANCES))
    def remove_static(self, instance: str) -> None:
        self.driver.groups.leave(GROUP, [MemberIdentity("", instance)], self.driver.now_ms)

    @rule(by_ms=st.sampled_from([0, 1, 1, 2_999, 2_999, 5_999, 40_000]))
    def wait(self, by_ms: int) -> None:
        self.driver.advance(by_ms)

    @precondition(lambda self: not self.member_ids())
    @rule()
    def delete_group(self) -> None:
        if self.driver.groups.table.delete_group(GROUP, self.driver.now_ms) is ErrorCode.NONE:
            self.leaders.clear()
            self.last_generation_id = 0

    # What always holds -------------------------------------------------------------------------

    @invariant()
    def every_response_comes_once_or_is_still_owed_by_a_member(self) -> None:
        counts = [*map(len, self.joins), *map(len, self.syncs)]
        assert max(counts, default=0) <= 1
        self.note_joins()
        members = [] if self.group is None else list(self.group.members)
        assert len(self.joins) == sum(member.join_callback is not None for member in members)
        assert len(self.syncs) == sum(member.sync_callback is not None for member in members)

    @invariant()
    def a_generation_has_one_leader_and_numbers_only_grow(self) -> None:
        assert all(len(leaders) == 1 for leaders in self.leaders.values())
        if self.group is not None:
            assert self.group.generation_id >= self.last_generation_id
            self.last_generation_id = self.group.generation_id

    @invariant()
    def the_counts_are_those_of_the_members(self) -> None:
        if self.group is None:
            return
        members = self.group.members
        assert members.awaiting_join_count == sum(m.join_callback is not None for m in members)
        assert members._protocol_counts == Counter(name for m in members for name in m.protocols)
        static = {m.group_instance_id: m.member_id for m in members if m.group_instance_id}
        assert members._static_ids == static
        assert not members.pending.keys() & {m.member_id for m in members}

    @invariant()
    def the_state_fits_the_members(self) -> None:
        group = self.group
        if group is None:
            return
        state, members = group.state, group.members
        assert (members.leader_id is None) == (len(members) == 0)
        assert members.leader_id is None or members.get(members.leader_id) is not None
        if state in {GroupState.COMPLETING_REBALANCE, GroupState.STABLE}:
            assert group._awaited_syncs.keys() <= {member.member_id for member in members}
        else:
            assert not group._awaited_syncs
        if state is GroupState.EMPTY:
            assert not members
            assert group._join_timer is group._sync_timer is None
        elif state is GroupState.PREPARING_REBALANCE:
            assert group._join_timer is not None
            assert all(member.sync_callback is None for member in members)
        else:
            assert members
            assert group.protocol_name is not None
            assert all(group.protocol_name in member.protocols for member in members)
            assert all(member.join_callback is None for member in members)
            assert (group._sync_timer is not None) == bool(group._awaited_syncs)

    def teardown(self) -> None:
        """Silent members are removed, and every request gets a response."""
        self.driver.advance(2 * NEW_MEMBER_JOIN_TIMEOUT_MS)
        assert {*map(len, self.joins), *map(len, self.syncs)} <= {1}
        self.driver.advance(self.driver.groups.table.config["offsets.retention.check.interval.ms"])
        assert len(self.driver.groups.table) == 0
        assert self.driver.timers.next_due_ms() is None


class DelayedGroupMachine(GroupMachine):
    """The same with a delay of the first rebalance."""

    def make_driver(self) -> Driver:
        return Driver(group_max_size=4, group_initial_rebalance_delay_ms=3_000)


TestGroups = GroupMachine.TestCase
pytest.mark.slow(TestGroups)
TestGroups.settings = settings(max_examples=examples(120), stateful_step_count=50, deadline=None)
TestDelayedGroups = DelayedGroupMachine.TestCase
TestDelayedGroups.settings = settings(
    max_examples=examples(30), stateful_step_count=50, deadline=None
)
