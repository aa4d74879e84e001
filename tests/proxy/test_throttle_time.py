"""The longer throttle time counts: that of the cluster, or that of the proxy."""

from typing import Any

import pytest

from protocol import codec, messages
from protocol.api_keys import ApiKey
from proxy.throttle_time import with_throttle_time
from tests.broker.cluster_builder import make_context


def metadata(throttle_time_ms: int) -> Any:
    return messages.MetadataResponse(
        version=9, throttle_time_ms=throttle_time_ms, brokers=[], topics=[]
    )


def produce(throttle_time_ms: int) -> Any:
    return messages.ProduceResponse(version=9, responses=[], throttle_time_ms=throttle_time_ms)


@pytest.mark.parametrize(("clusters", "own", "sent"), [(0, 70, 70), (90, 70, 90)])
@pytest.mark.parametrize(("key", "of"), [(ApiKey.METADATA, metadata), (ApiKey.PRODUCE, produce)])
def test_the_longer_throttle_time_is_sent(
    key: ApiKey, of: Any, clusters: int, own: int, sent: int
) -> None:
    context = make_context(key, 9)
    context.throttle_time_ms = own
    frame = codec.encode_response(1, key, 9, of(clusters))
    changed = codec.decode_response(with_throttle_time(context, frame), key, 9)
    assert changed.throttle_time_ms == sent


def test_a_response_without_the_field_stays() -> None:
    context = make_context(ApiKey.SASL_HANDSHAKE, 1)
    context.throttle_time_ms = 70
    assert with_throttle_time(context, b"any bytes") == b"any bytes"
