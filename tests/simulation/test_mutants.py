"""Each checker can fail: inject one bug, run worlds, and expect the right checker to find it."""

from collections.abc import Callable
from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from broker.cluster.partition_log import PartitionLog
from broker.cluster.producer_rules import new_producers
from broker.cluster.topics import Partition
from broker.dispatch.connection import Connection
from broker.groups.coordinator import GroupCoordinator
from broker.groups.offsets import OffsetTable
from broker.handlers import k14_sync_group
from broker.server.server import Server
from client.producer import expiry
from client.producer import response_handling as responses
from client.producer.batch import NO_SEQUENCE, Batch
from client.producer.state import ProducerState
from producer_state import producer_state_manager
from producer_state.rules import WINDOW_MAX, Decision, Entry, RuleSet, sequence_after
from protocol.errors import ErrorCode
from quotas.producer_ids import ProducerIdQuotaManager
from quotas.token_bucket import TokenBucket
from tests.simulation.patches import Patch, wrap
from tests.simulation.provoking_worlds import LostResponsesWorld, SmallLogsWorld
from tests.simulation.world import World

SEEDS_MAX = 200


def first_violations(checker: str, world_class: type[World]) -> list[str]:
    """Return the violations that the checker finds in the first world where it finds any."""
    for seed in range(SEEDS_MAX):
        violations = world_class(seed).run().violations
        found = [violation for violation in violations if violation.startswith(f"{checker}: ")]
        if found:
            return found
    return []


def forget_producers(patch: Patch) -> None:
    """A new leader forgets the state of the producers."""

    def forgetful(original: Any) -> Any:
        def set_leader(self: Cluster, partition: Partition, leader_id: int, now_ms: int) -> None:
            original(self, partition, leader_id, now_ms)
            partition.producers = new_producers(self.config, leader_id)

        return set_leader

    wrap(patch, Cluster, "set_leader", forgetful)


def ignore_first_stored_sequence(patch: Patch) -> None:
    """A partition calls every sequence number in its window a duplicate."""

    def trusting(original: Any) -> Any:
        def decide(rules: RuleSet, entry: Entry, *rest: Any, **options: Any) -> Decision:
            newest = entry.batches[0].last_sequence if entry.batches else 0
            floor = sequence_after(newest, 1 - WINDOW_MAX)
            decision: Decision = original(rules, entry._replace(floor=floor), *rest, **options)
            return decision

        return decide

    wrap(patch, producer_state_manager, "decide", trusting)


def renumber_batches(patch: Patch) -> None:
    """A producer without a response sends the batch again under new sequence numbers."""

    def forgetful(original: Any) -> Any:
        def on_no_response(state: ProducerState, batch: Batch, now_ms: int, reason: str) -> None:
            sequences = state.idempotence.of(batch)
            if sequences is not None and not batch.is_done:
                sequences.undecided.remove(batch)
                batch.base_sequence = NO_SEQUENCE
            original(state, batch, now_ms, reason)

        return on_no_response

    wrap(patch, responses, "_on_no_response", forgetful)


def report_failures_as_certain(patch: Patch) -> None:
    """A producer reports of a batch in flight that it was not stored."""

    def lying(original: Any) -> Any:
        def fail(self: ProducerState, batch: Batch, error: Any) -> None:
            error.is_possibly_stored = False
            original(self, batch, error)

        return fail

    wrap(patch, ProducerState, "fail", lying)


def lose_last_batch(patch: Patch) -> None:
    """A new leader lacks the last batch that the old leader acknowledged."""

    def lossy(original: Any) -> Any:
        def set_leader(self: Cluster, partition: Partition, leader_id: int, now_ms: int) -> None:
            original(self, partition, leader_id, now_ms)
            log = partition.log
            if log._batches:
                lost = log._batches.pop()
                log._base_offsets.pop()
                log._max_timestamps.pop()
                log.log_end_offset = int.from_bytes(lost[:8], "big")
                log.size_bytes -= len(lost)
                self.log_bytes -= len(lost)

        return set_leader

    wrap(patch, Cluster, "set_leader", lossy)


