"""Groups keep their promises in all worlds, and each checker finds injected bugs."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from broker.fetch import dead_letter_queue, share_fetch
from broker.fetch.dead_letter_queue import DeadLetterQueue
from broker.groups import migration
from broker.groups.consumer import classic_members, reconciliation
from broker.groups.consumer import group as consumer_group
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.member import ConsumerMember
from broker.groups.consumer.sessions import MemberSessions
from broker.groups.offsets import OffsetTable
from broker.handlers import k78_share_fetch
from broker.share_groups import record_acknowledgement
from broker.share_groups import share_partition as share_partition_module
from broker.share_groups.acquisition import Acquisition
from broker.share_groups.dead_letters import DeadLetters
from broker.share_groups.in_flight import InFlightBatch, InFlightState, RecordState
from broker.share_groups.offset_range import OffsetRange
from broker.share_groups.share_partition import SharePartition
from broker.share_groups.state_changes import StateChanges
from protocol.errors import ErrorCode
from simulation.network_conditions import NetworkConditions
from tests.simulation.coordinated_client import MemberSettings
from tests.simulation.group_world import GroupWorld
from tests.simulation.patches import Patch, edit, find_bug, wrap
from tests.simulation.pauses import Pauses
from tests.simulation.provoking_worlds import LongWaits
from tests.simulation.replay import digests_under_hash_seeds
from tests.simulation.world import CHAOS_MS, DATA_TOPICS

SEEDS_PER_TEST = 10
FETCH_PAUSE_CHANCE = 0.5
GROUP = "sharers that pause"
SHARERS = 8
APPENDS = 300


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 10, SEEDS_PER_TEST))
def test_groups_keep_their_promises(first: int) -> None:
    run_worlds(first)


@pytest.mark.long
@pytest.mark.parametrize("first", [10, *range(1_000, 1_070, SEEDS_PER_TEST)])
def test_groups_keep_their_promises_in_many_more_worlds(first: int) -> None:
    run_worlds(first)


def run_worlds(first: int) -> None:
    """Run some worlds; they violate nothing, and members of both kinds have something to do."""
    reports = [GroupWorld(seed).run() for seed in range(first, first + SEEDS_PER_TEST)]
    violations = {report.seed: report.violations for report in reports if report.violations}
    assert violations == {}
    for name in ("assignments", "commits", "consumed", "deliveries", "acknowledgements"):
        assert sum(report.counts[name] for report in reports) > 10


@pytest.mark.slow
def test_a_seed_replays_exactly_under_any_hash_seed() -> None:
    assert len(digests_under_hash_seeds(GroupWorld)) == 1


# Ownership ---------------------------------------------------------------------------------------


def ignore_owners(patch: Patch) -> None:
    """A member gets its target at once, even if others still own the partitions."""

    def hasty(original: Any) -> Any:
        def reconcile(
            member: Any, epoch: int, target: Any, _owned: Any, *reported: Any, **options: Any
        ) -> ConsumerMember:
            moved: ConsumerMember = original(member, epoch, target, {}, *reported, **options)
            return moved

        return reconcile

    wrap(patch, consumer_group, "reconcile", hasty)


def believe_in_revocation(patch: Patch) -> None:
    """A member that has to give partitions up counts as one that has done so."""
    patch.setattr(reconciliation, "_may_own", lambda *_: False)


def expire_sessions_early(patch: Patch) -> None:
    """A session ends after a quarter of its timeout."""

    def impatient(original: Any) -> Any:
        def restart(
            self: MemberSessions[Any], group: Any, member_id: str, timeout_ms: int, now_ms: int
        ) -> None:
            original(self, group, member_id, timeout_ms // 4, now_ms)

        return restart

    wrap(patch, MemberSessions, "restart", impatient)


def upgrade_members_without_partitions(patch: Patch) -> None:
    """A group that is upgraded forgets what its classic members own."""

    def forgetful(original: Any) -> Any:
        def upgraded_member(*arguments: Any) -> ConsumerMember:
            member: ConsumerMember = original(*arguments)
            return replace(member, assigned_partitions={})

        return upgraded_member

    wrap(patch, migration, "_upgraded_member", forgetful)


# Consumption -------------------------------------------------------------------------------------


def keep_sessions_forever(patch: Patch) -> None:
    """A member that is gone keeps its partitions."""
    patch.setattr(MemberSessions, "restart", lambda *_: None)


def keep_partitions_of_the_gone(patch: Patch) -> None:
    """The partitions of a member that is removed stay owned."""

    def forgetful(original: Any) -> Any:
        def remove_member(self: ConsumerGroup, member_id: str) -> ConsumerMember:
            removed: ConsumerMember = original(self, member_id)
            for topic_id, indexes in removed.assigned_partitions.items():
                self._owned.setdefault(topic_id, set()).update(indexes)
            return removed

        return remove_member

    wrap(patch, ConsumerGroup, "remove_member", forgetful)


def never_send_classic_members_back(patch: Patch) -> None:
    """The heartbeat of a classic member in an upgraded group is always fine."""
    patch.setattr(classic_members, "heartbeat", lambda *_: ErrorCode.NONE)


def skip_a_record(patch: Patch) -> None:
    """A committed offset is stored with one more."""

    def greedy(original: Any) -> Any:
        def put(self: OffsetTable, topic: str, index: int, committed: Any) -> None:
            original(self, topic, index, committed._replace(offset=committed.offset + 1))

        return put

    wrap(patch, OffsetTable, "put", greedy)


# Committed offsets -------------------------------------------------------------------------------


def accept_all_commits(patch: Patch) -> None:
    """Anybody may commit, whatever the epoch."""
    patch.setattr(ConsumerGroup, "check_commit", lambda *_, **__: ErrorCode.NONE)


def refuse_late_commits(patch: Patch) -> None:
    """A member commits with its current epoch only."""
    patch.setattr(ConsumerGroup, "_may_commit_late", lambda *_: False)


def accept_late_commits(patch: Patch) -> None:
    """A member may commit with an epoch of its past whatever it had then."""
    patch.setattr(ConsumerGroup, "_may_commit_late", lambda *_: True)


def lose_commits(patch: Patch) -> None:
    """Every third committed offset is not stored."""
    counts = iter(range(1 << 30))

    def lossy(original: Any) -> Any:
        def put(self: OffsetTable, *arguments: Any) -> None:
            if next(counts) % 3:
                original(self, *arguments)

        return put

    wrap(patch, OffsetTable, "put", lossy)


# Holders -----------------------------------------------------------------------------------------


def deliver_acquired_records(patch: Patch) -> None:
    """Records that a member has acquired are delivered to others, too."""

    def generous(original: Any) -> Any:
        def acquire_available(
            self: Acquisition, batch: InFlightBatch, *arguments: Any, **rest: Any
        ) -> Any:
            for _first, _last, state in batch.states():
                if state.state is RecordState.ACQUIRED:
                    state.state = RecordState.AVAILABLE
            return original(self, batch, *arguments, **rest)

        return acquire_available

    def eager(original: Any) -> Any:
        def next_fetch_offset(self: SharePartition) -> int:
            if self.records and len(self.records) % 2:
                return self.start_offset
            offset: int = original(self)
            return offset

        return next_fetch_offset

    wrap(patch, Acquisition, "acquire_available", generous)
    wrap(patch, SharePartition, "next_fetch_offset", eager)


def expire_locks_early(patch: Patch) -> None:
    """A lock ends after a fifth of its time."""

    def impatient(original: Any) -> Any:
        def acquire(self: SharePartition, *arguments: Any, **rest: Any) -> Any:
            rest["lock_expires_ms"] -= 800
            return original(self, *arguments, **rest)

        return acquire

    wrap(patch, SharePartition, "acquire", impatient)


def ignore_renewals(patch: Patch) -> None:
    """A lock that is renewed ends when it would have ended before."""
    edit(
        patch,
        record_acknowledgement._acknowledge_states,
        "state.lock_expires_ms = renewed_until_ms",
        "pass",
    )


def release_at_every_disconnect(patch: Patch) -> None:
    """The end of one member's session releases the records of all."""

    def careless(original: Any) -> Any:
        def release_member(self: SharePartition, _member_id: str, now_ms: int) -> Any:
            for batch in self.records:
                for _first, _last, state in batch.states():
                    if state.state is RecordState.ACQUIRED:
                        original(self, state.member_id, now_ms)
                        break

        return release_member

    wrap(patch, SharePartition, "release_member", careless)


