"""Bugs of producer state, logs, leaders and replicas."""

from typing import Any

from broker.administration import record_deletion
from broker.cluster import failover, leader_epoch
from broker.cluster.cluster import Cluster
from broker.cluster.partition_log import PartitionLog
from broker.cluster.producer_rules import new_producers
from broker.cluster.topics import Partition, Topic
from broker.fetch import partition_read, waiting_fetch
from broker.handlers import k02_list_offsets
from broker.produce import append
from producer_state import producer_state_manager, rules
from producer_state.producer_state_manager import ProducerStateManager
from producer_state.rules import WINDOW_MAX, Decision, Entry, RuleSet, sequence_after
from tests.simulation.mutants.mutant import Mutant, edited
from tests.simulation.patches import Patch, wrap
from tests.simulation.provoking_worlds import (
    DeletedRecordsWorld,
    LostResponsesWorld,
    RollingUpgradeWorld,
    SmallLogsWorld,
)


def forget_producers(patch: Patch) -> None:
    """Let a new leader forget the state of the producers."""

    def forgetful(original: Any) -> Any:
        def set_leader(self: Cluster, partition: Partition, leader_id: int, now_ms: int) -> None:
            original(self, partition, leader_id, now_ms)
            partition.producers = new_producers(self.config, leader_id)

        return set_leader

    wrap(patch, Cluster, "set_leader", forgetful)


def ignore_first_stored_sequence(patch: Patch) -> None:
    """Let a partition call every sequence number in its window a duplicate."""

    def trusting(original: Any) -> Any:
        def decide(rule_set: RuleSet, entry: Entry, *rest: Any, **options: Any) -> Decision:
            newest = entry.batches[0].last_sequence if entry.batches else 0
            floor = sequence_after(newest, 1 - WINDOW_MAX)
            decision: Decision = original(rule_set, entry._replace(floor=floor), *rest, **options)
            return decision

        return decide

    wrap(patch, producer_state_manager, "decide", trusting)


def lose_last_batch(patch: Patch) -> None:
    """Let a new leader lack the last batch that the old leader acknowledged."""

    def lossy(original: Any) -> Any:
        def set_leader(self: Cluster, partition: Partition, leader_id: int, now_ms: int) -> None:
            original(self, partition, leader_id, now_ms)
            log = partition.log
            if log._batches:
                lost = log._batches.pop()
                log.high_watermark = log.log_end_offset = int.from_bytes(lost[:8], "big")
                log.size_bytes -= len(lost)
                self.log_bytes -= len(lost)

        return set_leader

    wrap(patch, Cluster, "set_leader", lossy)


LOST_BATCH = "A new leader lacks the last batch that the old leader acknowledged."