def expire_late(patch: Patch) -> None:
    """A producer expires batches half a second late."""

    def late(original: Any) -> Any:
        return lambda state, now_ms: original(state, now_ms - 500)

    wrap(patch, expiry, "expire", late)


def assign_to_all(patch: Patch) -> None:
    """Each member gets the first assignment that was sent."""
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


def lose_commits(patch: Patch) -> None:
    """A group loses its offsets when its coordinator changes."""

    def lossy(original: Any) -> Any:
        def unload(self: GroupCoordinator, group_id: str, now_ms: int) -> None:
            original(self, group_id, now_ms)
            self._groups[group_id].offsets = OffsetTable()

        return unload

    wrap(patch, GroupCoordinator, "unload", lossy)


def never_refuse(patch: Patch) -> None:
    """Token buckets admit everything."""
    patch.setattr(TokenBucket, "try_charge", lambda *_: 0)


def halve_throttle_time(patch: Patch) -> None:
    """The throttle time of a refused request is half of the right one."""
    wrap(patch, TokenBucket, "_wait_ms", lambda original: lambda *of: original(*of) // 2)


def admit_every_id(patch: Patch) -> None:
    """The quota admits every producer id."""
    patch.setattr(ProducerIdQuotaManager, "track", lambda *_: 0)


def never_mute(patch: Patch) -> None:
    """The broker still serves a throttled connection."""

    def chatty(original: Any) -> Any:
        def finish(self: Connection, *rest: Any) -> None:
            original(self, *rest)
            self._end_mute()

        return finish

    wrap(patch, Connection, "_finish", chatty)


def fail_sometimes(patch: Patch) -> None:
    """Appending fails on some batches."""

    def brittle(original: Any) -> Any:
        def append(self: PartitionLog, *rest: Any) -> Any:
            if self.log_end_offset > 5:
                raise RuntimeError("a bug")
            return original(self, *rest)

        return append

    wrap(patch, PartitionLog, "append", brittle)


def never_shrink(patch: Patch) -> None:
    """Logs never drop records, whatever memory they use."""
    patch.setattr("broker.cluster.cluster.drop_from_largest", lambda _topics, _byte_count: 0)


def keep_connections(patch: Patch) -> None:
    """The server keeps closed connections."""
    patch.setattr(Server, "forget", lambda *_: None)


WORLDS: dict[Callable[[Patch], None], type[World]] = {
    forget_producers: LostResponsesWorld,
    never_shrink: SmallLogsWorld,
}
"""Bugs that too few ordinary worlds provoke."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "checker"),
    [
        (forget_producers, "records"),
        (ignore_first_stored_sequence, "records"),
        (renumber_batches, "records"),
        (report_failures_as_certain, "records"),
        pytest.param(lose_last_batch, "records", marks=pytest.mark.long),
        pytest.param(lose_last_batch, "reads", marks=pytest.mark.long),
        pytest.param(lose_last_batch, "audit", marks=pytest.mark.long),
        (forget_producers, "audit"),
        (expire_late, "deadlines"),
        (assign_to_all, "assignments"),
        (lose_commits, "commits"),
        (never_refuse, "mutation_quota"),
        (halve_throttle_time, "mutation_quota"),
        (admit_every_id, "producer_id_quota"),
        (never_mute, "muting"),
        (fail_sometimes, "internal_errors"),
        (never_shrink, "memory"),
        (keep_connections, "memory"),
    ],
)
def test_checker_finds_injected_bug(
    monkeypatch: Patch, bug: Callable[[Patch], None], checker: str
) -> None:
    bug(monkeypatch)
    world_class = WORLDS.get(bug, World)
    assert first_violations(checker, world_class), f"{bug.__doc__} Not found in {SEEDS_MAX} worlds."


@pytest.mark.slow
@pytest.mark.parametrize("world_class", sorted(set(WORLDS.values()), key=str))
def test_provoking_worlds_have_no_violations_without_a_bug(world_class: type[World]) -> None:
    assert [world_class(seed).run().violations for seed in range(5)] == [[]] * 5
