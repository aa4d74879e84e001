"""Watch the share groups of a cluster from inside: loads, lags and dead letter queues."""

from collections.abc import Callable
from typing import Any

from broker.administration.share_offsets import share_offset
from broker.cluster.cluster import Cluster
from broker.cluster.share_leaders import LedSharePartition, ShareLeader
from broker.cluster.topics import Topic
from broker.errors import Refusal
from broker.share_groups.in_flight import RecordState
from broker.share_groups.share_partition import SharePartition
from broker.share_groups.share_state import NO_COUNT, SharePartitionKey, ShareState
from broker.share_groups.state_batches import NO_OFFSET
from protocol.records import CONTROL_FLAG, Record, read_header, read_records
from tests.simulation.history import Place
from tests.simulation.share_history import DeadLetter, ShareHistory

HEADERS = [
    f"__dlq.errors.{name}"
    for name in ("topic", "partition", "offset", "group", "delivery.count", "message")
]


def watch_loads(cluster: Cluster, shared: ShareHistory, now_ms: Callable[[], int]) -> None:
    """Note when a leader loads a share partition; `now_ms` is the clock of the brokers."""

    def note(leader: ShareLeader) -> None:
        add = leader.add

        def add_and_note(key: SharePartitionKey, led: LedSharePartition) -> None:
            topic = cluster.topics.get_by_id(key.topic_id)
            assert topic is not None
            place = topic.name, key.partition_index
            shared.loads.setdefault((key.group_id, place), []).append(now_ms())
            add(key, led)

        leader.add = add_and_note  # type: ignore[method-assign]

    for leader in cluster.share.leaders.values():
        note(leader)


def watch_lags(cluster: Cluster, shared: ShareHistory) -> None:
    """Note when the share coordinator has a negative lag, after each change."""
    states = cluster.share.states
    write = states.write

    def write_and_look(key: SharePartitionKey, **fields: Any) -> Refusal | None:
        refusal = write(key, **fields)
        state = states.get(key)
        if state is not None and _has_lag(state) and share_offset(cluster, key).lag < 0:
            shared.broken_lags.append(f"the lag of {key} is negative: {state}")
        return refusal

    states.write = write_and_look  # type: ignore[method-assign]


def note_lags_at_end(cluster: Cluster, shared: ShareHistory) -> None:
    """Note lags that are not 0, of the share partitions that the coordinator or leader finished."""
    share = cluster.share
    for (group, (name, index)), end in shared.ends.items():
        topic = cluster.topics.get(name)
        assert topic is not None
        partition, key = topic.partitions[index], SharePartitionKey(group, topic.topic_id, index)
        lags: list[int] = []
        state, leader = share.states.get(key), share.leaders.get(partition.leader_id)
        if state is not None and _has_lag(state) and finished_offset(state) == end:
            lags.append(share_offset(cluster, key).lag)
        led = None if leader is None else leader.partitions.get(key)
        if led is not None and finished_by_leader(led.share_partition) == end:
            known = led.share_partition
            lags.append(partition.log.high_watermark - known.start_offset - known.finished_count)
        if any(lags):
            shared.broken_lags.append(f"{key} has lags {lags} at its end")


def _has_lag(state: ShareState) -> bool:
    """Return whether the share coordinator knows how many records are finished (KIP-1226)."""
    return state.start_offset != NO_OFFSET and state.finished_count != NO_COUNT


def read_dead_letters(cluster: Cluster, queue: Topic, shared: ShareHistory) -> None:
    """Note what a dead letter queue has at the end, and which of its records are wrong."""
    sources = {
        (place, record.offset): record
        for place in {place for _group, place in shared.loads}
        for record in _records(cluster, place)
    }
    for partition in queue.partitions:
        for batch in partition.log.rewind():
            for record in read_records(batch):
                if [name for name, _value in record.headers] != HEADERS:
                    shared.broken_dead_letters.append(f"{record} has not the headers {HEADERS}")
                    continue
                dead = _dead_letter(record)
                shared.dead_letters.append(dead)
                if dead.place[1] % len(queue.partitions) != partition.partition_index:
                    shared.broken_dead_letters.append(f"{dead} is in {partition.partition_index}")
                source = sources.get((dead.place, dead.offset))
                if source is not None:
                    is_copied = dead.group in shared.copying
                    copied = (source.key, source.value) if is_copied else (None, None)
                    if (record.key, record.value) != copied:
                        shared.broken_dead_letters.append(f"{record}, of {source}")


def _dead_letter(record: Record) -> DeadLetter:
    topic, index, offset, group, count, message = (
        (value or b"").decode() for _header, value in record.headers
    )
    return DeadLetter(group, (topic, int(index)), int(offset), int(count), message)


def _records(cluster: Cluster, place: Place) -> list[Record]:
    """Return the records of a partition, without the markers of transactions."""
    topic = cluster.topics.get(place[0])
    assert topic is not None
    return [
        record
        for batch in topic.partitions[place[1]].log.rewind()
        if not read_header(batch, 0).attributes & CONTROL_FLAG
        for record in read_records(batch)
    ]


def finished_offset(state: ShareState) -> int:
    """Return the offset before which all records are finished."""
    offset = state.start_offset
    for batch in state.state_batches:
        if batch.first_offset > offset or not RecordState(batch.delivery_state).is_final:
            break
        offset = batch.last_offset + 1
    return offset


def finished_by_leader(share_partition: SharePartition) -> int:
    """Return the offset before which all records are finished.

    The start offset follows with the next acknowledgement only, as in Kafka.
    """
    offset = share_partition.start_offset
    for batch in share_partition.records:
        for first_offset, last_offset, state in batch.states():
            if first_offset > offset or not state.state.is_final:
                return offset
            offset = last_offset + 1
    return offset
