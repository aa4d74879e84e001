"""Requests with our broker's ids in place of those of the real cluster."""

from uuid import UUID

from protocol import messages
from protocol.batch_builder import BatchBuilder, stamp_producer
from protocol.records import has_valid_crc, read_header
from proxy.diff.id_map import IdMap
from proxy.diff.request_ids import batches_with_our_ids, with_our_ids


def test_batches_get_our_producer_and_a_valid_checksum() -> None:
    builder = BatchBuilder("none", 1 << 20)
    builder.append(1, b"k", b"v", ())
    batch = stamp_producer(builder.build(), 1000, 4, 0)
    ids = IdMap()
    ids.pair("producer_id", 1000, 1)
    ids.pair("producer_epoch", 4, 0, 1000)
    changed = batches_with_our_ids(batch, ids)
    header = read_header(changed, 0)
    assert (header.producer_id, header.producer_epoch) == (1, 0)
    assert has_valid_crc(changed, 0, len(changed), header.crc)


def test_bytes_that_are_no_batch_stay() -> None:
    assert batches_with_our_ids(b"no batch", IdMap()) == b"no batch"


def test_generations_belong_to_a_member() -> None:
    ids = IdMap()
    ids.pair("generation", 9, 2, ("g", "real"))
    ids.pair("member_id", "real", "ours")
    request = messages.HeartbeatRequest(
        version=4, group_id="g", generation_id=9, member_id="real", group_instance_id=None
    )
    changed = with_our_ids(request, ids)
    assert (changed.generation_id, changed.member_id) == (2, "ours")


def test_topic_ids_are_replaced_at_any_depth() -> None:
    real, ours = UUID(int=1), UUID(int=2)
    ids = IdMap()
    ids.pair("topic_id", str(real), str(ours))
    topic = messages.MetadataRequest.MetadataRequestTopic(topic_id=real, name=None)
    request = messages.MetadataRequest(version=12, topics=[topic])
    assert with_our_ids(request, ids).topics[0].topic_id == ours