# Deliveries --------------------------------------------------------------------------------------


def forget_states(patch: Patch) -> None:
    """A new leader knows the start offset, but not which records after it are finished."""
    patch.setattr(SharePartition, "_load", lambda *_: None)


def deliver_without_limit(patch: Patch) -> None:
    """A record is available again after its last delivery."""
    patch.setattr(
        InFlightState, "make_available", lambda self, *_: self.finish(RecordState.AVAILABLE)
    )


def deliver_accepted_records(patch: Patch) -> None:
    """An accepted record is available again."""

    def forgetful(original: Any) -> Any:
        def finish(self: InFlightState, state: RecordState) -> None:
            is_accepted = state is RecordState.ACKNOWLEDGED
            original(self, RecordState.AVAILABLE if is_accepted else state)

        return finish

    wrap(patch, InFlightState, "finish", forgetful)


# Lost records ------------------------------------------------------------------------------------


def archive_released_records(patch: Patch) -> None:
    """A released record is never delivered again."""
    patch.setattr(
        InFlightState, "make_available", lambda self, *_: self.finish(RecordState.ARCHIVED)
    )


def give_up_one_delivery_early(patch: Patch) -> None:
    """A record is archived one delivery before its last."""

    def hasty(original: Any) -> Any:
        def make_available(self: InFlightState, delivery_count_max: int, *rest: Any) -> None:
            original(self, delivery_count_max - 1, *rest)

        return make_available

    wrap(patch, InFlightState, "make_available", hasty)


