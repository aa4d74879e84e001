"""The response to a Fetch is the same with and without the schema's codec."""

import pytest

from broker.fetch import fetch_response
from broker.fetch.fetch_response import respond
from broker.fetch.partition_read import read_partitions
from broker.produce.append import append_batch
from protocol.api_keys import ApiKey
from protocol.codec import encode_body
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context
from tests.broker.fetch.fetches import make_fetch


@pytest.mark.parametrize("version", range(4, 19))
def test_a_response_has_the_bytes_of_the_message(version: int) -> None:
    cluster = make_cluster(1)
    topic = cluster.create_topic("t", [(1,)] * 2, {})
    batch = make_batch(b"v")
    context = make_context(ApiKey.PRODUCE, 9)
    append_batch(context, cluster, topic, topic.partitions[1], batch, 0, len(batch))
    bodies = []
    for is_by_hand in (True, False):
        fetch = make_fetch(cluster, 0, 1, version=version)
        read = read_partitions(cluster, fetch.params, fetch.known, is_in_session=False)
        with pytest.MonkeyPatch.context() as patch:
            if not is_by_hand:
                patch.setattr(fetch_response, "encode_sent", lambda *_arguments: None)
            response = respond(fetch, read.partitions, NOW_MS)
        is_body = isinstance(response, bytes | bytearray)
        assert is_body is is_by_hand
        bodies.append(bytes(response if is_body else encode_body(response, version)))

    assert bodies[0] == bodies[1]
    assert batch[61:] in bodies[0]
