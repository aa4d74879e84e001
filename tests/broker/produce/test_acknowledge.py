"""A batch is recorded in the context of its request with its header."""

from broker.produce.acknowledge import CLIENT_ID_LENGTH_MAX, note_batch
from protocol.api_keys import ApiKey
from protocol.records import read_header
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context


def test_an_acknowledgement_has_the_batch_header_and_the_client() -> None:
    topic = make_cluster(1).create_topic("t", [(1,)], {})
    [partition] = topic.partitions
    header = read_header(make_batch(b"a", b"b", producer_id=4, base_sequence=7), 0)
    context = make_context(ApiKey.PRODUCE, 9, client_id="c" * 1000)
    context.acknowledgements = []

    note_batch(context, topic, partition, header, 12, is_append=True)

    [noted] = context.acknowledgements
    assert (noted.topic_id, noted.topic, noted.partition) == (topic.topic_id, "t", 0)
    assert (noted.base_offset, noted.is_append, noted.crc) == (12, True, header.crc)
    assert (noted.producer_id, noted.base_sequence, noted.records_count) == (4, 7, 2)
    assert (noted.client_id, noted.time_ms) == ("c" * CLIENT_ID_LENGTH_MAX, NOW_MS)
