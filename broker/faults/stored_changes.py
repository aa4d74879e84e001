"""Change what Produce requests have appended, before anybody else can see it.

The request is handled as without the rule: its batch is checked, and its producer's state moves on.
Then the log gets the other batch. Nothing runs in between, and waiting fetches are woken behind it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Partition, Topic
from broker.faults.actions import ChangeRecords
from broker.faults.decision import RuleMatch
from broker.faults.record_changes import UnchangeableError, changed_batch, choice_of
from broker.faults.table import FaultTable
from broker.faults.withheld_batches import (
    PartitionKey,
    WithheldBatches,
    append_again,
    exchange_newest,
    record_change,
)
from broker.request.acknowledgement import DUPLICATE_BATCH, SWAP_BATCHES, RecordChange
from broker.request.context import RequestContext
from broker.responses import DispatchResult
from protocol.pacing import in_one_go, may_pause
from protocol.produce_decoder import ProduceRequest
from protocol.records import TRANSACTIONAL_FLAG, last_offset, read_header
from protocol.request_targets import RequestTargets

NOTES_MAX = 10
"""Partitions that the journal names for one rule and request."""


class Selected(NamedTuple):
    """A rule that changes records, and the partitions that it is for; None for all."""

    match: RuleMatch
    targets: RequestTargets | None

    @property
    def action(self) -> ChangeRecords:
        """What it does."""
        action = self.match.rule.action(ChangeRecords)
        assert action is not None
        return action

    def has(self, topic: str, partition_index: int) -> bool:
        """Return whether the rule is for a partition."""
        return self.targets is None or self.targets.has_partition(topic, partition_index)


class _Target(NamedTuple):
    """A partition that a request names, and where its log ended before."""

    topic: Topic
    partition: Partition
    end_offset: int


class StoredChanges:
    """Handles Produce requests whose batches are changed, or that follow a withheld batch."""

    def __init__(self, cluster: Cluster, table: FaultTable) -> None:
        self._cluster = cluster
        self._table = table

    @may_pause
    def handle(
        self,
        context: RequestContext,
        request: ProduceRequest,
        selected: Sequence[Selected],
        handle: Callable[[], DispatchResult],
    ) -> DispatchResult:
        """Handle a request with `handle`, and change what it has appended."""
        targets = self._targets(request)
        done: set[int] = set()
        notes: dict[int, list[str]] = {}
        with _nobody_woken(targets, context.now_ms), in_one_go():
            result = handle()
            for target in targets:
                if target.partition.log.log_end_offset > target.end_offset:
                    self._change(context, target, selected, done, notes)
        for one in selected:
            rule_id = one.match.state.rule_id
            lines = notes.get(rule_id, ["no batch was appended"])
            text = "; ".join(lines[:NOTES_MAX])
            if rule_id in done:
                context.fault = f"{context.fault} ({text})"
            else:
                self._table.undo(one.match)
                context.fault = f"{context.fault} (nothing was done: {text})"
        self._table.refresh()
        return result

    def _targets(self, request: ProduceRequest) -> list[_Target]:
        found: dict[int, _Target] = {}
        for named in request.topics:
            topic = self._cluster.topics.find(named.name, named.topic_id)
            if topic is None or topic.is_internal:
                continue
            for data in named.partitions:
                partition = topic.partition(data.partition_index)
                if partition is not None:
                    target = _Target(topic, partition, partition.log.log_end_offset)
                    found[id(partition)] = target
        return list(found.values())

    def _change(
        self,
        context: RequestContext,
        target: _Target,
        selected: Sequence[Selected],
        done: set[int],
        notes: dict[int, list[str]],
    ) -> None:
        """Change the batch that a request has appended to one partition."""
        topic, partition, base_offset = target
        place = f"{topic.name}-{partition.partition_index}"
        if not partition.log.read(base_offset, 1, at_least_one=True):
            return  # it was deleted at once, to free memory
        withheld = self._table.withheld
        before = None if withheld is None else withheld.take(_key(target))
        for one in selected:
            if not one.has(topic.name, partition.partition_index):
                continue
            rule_id = one.match.state.rule_id
            try:
                change = self._change_by(one, target, context.now_ms, is_next=before is not None)
            except UnchangeableError as error:
                notes.setdefault(rule_id, []).append(f"{place}: {error}")
                continue
            done.add(rule_id)
            notes.setdefault(rule_id, []).append(f"changed {place} at offset {base_offset}")
            self._table.note_record_change(change)
        if withheld is not None and before is not None:
            late = withheld.append(topic, partition, before, context.now_ms)
            self._table.note_record_change(late)

    def _change_by(
        self, one: Selected, target: _Target, now_ms: int, *, is_next: bool
    ) -> RecordChange:
        """Do what one rule says to the batch that a request has appended.

        Raises:
            UnchangeableError: that cannot be done.
        """
        topic, partition, base_offset = target
        state, action = one.match.state, one.action
        (batch,) = partition.log.read(base_offset, 1, at_least_one=True)
        header = read_header(batch, 0)
        segments = partition.log.segments
        if segments is not None and segments.end_offset > base_offset:
            raise UnchangeableError("it is in a closed segment")
        place = base_offset
        if action.change_records == DUPLICATE_BATCH:
            place = append_again(self._cluster, topic, partition, batch, now_ms)
        elif last_offset(batch) + 1 != partition.log.log_end_offset:
            raise UnchangeableError("another rule has appended it twice")
        elif action.change_records == SWAP_BATCHES:
            if is_next:
                raise UnchangeableError("the batch before it is withheld")
            self._withhold(target, batch, state.rule_id)
            place = -1
        else:
            choice = choice_of(state.rule.trigger.seed, one.match.number)
            exchange_newest(self._cluster, partition, changed_batch(batch, action, choice))
        return record_change(topic, partition, state.rule_id, action.change_records, header, place)

    def _withhold(self, target: _Target, batch: bytes, rule_id: int) -> None:
        if read_header(batch, 0).attributes & TRANSACTIONAL_FLAG:
            raise UnchangeableError("it is of a transaction")
        withheld = self._table.withheld
        if withheld is None:
            withheld = self._table.withheld = WithheldBatches(self._cluster)
        obstacle = withheld.obstacle(_key(target), len(batch))
        if obstacle is not None:
            raise UnchangeableError(obstacle)
        exchange_newest(self._cluster, target.partition, None)
        withheld.withhold(_key(target), batch, rule_id)


def _key(target: _Target) -> PartitionKey:
    return target.topic.topic_id, target.partition.partition_index


@contextmanager
def _nobody_woken(targets: Sequence[_Target], now_ms: int) -> Iterator[None]:
    """Wake those who wait for these partitions at the end, and not before."""
    waiters = [target.partition.log.waiters for target in targets]
    for target in targets:
        target.partition.log.waiters = {}
    try:
        yield
    finally:
        for target, waiting in zip(targets, waiters, strict=True):
            target.partition.log.waiters = waiting
    for target in targets:
        if target.partition.log.log_end_offset > target.end_offset:
            target.partition.log.wake(now_ms)
