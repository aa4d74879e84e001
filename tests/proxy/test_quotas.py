"""The proxy's quotas refuse, delay and mute as those of a broker that has them."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import make_cluster
from tests.broker.connection_driver import Client, request_frame
from tests.produce_requests import produce_request
from tests.proxy.proxied_client import ProxiedClient

IDS = "user=<default>,producer_ids_rate=2"
MUTATIONS = "user=<default>,controller_mutation_rate=5"
HOUR_MS = 3_600_000
_Creatable = messages.CreateTopicsRequest.CreatableTopic


def create(*topics: tuple[str, int], version: int = 7, validate_only: bool = False) -> Any:
    return messages.CreateTopicsRequest(
        version=version,
        topics=[
            _Creatable(
                name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[]
            )
            for name, count in topics
        ],
        timeout_ms=1000,
        validate_only=validate_only,
    )


def delete(*names: str, version: int = 6) -> Any:
    if version < 6:
        return messages.DeleteTopicsRequest(
            version=version, topic_names=list(names), timeout_ms=1000
        )
    topic = messages.DeleteTopicsRequest.DeleteTopicState
    return messages.DeleteTopicsRequest(
        version=version,
        topics=[topic(version=version, name=name, topic_id=None) for name in names],
        timeout_ms=1000,
    )


def grow(name: str, count: int, version: int = 3) -> Any:
    topic = messages.CreatePartitionsRequest.CreatePartitionsTopic
    return messages.CreatePartitionsRequest(
        version=version,
        topics=[topic(version=version, name=name, count=count, assignments=None)],
        timeout_ms=1000,
        validate_only=False,
    )


def produce(*parts: tuple[int, int, int], acks: int = -1) -> Any:
    """A batch for each (partition, producer id, base sequence); -1 is for no producer id."""
    batches = [
        (
            index,
            make_batch(
                b"x",
                producer_id=producer_id,
                producer_epoch=0 if producer_id >= 0 else -1,
                base_sequence=sequence if producer_id >= 0 else -1,
            ),
        )
        for index, producer_id, sequence in parts
    ]
    return produce_request(batches, version=9, acks=acks)


class Both:
    """A broker with a quota, and a proxy with it in front of a broker that has none."""

    def __init__(self, quotas: str) -> None:
        self.own = Client(make_cluster(1, **{"client.quotas": quotas}))
        self.proxied = ProxiedClient(**{"client.quotas": quotas})
        for cluster in (self.own.cluster, self.proxied.cluster):
            cluster.create_topic("t", [(1,)] * 3, {})

    def ask(self, request: Any, version: int, after_ms: int = 0) -> tuple[Any, Any]:
        """Send a request to both, once neither is muted; return the responses of both."""
        muted_until_ms = self.own.connection.muted_until_ms
        self.proxied.now_ms = now_ms = max(self.proxied.now_ms + after_ms, muted_until_ms)
        self.own.settle(now_ms)
        self.proxied.client.settle(now_ms)
        self.own.written = b""
        self.own.send(request_frame(request, version, 7), now_ms)
        proxied = self.proxied.send(request, version)
        assert self.own.connection.muted_until_ms == self.proxied.client.connection.muted_until_ms
        return self.own.written, proxied


def test_the_third_new_id_is_refused_and_the_client_muted() -> None:
    client = ProxiedClient(**{"client.quotas": IDS})
    client.cluster.create_topic("t", [(1,)] * 3, {})
    assert codes(client.ask(produce((0, 1, 0), (1, 2, 0)), 9)) == [0, 0]
    response = client.ask(produce((0, 3, 0), (1, 2, 1)), 9)
    assert codes(response) == [ErrorCode.THROTTLING_QUOTA_EXCEEDED, 0]
    assert response.throttle_time_ms == client.muted_ms == HOUR_MS // 2
    assert client.cluster.topics.get("t").partitions[0].log.log_end_offset == 1  # type: ignore[union-attr]


def codes(response: Any) -> list[int]:
    (topic,) = response.responses
    return [part.error_code for part in topic.partition_responses]


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


@st.composite
def topic_requests(draw: st.DrawFn) -> tuple[Any, int]:
    name = st.sampled_from(("a", "b", "c", "d"))
    kind = draw(st.sampled_from(("create", "delete", "grow")))
    if kind == "create":
        version = draw(st.sampled_from((2, 5, 6, 7)))
        topics = draw(
            st.lists(
                st.tuples(name, st.integers(1, 40)),
                min_size=1,
                max_size=3,
                unique_by=lambda t: t[0],
            )
        )
        validate_only = draw(st.booleans()) and draw(st.booleans())
        return create(*topics, version=version, validate_only=validate_only), version
    if kind == "delete":
        version = draw(st.sampled_from((1, 4, 5, 6)))
        return delete(*draw(st.lists(name, min_size=1, unique=True)), version=version), version
    version = draw(st.sampled_from((0, 2, 3)))
    return grow(draw(name), draw(st.integers(1, 60)), version), version


@given(
    st.lists(st.tuples(topic_requests(), st.sampled_from((0, 0, 100, 3_000, 11_000))), max_size=8)
)
def test_topic_changes_are_charged_as_by_a_broker_with_the_quota(
    requests: list[tuple[tuple[Any, int], int]],
) -> None:
    both = Both(MUTATIONS)
    for (request, version), after_ms in requests:
        api_key = ApiKey(request.API_KEY)
        found = [
            codec.decode_response(frame, api_key, version)
            for frame in both.ask(request, version, after_ms)
        ]
        assert without_topic_ids(found[0]) == without_topic_ids(found[1])


def without_topic_ids(response: Any) -> Any:
    """A topic that is checked first with `validate_only` takes another id."""
    for field in ("topics", "responses"):
        for entry in getattr(response, field, ()):
            entry.topic_id = None
    return response


def test_shadow_mode_counts_and_refuses_nothing() -> None:
    client = ProxiedClient(
        **{"client.quotas": f"{IDS},controller_mutation_rate=1", "client.quota.shadow": "true"}
    )
    client.cluster.create_topic("t", [(1,)] * 3, {})
    for producer_id in range(1, 6):
        assert codes(client.ask(produce((0, producer_id, 0)), 9)) == [0]
    for name in ("u", "v", "w"):
        assert not client.ask(create((name, 30)), 7).topics[0].error_code
    assert client.muted_ms == 0
    counted = client.mirror.quotas.shadow.rows(client.now_ms)
    assert {key.quota for key, _ in counted} == {
        "producer_ids_rate",
        "controller_mutation_rate",
    }


def alter(**values: float | None) -> Any:
    entry = messages.AlterClientQuotasRequest.EntryData
    return messages.AlterClientQuotasRequest(
        version=1,
        entries=[
            entry(
                version=1,
                entity=[entry.EntityData(version=1, entity_type="user", entity_name="alice")],
                ops=[
                    entry.OpData(version=1, key=key, value=value or 0.0, remove=value is None)
                    for key, value in values.items()
                ],
            )
        ],
        validate_only=False,
    )


def described(client: ProxiedClient) -> dict[str, float]:
    request = messages.DescribeClientQuotasRequest(version=1, components=[], strict=False)
    entries = client.ask(request, 1).entries
    return {value.key: value.value for entry in entries for value in entry.values}


def test_the_proxy_keeps_its_keys_and_the_cluster_the_others() -> None:
    client = ProxiedClient()
    response = client.ask(alter(producer_ids_rate=7, producer_byte_rate=1000), 1)
    assert [entry.error_code for entry in response.entries] == [0]
    assert described(client) == {"producer_ids_rate": 7, "producer_byte_rate": 1000}
    clusters = client.cluster.quotas.clients.describe((), strict=False)
    assert [values for _, values in clusters] == [{"producer_byte_rate": 1000}]  # type: ignore[union-attr]
    client.ask(alter(producer_ids_rate=None), 1)
    assert described(client) == {"producer_byte_rate": 1000}


def test_a_value_that_is_invalid_for_the_proxy_is_refused() -> None:
    client = ProxiedClient()
    (entry,) = client.ask(alter(controller_mutation_rate=-1), 1).entries
    assert entry.error_code == ErrorCode.INVALID_REQUEST
    assert described(client) == {}


@pytest.mark.parametrize("has_quota", [False, True])
def test_requests_about_topics_take_another_request_only_under_a_quota(has_quota: bool) -> None:
    client = ProxiedClient(**({"client.quotas": MUTATIONS} if has_quota else {}))
    client.ask(create(("t", 1)), 7)
    assert client.passed_on == [ApiKey.CREATE_TOPICS] * (1 + has_quota)
