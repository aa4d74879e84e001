"""KIP-599 over the wire, with a clock moved by the test."""

from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster
from tests.broker.connection_driver import Client, request_frame

OK, EXCEEDED = ErrorCode.NONE, ErrorCode.THROTTLING_QUOTA_EXCEEDED
HOUR_MS = 3_600_000


def quota_cluster(rate: float, sample_count: int, user: str = "ANONYMOUS") -> Cluster:
    return make_cluster(
        1,
        **{
            "client.quotas": f"user={user},controller_mutation_rate={rate}",
            "controller.quota.window.num": str(sample_count),
        },
    )


def ask(cluster: Cluster, request: Any, version: int, now_ms: int) -> Any:
    """Send a request over a new connection and decode the immediate response."""
    client = Client(cluster)
    client.send(request_frame(request, version, 7), now_ms)
    assert client.bugs == []
    is_tagged = type(request).flexible_version_q(version)
    body = client.written[9 if is_tagged else 8 :]
    return messages.response_class(request.API_KEY).decode(body, version=version)


def codes(responses: list[Any]) -> list[int]:
    return [response.error_code for response in responses]


def create(
    cluster: Cluster, topics: dict[str, int], version: int = 7, now_ms: int = NOW_MS, **rest: Any
) -> tuple[list[int], int]:
    """Return error codes by topic in request order, and throttle_time_ms."""
    request = messages.CreateTopicsRequest(
        version=version,
        topics=[
            messages.CreateTopicsRequest.CreatableTopic(
                name=name,
                num_partitions=partition_count,
                replication_factor=1,
                assignments=[],
                configs=[],
            )
            for name, partition_count in topics.items()
        ],
        timeout_ms=1000,
        **rest,
    )
    response = ask(cluster, request, version, now_ms)
    return codes(response.topics), response.throttle_time_ms


def delete(
    cluster: Cluster, names: list[str], version: int, now_ms: int = NOW_MS
) -> tuple[list[int], int]:
    state = messages.DeleteTopicsRequest.DeleteTopicState
    fields: dict[str, Any] = {"topic_names": names}
    if version >= 6:
        fields = {"topics": [state(version=version, name=name) for name in names]}
    request = messages.DeleteTopicsRequest(version=version, timeout_ms=1000, **fields)
    response = ask(cluster, request, version, now_ms)
    return codes(response.responses), response.throttle_time_ms


def grow(
    cluster: Cluster, counts: dict[str, int], version: int, now_ms: int = NOW_MS, **rest: Any
) -> tuple[list[int], int]:
    topic = messages.CreatePartitionsRequest.CreatePartitionsTopic
    request = messages.CreatePartitionsRequest(
        version=version,
        topics=[topic(name=name, count=n, assignments=None) for name, n in counts.items()],
        timeout_ms=1000,
        **rest,
    )
    response = ask(cluster, request, version, now_ms)
    return codes(response.results), response.throttle_time_ms


def test_the_worked_example_of_the_kip() -> None:
    cluster = quota_cluster(5, 100)
    seven = {f"topic-{number}": 80 for number in range(7)}

    assert create(cluster, seven) == ([OK] * 7, 0)
    assert create(cluster, {"next": 80}) == ([EXCEEDED], 12_000)
    assert create(cluster, {"next": 80}, now_ms=NOW_MS + 11_999) == ([EXCEEDED], 1)
    assert create(cluster, {"next": 80}, now_ms=NOW_MS + 12_000) == ([OK], 0)
    assert len(list(cluster.topics.all())) == 8


@pytest.mark.parametrize("version", range(2, 8))
def test_creating_two_topics_of_thirty_partitions(version: int) -> None:
    cluster = quota_cluster(2, 10)
    two = {"a": 30, "b": 30}
    if version < 6:
        assert create(cluster, two, version) == ([OK, OK], 20_000)
        return

    assert create(cluster, two, version) == ([OK, EXCEEDED], 5000)
    assert create(cluster, {"b": 30}, version, NOW_MS + 5000) == ([OK], 0)


@pytest.mark.parametrize("version", range(1, 7))
def test_deleting_two_topics_of_thirty_partitions(version: int) -> None:
    cluster = quota_cluster(2, 10)
    for name in ("a", "b"):
        cluster.create_topic(name, [(1,)] * 30, {})
    if version < 5:
        assert delete(cluster, ["a", "b"], version) == ([OK, OK], 20_000)
        return

    assert delete(cluster, ["a", "b"], version) == ([OK, EXCEEDED], 5000)
    assert [topic.name for topic in cluster.topics.all()] == ["b"]
    assert delete(cluster, ["b"], version, NOW_MS + 5000) == ([OK], 0)


@pytest.mark.parametrize("version", range(4))
def test_growing_two_topics_by_thirty_partitions(version: int) -> None:
    cluster = quota_cluster(2, 10)
    for name in ("a", "b"):
        cluster.create_topic(name, [(1,)], {})
    two = {"a": 31, "b": 31}
    if version < 3:
        assert grow(cluster, two, version) == ([OK, OK], 20_000)
        return

    assert grow(cluster, two, version) == ([OK, EXCEEDED], 5000)
    assert [len(topic.partitions) for topic in cluster.topics.all()] == [31, 1]
    assert grow(cluster, {"b": 31}, version, NOW_MS + 5000) == ([OK], 0)


