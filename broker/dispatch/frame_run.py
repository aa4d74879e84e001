"""Handle the Produce requests for several partitions that stand behind each other in one read."""

from struct import Struct

from broker.cluster.cluster import Cluster
from broker.produce.batch_layout import IsKnownProducer
from broker.produce.fitting_batches import fitting_batches, store_fitting
from broker.produce.request_shape import RequestShape
from protocol.framing import SIZE_BYTES
from protocol.produce_template import API_BYTES, correlation_id_of

_unpack_size = Struct(">i").unpack_from


def append_frames(
    cluster: Cluster,
    shape: RequestShape,
    data: bytes,
    now_ms: int,
    responses: list[bytes],
    is_known_producer: IsKnownProducer | None,
) -> int:
    """Handle the requests at the beginning of `data`; return where others begin.

    It stops at the first request that is not complete, has no layout or is unusual. The caller has
    made sure that nothing but logs and the producer's state has to change. `is_known_producer` is
    as in `RequestRun.respond_to_one`.
    """
    layouts, api, response = shape.layouts, shape.api, shape.response
    position, data_end = 0, len(data)
    while data_end - position > SIZE_BYTES:
        start = position + SIZE_BYTES
        size = _unpack_size(data, position)[0]
        end = start + size
        if size not in layouts or end > data_end or data[start : start + API_BYTES] != api:
            break
        batches = fitting_batches(shape, data, start, end, now_ms, is_known_producer)
        if batches is None:
            break
        start_offsets = store_fitting(cluster, shape, batches, size, now_ms)
        if shape.acks:
            correlation_id = correlation_id_of(data, start)
            responses.append(
                response.encode(correlation_id, batches.base_offsets, start_offsets, 0)
            )
        position = end
    return position
