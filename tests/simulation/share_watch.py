"""Watch the share groups of a cluster from inside: what leaders load, what queues have."""

from collections.abc import Callable

from broker.cluster.cluster import Cluster
from broker.cluster.share_leaders import LedSharePartition, ShareLeader
from broker.cluster.topics import Topic
from broker.share_groups.share_state import SharePartitionKey
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
