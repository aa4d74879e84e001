"""Each kind of finding, and no findings in correct logs."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.audit.comparison import (
    CommittedPosition,
    Comparison,
    FindingKind,
    StoredLog,
    audit_cluster,
    compare,
)
from broker.cluster.background_tasks import apply_retention
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import GROUP_METADATA
from broker.cluster.log_truncation import lead_out_of_sync, truncate_log
from broker.cluster.producer_rules import new_producers
from broker.cluster.topics import Partition, Topic
from broker.groups.requests import CommitRequest, OffsetToCommit
from broker.request.acknowledgement import Acknowledgement
from producer_state.rules import SEQUENCE_MAX, sequence_after
from protocol import records
from tests.batches import make_batch
from tests.broker.cluster.cleaned_topic import FILL, CleanedTopic
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.connection_driver import Client, request_frame
from tests.broker.interleaving import at_pause, run_with_pauses
from tests.produce_requests import produce_request

TOPIC_ID = UUID(int=7)
KEY = (TOPIC_ID, 0)


def sent_batch(count: int = 1, *, producer_id: int = -1, sequence: int = -1) -> bytes:
    """Return a batch as its producer sends it; each call has different records."""
    epoch = -1 if producer_id < 0 else 0
    values = [f"{producer_id} {sequence} {number}".encode() for number in range(count)]
    return make_batch(
        *values, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence
    )


def stored(batch: bytes, base_offset: int) -> bytes:
    return records.stamp(batch, 0, len(batch), base_offset, 0)


def acknowledged(batch: bytes, base_offset: int, *, is_append: bool = True) -> Acknowledgement:
    header = records.read_header(batch, 0)
    return Acknowledgement(
        TOPIC_ID,
        "t",
        0,
        is_append,
        base_offset,
        header.crc,
        header.max_timestamp,
        header.records_count,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        3,
        "till",
        NOW_MS,
    )


def log_of(batches: Sequence[bytes], start: int = 0) -> StoredLog:
    """Return a log of stored batches from an offset on."""
    kept = [batch for batch in batches if _end(batch) > start]
    return StoredLog("t", start, max(map(_end, batches), default=start), kept)


def _end(batch: bytes) -> int:
    header = records.read_header(batch, 0)
    return header.base_offset + header.records_count


def kinds(result: Comparison) -> list[str]:
    return [finding.kind.value for finding in result.findings]


# The judge alone -------------------------------------------------------------------------------

PRODUCED = st.lists(st.tuples(st.sampled_from((-1, 4, 9)), st.integers(1, 4)), max_size=12)


@given(PRODUCED, st.sampled_from((0, SEQUENCE_MAX - 3)), st.data())
def test_exactly_the_missing_batches_are_found(
    produced: list[tuple[int, int]], first: int, data: st.DataObject
) -> None:
    batches: list[bytes] = []
    acknowledgements: list[Acknowledgement] = []
    next_sequence = {4: first, 9: first}
    for producer_id, count in produced:
        sequence = next_sequence.get(producer_id, -1)
        batch = sent_batch(count, producer_id=producer_id, sequence=sequence)
        offset = _end(batches[-1]) if batches else 0
        batches.append(stored(batch, offset))
        acknowledgements.append(acknowledged(batch, offset))
        if producer_id >= 0:
            next_sequence[producer_id] = sequence_after(sequence, count)
            # The client asks again: the broker may know the offset, or no more than that it was.
            acknowledgements.append(acknowledged(batch, offset, is_append=False))
            acknowledgements.append(acknowledged(batch, -1, is_append=False))
    start = data.draw(st.integers(0, _end(batches[-1]) if batches else 0))
    removed = [
        acknowledgement
        for acknowledgement in acknowledgements
        if 0 <= acknowledgement.base_offset < start
    ]
    log = log_of(batches, start)

    result = compare(acknowledgements, [(KEY, log)])
    assert result.findings == []
    assert result.covered + result.removed == len(acknowledgements)
    assert result.removed <= len(acknowledgements) - sum(
        acknowledgement.base_offset >= start for acknowledgement in acknowledgements
    )
    assert result.covered >= len(acknowledgements) - 3 * len(removed)

    if log.batches:
        lost = data.draw(st.integers(0, len(log.batches) - 1))
        lost_offset = records.read_header(log.batches[lost], 0).base_offset
        rest = [batch for number, batch in enumerate(log.batches) if number != lost]
        result = compare(acknowledgements, [(KEY, log._replace(batches=rest))])
        assert set(kinds(result)) == {"not_stored"}
        assert {finding.base_offset for finding in result.findings} - {-1} == {lost_offset}
        assert {finding.client_id for finding in result.findings} == {"till"}


@pytest.mark.parametrize("is_log_append_time", [False, True])
def test_another_batch_at_the_offset_is_found_with_any_timestamp_type(
    is_log_append_time: bool,
) -> None:
    def as_stored(batch: bytes) -> bytes:
        at_offset = stored(batch, 0)
        return records.stamp_log_append_time(at_offset, 9) if is_log_append_time else at_offset

    sent, other = make_batch(b"sent"), make_batch(b"lost")
    acknowledgements = [acknowledged(sent, 0)]
    assert compare(acknowledgements, [(KEY, log_of([as_stored(sent)]))]).findings == []

    (finding,) = compare(acknowledgements, [(KEY, log_of([as_stored(other)]))]).findings
    assert (finding.kind, finding.base_offset) == (FindingKind.NOT_STORED, 0)
    assert finding.detail == "the log has another batch at offset 0: 1 records"

    corrupt = bytearray(as_stored(sent))
    corrupt[-1] ^= 1
    (finding,) = compare(acknowledgements, [(KEY, log_of([bytes(corrupt)]))]).findings
    assert finding.detail == "the batch at offset 0 is corrupt: its CRC is not that of its data"


def test_a_duplicate_may_be_rebuilt_with_the_same_sequences() -> None:
    first = sent_batch(2, producer_id=4, sequence=0)
    again = make_batch(b"other", b"times", producer_id=4, producer_epoch=0, base_sequence=0)
    log = [(KEY, log_of([stored(first, 0)]))]
    assert compare([acknowledged(again, 0, is_append=False)], log).findings == []
    assert kinds(compare([acknowledged(again, 0)], log)) == ["not_stored"]

    later = sent_batch(2, producer_id=4, sequence=2)
    assert kinds(compare([acknowledged(later, 0, is_append=False)], log)) == ["not_stored"]


def test_a_duplicate_without_an_offset_is_found_by_its_sequences() -> None:
    batches = [
        stored(sent_batch(2, producer_id=4, sequence=10), 0),
        stored(sent_batch(2, producer_id=4, sequence=12), 2),
    ]
    log = log_of(batches)

    def duplicate_of(sequence: int, count: int, producer_id: int = 4) -> list[Acknowledgement]:
        batch = sent_batch(count, producer_id=producer_id, sequence=sequence)
        return [acknowledged(batch, -1, is_append=False)]

    # A client may have cut its records into other batches before it sent them again.
    for sequence, count in ((10, 2), (11, 2), (10, 4), (13, 1)):
        assert compare(duplicate_of(sequence, count), [(KEY, log)]).findings == []
    for sequence, count, producer_id in ((9, 1, 4), (9, 2, 4), (13, 2, 4), (10, 1, 5)):
        (finding,) = compare(duplicate_of(sequence, count, producer_id), [(KEY, log)]).findings
        assert (finding.kind, finding.base_sequence) == (FindingKind.NOT_STORED, sequence)
        assert finding.detail.startswith("acknowledged as a duplicate")

    # Once retention has removed records, what was before the first that is left may be gone too.
    shortened = [(KEY, log_of(batches, start=2))]
    assert compare(duplicate_of(10, 2), shortened) == Comparison([], 0, 1)
    assert compare(duplicate_of(1, 1, producer_id=5), shortened) == Comparison([], 0, 1)
    assert kinds(compare(duplicate_of(13, 2), shortened)) == ["not_stored"]


def test_batches_stored_twice_or_out_of_order_are_found_without_an_acknowledgement() -> None:
    def log(*sequences: int) -> list[tuple[tuple[UUID, int], StoredLog]]:
        batches = [sent_batch(2, producer_id=4, sequence=sequence) for sequence in sequences]
        return [(KEY, log_of([stored(batch, 2 * n) for n, batch in enumerate(batches)]))]

    assert compare([], log(SEQUENCE_MAX - 1, 0, 2, 8)).findings == []
    (twice,) = compare([], log(0, 2, 0)).findings
    assert (twice.kind, twice.base_offset, twice.base_sequence) == ("stored_twice", 4, 0)
    (partly,) = compare([], log(0, 1)).findings
    assert (partly.kind, partly.detail) == (
        "stored_twice",
        "1 of its sequences are stored before it",
    )
    (changed,) = compare([], log(0, 4, 2)).findings
    assert (changed.kind, changed.detail) == (
        "out_of_order",
        "stored behind sequence 5 of its producer",
    )


def test_another_epoch_or_producer_has_its_own_sequences() -> None:
    batches = [
        make_batch(b"x", producer_id=producer_id, producer_epoch=epoch, base_sequence=0)
        for producer_id, epoch in ((4, 0), (4, 1), (5, 0), (-1, -1), (-1, -1))
    ]
    log = log_of([stored(batch, offset) for offset, batch in enumerate(batches)])
    assert compare([], [(KEY, log)]).findings == []


def test_a_committed_offset_beyond_the_log_end_is_a_finding() -> None:
    log = [(KEY, log_of([stored(sent_batch(), 0)]))]
    committed = [
        CommittedPosition("billing", "t", 0, 1),
        CommittedPosition("audit", "t", 0, 2),
        CommittedPosition("audit", "gone", 0, 2),
        CommittedPosition("audit", "t", 7, 2),
    ]
    (finding,) = compare([], log, committed).findings
    assert (finding.kind, finding.group, finding.base_offset) == (
        FindingKind.OFFSET_BEYOND_LOG_END,
        "audit",
        2,
    )
    assert finding.detail == "group 'audit' has committed offset 2, the log ends at 1"


# A whole cluster -------------------------------------------------------------------------------


def audited_cluster(**overrides: str) -> tuple[Client, Topic, Partition]:
    cluster = make_cluster(1, **{"audit.enable": "true"}, **overrides)
    topic = cluster.create_topic("t", [(1,)], {})
    return Client(cluster), topic, topic.partitions[0]


def produce(client: Client, *batches: bytes, version: int = 9) -> None:
    for batch in batches:
        request = produce_request([(0, batch)], version=version)
        client.send(request_frame(request, version, 1))
    client.dispatcher.acknowledgements.written(1)


def judged(client: Client) -> Comparison:
    return audit_cluster(client.cluster, client.dispatcher.acknowledgements).comparison


@pytest.mark.parametrize("batches", ["1", "5"])
def test_appends_and_duplicates_of_a_cluster_are_covered(batches: str) -> None:
    client, _topic, _partition = audited_cluster(**{"producer.state.batches": batches})
    first, second = (sent_batch(2, producer_id=4, sequence=sequence) for sequence in (0, 2))
    produce(client, first, second, second, first, sent_batch(3))
    assert judged(client) == Comparison([], 5, 0)


def test_a_lost_batch_is_found_by_append_and_by_duplicate() -> None:
    client, _topic, partition = audited_cluster()
    first, second = (sent_batch(2, producer_id=4, sequence=sequence) for sequence in (0, 2))
    produce(client, first, second, first)
    del partition.log._batches[0]

    by_append, by_duplicate = judged(client).findings
    assert (by_append.kind, by_append.base_offset) == (FindingKind.NOT_STORED, 0)
    assert (by_duplicate.kind, by_duplicate.base_offset) == (FindingKind.NOT_STORED, -1)
    assert (by_duplicate.producer_id, by_duplicate.base_sequence) == (4, 0)
    assert (by_duplicate.client_id, by_duplicate.connection) == ("test", 1)


@pytest.mark.parametrize("is_asked", [False, True])
def test_what_a_log_has_lost_with_its_end_is_told_from_other_losses(is_asked: bool) -> None:
    client, _topic, partition = audited_cluster()
    produce(client, sent_batch(2), sent_batch(3), sent_batch(2))
    if is_asked:
        truncate_log(client.cluster, partition, 3, NOW_MS)
    else:
        partition.replica_ends = {1: 2}
        lead_out_of_sync(client.cluster, partition, 1, NOW_MS, is_clean=False)
    partition.log._batches[:1] = []
    produce(client, sent_batch(1))

    kind = "lost_by_truncation" if is_asked else "lost_by_election"
    found = {finding.base_offset: finding.kind for finding in judged(client).findings}
    assert found == {0: "not_stored", 2: kind, 5: kind}


def test_duplicates_stored_after_the_loss_of_producer_state_are_found() -> None:
    client, _topic, partition = audited_cluster()
    batch = sent_batch(2, producer_id=4, sequence=0)
    produce(client, batch)
    partition.producers = new_producers(client.cluster.config, partition.leader_id)
    produce(client, batch)
    assert kinds(judged(client)) == ["stored_twice"]


def test_log_append_time_is_not_a_finding() -> None:
    client, _topic, _partition = audited_cluster(**{"log.message.timestamp.type": "LogAppendTime"})
    batch = sent_batch(2, producer_id=4, sequence=0)
    produce(client, batch, batch)
    assert judged(client) == Comparison([], 2, 0)


def test_batches_removed_on_purpose_are_counted_and_are_not_findings() -> None:
    client, topic, partition = audited_cluster()
    cluster = client.cluster
    produce(client, sent_batch(2), sent_batch(2), sent_batch(2))
    cluster.delete_records_before(partition, 3, NOW_MS)
    assert judged(client) == Comparison([], 2, 1)

    apply_retention(cluster, NOW_MS + 10 * 24 * 3600 * 1000)
    assert judged(client) == Comparison([], 0, 3)

    produce(client, sent_batch(1))
    cluster.delete_topic(topic, NOW_MS)
    cluster.create_topic("t", [(1,)], {})
    produce(client, sent_batch(1))
    assert judged(client) == Comparison([], 1, 4)

    cluster.reset()
    client.dispatcher.acknowledgements.clear()
    assert judged(client) == Comparison([], 0, 0)


@given(st.integers(1, 20), st.sampled_from(["produce", "delete records", "delete topic", "commit"]))
def test_what_changes_while_the_audit_pauses_is_no_finding(pause: int, change: str) -> None:
    client, topic, partition = audited_cluster()
    cluster = client.cluster
    ensure_internal_topic(cluster, GROUP_METADATA)
    produce(client, sent_batch(2), sent_batch(3))

    def commit() -> None:
        offset = OffsetToCommit("t", 0, partition.log.log_end_offset, -1, "")
        cluster.groups.table.commit(CommitRequest("g", (offset,), -1, ""), NOW_MS)

    def make_change() -> None:
        if change in {"produce", "commit"}:
            produce(client, sent_batch(1))
        if change == "commit":
            commit()
        elif change == "delete records":
            cluster.delete_records_before(partition, 3, NOW_MS)
        elif change == "delete topic":
            cluster.delete_topic(topic, NOW_MS)

    commit()
    comparison = run_with_pauses(lambda: judged(client), at_pause(pause, make_change))

    assert not comparison.findings
    assert comparison.covered + comparison.removed == 2


def test_a_group_offset_beyond_the_log_end_is_found() -> None:
    client, _topic, _partition = audited_cluster()
    produce(client, sent_batch(2))
    ensure_internal_topic(client.cluster, GROUP_METADATA)
    for offset in (2, 3):
        request = CommitRequest("g", (OffsetToCommit("t", 0, offset, -1, ""),), -1, "")
        assert client.cluster.groups.table.commit(request, NOW_MS) == (0,)
        assert bool(judged(client).findings) == (offset == 3)


# Compaction ------------------------------------------------------------------------------------


def test_a_compacted_batch_is_not_lost_and_a_lost_one_is_found() -> None:
    topic = CleanedTopic()
    acknowledgements: list[Acknowledgement] = []
    for key in (b"a", b"b", b"a", b"fill0", b"fill1", b"fill2"):
        value = FILL if key.startswith(b"fill") else b"1"
        offset = topic.append((key, value))
        acknowledgements.append(acknowledged(topic.batches()[-1], offset))
    offset = topic.append((b"c", b"1"), (b"c", b"2"))
    acknowledgements.append(acknowledged(topic.batches()[-1], offset))
    topic.fill()
    topic.advance()
    log = topic.partition.log
    assert log.segments is not None
    stored_log = StoredLog("t", 0, log.log_end_offset, topic.batches(), log.segments.cleaned)
    result = compare(acknowledgements, [(KEY, stored_log)])
    assert result.findings == []
    assert (result.removed, result.covered) == (3, 4)

    lost = [batch for batch in topic.batches() if records.read_header(batch, 0).base_offset != 1]
    result = compare(acknowledgements, [(KEY, stored_log._replace(batches=lost))])
    assert [finding.base_offset for finding in result.findings] == [1]


def test_sequences_of_a_compacted_batch_are_all_stored() -> None:
    topic = CleanedTopic()
    topic.append((b"a", b"1"), (b"b", b"1"), producer=(7, 0, 0))
    topic.append((b"b", b"2"), (b"a", b"2"), producer=(7, 0, 2))
    topic.append((b"a", b"3"))
    duplicate = acknowledged(topic.batches()[1], -1, is_append=False)
    topic.fill()
    topic.advance()
    log = topic.partition.log
    assert log.segments is not None
    stored_log = StoredLog("t", 0, log.log_end_offset, topic.batches(), log.segments.cleaned)
    result = compare([duplicate], [(KEY, stored_log)])
    assert (result.findings, result.covered) == ([], 1)