def never_expire_locks(patch: Patch) -> None:
    """A member that never acknowledges a record keeps it."""
    patch.setattr(SharePartition, "next_lock_expiry_ms", lambda _: None)


def ignore_record_limits(patch: Patch) -> None:
    """A fetch acquires whole batches, though its member wants no more than some records."""

    patch.setattr(k78_share_fetch, "RECORD_LIMIT", -1)


# Transactions ------------------------------------------------------------------------------------


def deliver_aborted_records(patch: Patch) -> None:
    """Records of aborted transactions are delivered like others."""
    patch.setattr(share_partition_module, "aborted_batches", lambda *_: [])


def read_uncommitted(patch: Patch) -> None:
    """A fetch ignores the isolation level of the group."""

    def careless(original: Any) -> Any:
        def params(**fields: Any) -> Any:
            return original(**{**fields, "reads_committed": False})

        return params

    wrap(patch, k78_share_fetch, "FetchParams", careless)


# Dead letters -------------------------------------------------------------------------------------


def lose_dead_letters(patch: Patch) -> None:
    """Dead letters are archived, but never written to their queue."""

    def archive(self: DeadLetterQueue, dead: DeadLetters, now_ms: int) -> None:
        assert self.archive is not None
        self._cluster.timers.schedule(now_ms + 1, partial(self.archive, dead))

    patch.setattr(DeadLetterQueue, "write", archive)


def queue_accepted_records(patch: Patch) -> None:
    """An accepted record is a dead letter, too."""
    edit(
        patch,
        record_acknowledgement._acknowledge_states,
        "state.finish(rules.dead_state if is_rejected else new_state)",
        "state.finish(rules.dead_state)",
    )


def write_dead_letters_twice(patch: Patch) -> None:
    """Dead letters are in their queue twice."""
    edit(
        patch,
        DeadLetterQueue._write_some,
        "stored = store_records(cluster, topic, records, now_ms)",
        "stored = store_records(cluster, topic, [*records, *records], now_ms)",
    )


def count_one_delivery_less(patch: Patch) -> None:
    """Headers of dead letters leave out the last delivery."""
    edit(patch, dead_letter_queue._headers, "dead.delivery_count,", "dead.delivery_count - 1,")


# Lags ---------------------------------------------------------------------------------------------


def count_finished_records_twice(patch: Patch) -> None:
    """Records before the start offset still count as finished after it."""
    edit(
        patch,
        SharePartition._move_start,
        "self.finished_count -= self.records.finished_count(self.start_offset, offset - 1)",
        "pass",
    )


def forget_finished_records(patch: Patch) -> None:
    """Records that are finished after the start offset are not counted."""
    patch.setattr(StateChanges, "finished_count", lambda *_: 0)


# Pauses ------------------------------------------------------------------------------------------


class PausesOfShareFetches(Pauses):
    """Fetches of share groups pause between what they read and what they acquire."""

    share = 1
    rests_ms = (20, 100)

    def is_due(self, place: str) -> bool:
        """Return whether a request pauses now."""
        is_there = place == f"{share_fetch.__name__}.ShareFetch.acquire"
        return is_there and self.random.random() < FETCH_PAUSE_CHANCE


