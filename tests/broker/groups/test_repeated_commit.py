"""The batch of a repeated commit has the bytes of one that is built from its records."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from broker.groups.group_records import offset_key, offset_value
from broker.groups.repeated_commit import RepeatedCommit
from broker.groups.requests import CommitRequest, OffsetToCommit
from protocol.batch_builder import uncompressed_batch
from protocol.coordinator_records import COORDINATOR_SEQUENCE

INT64 = st.integers(-(2**63), 2**63 - 1)
TIMES_MS = st.integers(0, 2**50)


@given(
    st.lists(st.tuples(st.sampled_from(["", "é", "x" * 126]), st.none() | st.uuids()), min_size=1),
    st.data(),
)
def test_each_batch_has_the_bytes_of_a_new_one(
    partitions: list[tuple[str, UUID | None]], data: st.DataObject
) -> None:
    planned = tuple(
        OffsetToCommit("orders", index, 0, 0, metadata, topic_id)
        for index, (metadata, topic_id) in enumerate(partitions)
    )
    commit = RepeatedCommit.of(CommitRequest("billing", planned))
    assert commit is not None
    for base_offset in range(2):
        offsets = [(data.draw(INT64), data.draw(st.integers(-1, 2**31 - 1))) for _ in planned]
        leader_epoch, now_ms = data.draw(st.integers(0, 2**31 - 1)), data.draw(TIMES_MS)
        built = commit.batch(offsets, base_offset, leader_epoch, now_ms)

        committed = commit.committed(offsets, now_ms)
        records = [(offset_key(*key), offset_value(found)) for key, found in committed]
        assert built == uncompressed_batch(
            records, base_offset, leader_epoch, now_ms, None, COORDINATOR_SEQUENCE
        )


def test_long_metadata_is_not_repeated() -> None:
    offset = OffsetToCommit("orders", 0, 0, metadata="x" * 127)
    assert RepeatedCommit.of(CommitRequest("billing", (offset,))) is None
