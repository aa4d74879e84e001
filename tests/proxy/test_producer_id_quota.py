"""The proxy's quota of producer ids refuses, delays and mutes as that of a broker."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from protocol import codec
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.proxy.proxied_client import ProxiedClient
from tests.proxy.quota_requests import HOUR_MS, IDS, Both, codes, produce


def test_the_third_new_id_is_refused_and_the_client_muted() -> None:
    client = ProxiedClient(**{"client.quotas": IDS})
    client.cluster.create_topic("t", [(1,)] * 3, {})
    assert codes(client.ask(produce((0, 1, 0), (1, 2, 0)), 9)) == [0, 0]
    response = client.ask(produce((0, 3, 0), (1, 2, 1)), 9)
    assert codes(response) == [ErrorCode.THROTTLING_QUOTA_EXCEEDED, 0]
    assert response.throttle_time_ms == client.muted_ms == HOUR_MS // 2
    assert client.cluster.topics.get("t").partitions[0].log.log_end_offset == 1  # type: ignore[union-attr]


def test_a_refused_batch_without_acknowledgement_ends_the_connection() -> None:
    client = ProxiedClient(**{"client.quotas": "user=<default>,producer_ids_rate=1"})
    client.cluster.create_topic("t", [(1,)] * 3, {})
    assert codes(client.ask(produce((0, 1, 0)), 9)) == [0]
    assert client.send(produce((0, 2, 0), (1, 1, 0), acks=0), 9) == b""
    assert client.client.close_reason == "Produce with acks=0 failed: THROTTLING_QUOTA_EXCEEDED"
    assert client.cluster.topics.get("t").partitions[1].log.log_end_offset == 1  # type: ignore[union-attr]


ID_REQUESTS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 6)), min_size=1, max_size=3),
        st.sampled_from((0, 1, 500, 900_000, HOUR_MS)),
    ),
    max_size=8,
)


@given(ID_REQUESTS)
def test_producer_ids_are_refused_as_by_a_broker_with_the_quota(
    requests: list[tuple[list[tuple[int, int]], int]],
) -> None:
    both = Both(IDS)
    sequences: Counter[tuple[int, int]] = Counter()
    for parts, after_ms in requests:
        batches = [(*part, sequences[part]) for part in dict(parts).items()]
        own, proxied = both.ask(produce(*batches), 9, after_ms)
        assert own == proxied
        found = codes(codec.decode_response(own, ApiKey.PRODUCE, 9))
        sequences.update(batch[:2] for batch, code in zip(batches, found, strict=True) if not code)