class PausesOfSharersWorld(GroupWorld):
    """Several members of a share group fetch small batches of the same partition."""

    pauses_class = PausesOfShareFetches

    def _network_conditions(self) -> NetworkConditions:
        return NetworkConditions(delay_ms_max=1)

    def _settings(self, name: str, group: str, random: Random) -> MemberSettings:
        # So that each partition has several members.
        return super()._settings(name, group, random)._replace(topics=DATA_TOPICS[:1])

    def _make_clients(self) -> None:
        super()._make_clients()
        self.consumers.clear()
        self.sharers.clear()
        random = self._random("sharers that pause")
        self._configure_share_group(GROUP)
        for _ in range(SHARERS):
            self._make_sharer(GROUP, random)
            self.sharers[-1].is_reliable = True  # it accepts at once what it gets

    def _plan_clients(self) -> None:
        super()._plan_clients()
        for number in range(APPENDS):
            append = partial(self._append, DATA_TOPICS[0], 0, 1)
            self.schedule.after(number * CHAOS_MS // APPENDS, append)


def acquire_what_others_have_finished(patch: Patch) -> None:
    """A fetch acquires what it has read, though others have finished it while it paused."""
    edit(
        patch,
        SharePartition._acquire_new,
        "if first_offset > last_offset:\n        return []",
        "if first_offset > last_offset:\n"
        "        return [AcquiredRecords(first_offset, last_offset, 1)]",
    )
    patch.setattr(OffsetRange, "__post_init__", lambda _: None)
    patch.setattr(OffsetRange, "__len__", lambda _: 1)


@pytest.mark.slow
def test_pauses_of_fetches_show_a_range_past_its_end(monkeypatch: Patch) -> None:
    find_bug(monkeypatch, acquire_what_others_have_finished, "ranges", 0, PausesOfSharersWorld)


class PausesOfMixedGroupsWorld(GroupWorld):
    """All consumer groups have members of both protocols, and requests wait for long."""

    pauses_class = LongWaits
    mixed_chance = 1


@pytest.mark.slow
def test_groups_keep_their_promises_while_requests_wait_for_long() -> None:
    reports = [PausesOfMixedGroupsWorld(seed).run() for seed in range(30, 35)]
    assert {report.seed: report.violations for report in reports if report.violations} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "checker", "first"),
    [
        (ignore_owners, "ownership", 0),
        pytest.param(believe_in_revocation, "ownership", 18, marks=pytest.mark.long),
        (expire_sessions_early, "ownership", 0),
        (upgrade_members_without_partitions, "ownership", 9),
        (never_send_classic_members_back, "consumption", 4),
        (keep_sessions_forever, "consumption", 2),
        (keep_partitions_of_the_gone, "consumption", 2),
        (skip_a_record, "consumption", 0),
        (accept_all_commits, "commits_forward", 29),
        (lose_commits, "commits_forward", 0),
        (refuse_late_commits, "late_commits", 5),
        (accept_late_commits, "late_commits", 29),
        (deliver_acquired_records, "one_holder", 0),
        (expire_locks_early, "one_holder", 0),
        (release_at_every_disconnect, "one_holder", 20),
        (ignore_renewals, "renewed_locks", 4),
        (forget_states, "deliveries", 13),
        pytest.param(deliver_without_limit, "deliveries", 18, marks=pytest.mark.long),
        pytest.param(deliver_accepted_records, "deliveries", 0, marks=pytest.mark.long),
        (archive_released_records, "none_lost", 1),
        (give_up_one_delivery_early, "none_lost", 29),
        (never_expire_locks, "none_lost", 3),
        (ignore_record_limits, "record_limits", 0),
        (deliver_aborted_records, "committed_only", 3),
        (read_uncommitted, "committed_only", 3),
        (lose_dead_letters, "dead_letters", 4),
        (queue_accepted_records, "dead_letters", 4),
        (write_dead_letters_twice, "dead_letters", 4),
        (count_one_delivery_less, "dead_letters", 20),
        (count_finished_records_twice, "lags", 0),
        (forget_finished_records, "lags", 0),
    ],
)
def test_checker_finds_injected_bug(
    monkeypatch: Patch, bug: Callable[[Patch], None], checker: str, first: int
) -> None:
    find_bug(monkeypatch, bug, checker, first, GroupWorld)