def test_a_user_without_a_quota_is_not_throttled() -> None:
    cluster = quota_cluster(2, 10, user="other")

    assert create(cluster, {"a": 30, "b": 30}) == ([OK, OK], 0)
    assert grow(cluster, {"a": 60, "b": 60}, 3) == ([OK, OK], 0)
    assert delete(cluster, ["a", "b"], 6) == ([OK, OK], 0)


def test_a_refusal_has_the_standard_text_and_no_counts() -> None:
    cluster = quota_cluster(1, 1)
    create(cluster, {"a": 100})
    topic = messages.CreateTopicsRequest.CreatableTopic(
        name="b", num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    request = messages.CreateTopicsRequest(version=7, topics=[topic], timeout_ms=1000)
    (refused,) = ask(cluster, request, 7, NOW_MS).topics

    assert refused.error_message == "The throttling quota has been exceeded."
    assert (refused.num_partitions, refused.replication_factor) == (-1, -1)
    assert cluster.topics.get("b") is None


def test_a_refusal_affects_no_other_topic_and_invalid_topics_are_not_charged() -> None:
    cluster = quota_cluster(2, 10)
    create(cluster, {"here": 1})
    responses, throttle_ms = create(cluster, {"here": 5, "a": 30, "..": 5, "b": 1, "c": 1})

    assert responses == [
        ErrorCode.TOPIC_ALREADY_EXISTS,
        OK,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        EXCEEDED,
        EXCEEDED,
    ]
    assert throttle_ms == 5500


def test_validate_only_is_not_charged_and_never_refused() -> None:
    cluster = quota_cluster(1, 1)
    for _ in range(3):
        assert create(cluster, {"a": 100}, validate_only=True) == ([OK], 0)
    create(cluster, {"here": 100})
    assert create(cluster, {"a": 1}) == ([EXCEEDED], 99_000)

    assert create(cluster, {"a": 1}, validate_only=True) == ([OK], 0)
    assert grow(cluster, {"here": 200}, 3, validate_only=True) == ([OK], 0)
    assert create(cluster, {"a": 1}) == ([EXCEEDED], 99_000)


def test_all_kinds_of_changes_share_one_bucket() -> None:
    cluster = quota_cluster(1, 10)
    create(cluster, {"a": 4})
    grow(cluster, {"a": 8}, 3)

    assert delete(cluster, ["a"], 6) == ([OK], 0)
    assert create(cluster, {"b": 1}) == ([EXCEEDED], 6000)


def auto_create(cluster: Cluster, name: str, now_ms: int = NOW_MS) -> list[int]:
    topic = messages.MetadataRequest.MetadataRequestTopic(version=12, name=name)
    request = messages.MetadataRequest(version=12, topics=[topic], allow_auto_topic_creation=True)
    response = ask(cluster, request, 12, now_ms)
    assert response.throttle_time_ms == 0
    return codes(response.topics)


def test_an_auto_created_topic_is_charged_and_created_later_when_refused() -> None:
    cluster = quota_cluster(1, 1)
    missing = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    create(cluster, {"first": 3})

    assert auto_create(cluster, "a") == missing
    assert auto_create(cluster, "a", NOW_MS + 1999) == missing
    assert cluster.topics.get("a") is None
    assert auto_create(cluster, "a", NOW_MS + 2000) == missing
    assert auto_create(cluster, "a", NOW_MS + 2000) == [OK]
    assert create(cluster, {"b": 1}, now_ms=NOW_MS + 2000) == ([EXCEEDED], 1000)


@pytest.mark.slow
def test_a_burst_of_topics_is_admitted_at_the_rate_of_the_quota() -> None:
    """Ten requests a second, each of fifty topics of four partitions, as in the KIP's motivation.

    The client's connection is muted for its throttle time, then it sends the rest.
    """
    rate, burst, per_topic = 1, 11, 4
    cluster = quota_cluster(rate, 11)
    storm = [f"topic-{number}" for number in range(18 * 50)]
    created, now_ms, sent = 0, 0, 0
    refused: list[str] = []
    while len(refused) + len(storm) - sent > 0:
        has_arrived = min(len(storm), (now_ms // 100 + 1) * 50)
        while len(refused) < 50 and sent < has_arrived:
            refused.append(storm[sent])
            sent += 1
        batch, rest = refused[:50], refused[50:]
        responses, throttle_ms = create(
            cluster, dict.fromkeys(batch, per_topic), now_ms=NOW_MS + now_ms
        )
        assert set(responses) <= {OK, EXCEEDED}
        assert responses[0] == OK, "refused again after its throttle time"
        created += responses.count(OK)
        assert created * per_topic <= rate * now_ms / 1000 + burst + per_topic
        refused = [n for n, code in zip(batch, responses, strict=True) if code == EXCEEDED] + rest
        assert (throttle_ms > 0) == (EXCEEDED in responses)
        now_ms += throttle_ms or 100

    assert created == len(storm) == len(list(cluster.topics.all()))
    assert now_ms > 0.99 * HOUR_MS