STORAGE_MUTANTS: tuple[Mutant, ...] = (
    # Producer state
    Mutant("A new leader forgets the producers.", "sequences", forget_producers),
    Mutant("A new leader forgets the producers.", "audit", forget_producers, LostResponsesWorld),
    Mutant(
        "KIP-758's rule calls every sequence number in its window a duplicate.",
        "records",
        ignore_first_stored_sequence,
    ),
    edited(
        "The floor of KIP-758's rule is one sequence number too low.",
        "records",
        rules._repeated,
        "first_distance <= floor_distance",
        "first_distance <= floor_distance + 1",
    ),
    edited(
        "A duplicate is answered with the offset of the newest batch.",
        "records",
        rules._repeated,
        "return Duplicate(error_code, batch.base_offset, batch.timestamp)",
        "return Duplicate(error_code, batches[0].base_offset, batch.timestamp)",
    ),
    edited(
        "A batch that was stored before is stored again.",
        "sequences",
        append._write_producer,
        "if not isinstance(decision, Append):",
        "if isinstance(decision, Refused):",
    ),
    edited(
        "Batches of an old epoch are stored.",
        "sequences",
        rules.decide,
        "producer_epoch < entry.producer_epoch:",
        "producer_epoch < 0:",
    ),
    edited(
        "A gap in the sequence numbers is accepted.",
        "sequences",
        rules.decide,
        "base_sequence != sequence_after(last_sequence, 1)",
        "base_sequence <= last_sequence",
    ),
    edited(
        "The batches of the old epoch count as duplicates in the new one.",
        "records",
        rules.decide,
        "entry.batches if producer_epoch == entry.producer_epoch else ()",
        "entry.batches",
    ),
    edited(
        "Only the newest of five batches is known as a duplicate.",
        "duplicates",
        rules._repeated,
        "for batch in batches:",
        "for batch in batches[:1]:",
    ),
    edited(
        "Producer id 0 counts as none.",
        "sequences",
        append.accept_batches,
        "if producer_id >= 0:\n            if has_gate",
        "if producer_id > 0:\n            if has_gate",
    ),
    edited(
        "A leader with another rule forgets the producers.",
        "sequences",
        ProducerStateManager.convert,
        "self._table.rewrite(layout.row_bytes, with_floor if layout.has_floor else add_history)",
        "self._table = type(self._table)(layout.row_bytes)",
        RollingUpgradeWorld,
    ),
    # Logs
    Mutant(LOST_BATCH, "records", lose_last_batch),
    Mutant(LOST_BATCH, "reads", lose_last_batch),
    Mutant(LOST_BATCH, "audit", lose_last_batch),
    edited(
        "An append fails on some batches.",
        "internal_errors",
        PartitionLog.append,
        "self._batches.append(batch)\n",
        "assert self.log_end_offset < 5\n    self._batches.append(batch)\n",
    ),
    edited(
        "The response has the offset after the batch.",
        "records",
        append.accept_batches,
        "(index, base_offset,",
        "(index, log.log_end_offset,",
    ),
    edited(
        "An append moves the end of the log by one record too few.",
        "records",
        PartitionLog.append,
        "+= offset_count",
        "+= max(1, offset_count - 1)",
    ),
    edited(
        "A fetch begins one batch too late.",
        "reads",
        PartitionLog._index_of,
        "key=unpack_base_offset) - 1",
        "key=unpack_base_offset)",
    ),
    edited(
        "An append wakes no fetch that waits.",
        "waits",
        Cluster.appended,
        "if log.waiters:",
        "if not log.waiters:",
    ),
    edited(
        "A fetch that waits ends only with its time.",
        "waits",
        partition_read.WaitingBytes.is_enough_with,
        "return True  # one batch is enough, whatever its size",
        "return False",
    ),
    edited(
        "A fetch whose client is gone stays in the log.",
        "memory",
        waiting_fetch.WaitingFetch._leave,
        "waits.pop().leave()",
        "pass",
    ),
    edited(
        "DeleteRecords leaves the log start offset.",
        "deletions",
        PartitionLog.advance_start,
        "self.log_start_offset = offset\n",
        "pass\n",
        DeletedRecordsWorld,
    ),
    edited(
        "DeleteRecords deletes one batch too many.",
        "deletions",
        PartitionLog.advance_start,
        "at_end else self._index_of(offset)",
        "at_end else self._index_of(offset) + 1",
        DeletedRecordsWorld,
    ),
    edited(
        "DeleteRecords up to the high watermark deletes nothing.",
        "deletions",
        record_deletion.check_record_deletion,
        "ErrorCode.NONE, log.high_watermark",
        "ErrorCode.NONE, INVALID_LOW_WATERMARK",
    ),
    edited(
        "Deleted records still count as memory.",
        "memory",
        Cluster.delete_records_before,
        "self.freed(partition, before_bytes - log.size_bytes)",
        "pass",
    ),
    edited(
        "The bound of memory holds for each partition.",
        "memory",
        Cluster.appended,
        "if self.log_bytes > self.log_bytes_max:",
        "if log.size_bytes > self.log_bytes_max:",
        SmallLogsWorld,
    ),
    edited(
        "The earliest offset is always 0.",
        "internal_errors",
        k02_list_offsets._find,
        "FoundOffset(log.log_start_offset, -1",
        "FoundOffset(0, -1",
    ),
    edited(
        "A fetch below the log start offset returns the first batch.",
        "reads",
        partition_read.read_partition,
        "if fetch_offset < log_start_offset:",
        "if fetch_offset < 0:",
    ),
    # Leaders and replicas
    edited(
        "A broker stores batches of partitions that it does not lead.",
        "leaders",
        append.accept_batches,
        "partition.leader_id != broker_id",
        "partition.leader_id < 0",
    ),
    edited(
        "A fetch of an old leader epoch is served.",
        "leaders",
        leader_epoch.leader_epoch_error,
        "if current_leader_epoch < partition.leader_epoch:",
        "if current_leader_epoch < partition.leader_epoch - 1:",
    ),
    edited(
        "A new leader begins no new epoch.",
        "metadata",
        Cluster.set_leader,
        "partition.leader_epoch += 1",
        "pass",
    ),
    edited(
        "The first replica that is up leads, in sync or not.",
        "metadata",
        failover.elect,
        "clean_leader(partition, partition.replicas, cluster.is_alive)",
        "partition.replicas[0]",
    ),
    edited(
        "A broker that stops stays in the ISR.",
        "metadata",
        failover._leave_isr,
        "cluster.set_isr(partition, rest, now_ms)",
        "pass",
    ),
    edited(
        "A leader that is reassigned away goes on leading.",
        "metadata",
        Cluster.set_replicas,
        "if leader_id not in partition.isr:",
        "if leader_id not in partition.isr and not removes_any:",
    ),
    edited(
        "acks=-1 ignores min.insync.replicas.",
        "metadata",
        Topic.has_too_few_in_sync,
        "in_sync < self.min_insync_replicas and",
        "in_sync < self.min_insync_replicas - 1 and",
    ),
)
