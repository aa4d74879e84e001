from uuid import UUID

import pytest

from broker.administration.deletion import (
    NO_TOPIC_ID,
    RequestedTopic,
    check_enabled,
    find_topics,
    needs_lookup,
)
from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.errors import Refusal
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import make_cluster, make_context

CONTEXT = make_context(ApiKey.DELETE_TOPICS, 6)
ID_A, ID_B, ID_NOBODY = UUID(int=1), UUID(int=2), UUID(int=99)


def cluster_with_a_and_b() -> Cluster:
    cluster = make_cluster()
    for name in ("a", "b"):
        cluster.create_topic(name, [(1,)], {})
    return cluster


def outcomes(*requested: RequestedTopic) -> list[tuple[str | None, UUID, str]]:
    """Return name, id, and either "deleted" or the error's name."""
    return [
        (
            found.name,
            found.topic_id,
            "deleted" if isinstance(found.outcome, Topic) else found.outcome.error_code.name,
        )
        for found in find_topics(CONTEXT, cluster_with_a_and_b(), requested)
    ]


def test_a_topic_is_found_by_name_or_by_id_and_the_result_has_both() -> None:
    assert outcomes(RequestedTopic("b"), RequestedTopic(None, ID_A)) == [
        ("b", ID_B, "deleted"),
        ("a", ID_A, "deleted"),
    ]


def test_a_missing_topic_is_reported_by_the_requested_name_or_id() -> None:
    assert outcomes(RequestedTopic("missing"), RequestedTopic(None, ID_NOBODY)) == [
        ("missing", NO_TOPIC_ID, "UNKNOWN_TOPIC_OR_PARTITION"),
        (None, ID_NOBODY, "UNKNOWN_TOPIC_ID"),
    ]


@pytest.mark.parametrize("copies", [2, 3])
def test_a_topic_that_occurs_several_times_is_refused_once(copies: int) -> None:
    assert outcomes(*[RequestedTopic("a")] * copies, RequestedTopic("b")) == [
        ("a", NO_TOPIC_ID, "INVALID_REQUEST"),
        ("b", ID_B, "deleted"),
    ]
    assert outcomes(*[RequestedTopic(None, ID_A)] * copies, RequestedTopic(None, ID_B)) == [
        (None, ID_A, "INVALID_REQUEST"),
        ("b", ID_B, "deleted"),
    ]


def test_a_repeated_topic_is_refused_with_the_reason() -> None:
    requested = [RequestedTopic("a"), RequestedTopic(None, ID_B)] * 2

    messages = [
        found.outcome.message
        for found in find_topics(CONTEXT, cluster_with_a_and_b(), requested)
        if isinstance(found.outcome, Refusal)
    ]

    assert messages == ["Duplicate topic name.", "Duplicate topic id."]


def test_a_topic_with_both_name_and_id_or_neither_is_refused_alone() -> None:
    assert outcomes(RequestedTopic("a", ID_A), RequestedTopic(None), RequestedTopic("a")) == [
        ("a", ID_A, "INVALID_REQUEST"),
        (None, NO_TOPIC_ID, "INVALID_REQUEST"),
        ("a", ID_A, "deleted"),
    ]
    assert outcomes(RequestedTopic("a", ID_A), RequestedTopic(None, ID_A)) == [
        ("a", ID_A, "INVALID_REQUEST"),
        ("a", ID_A, "deleted"),
    ]


@pytest.mark.parametrize("name_first", [True, False])
def test_a_topic_named_both_by_name_and_by_id_is_refused_once(*, name_first: bool) -> None:
    requested = [RequestedTopic("a"), RequestedTopic(None, ID_A)]

    found = outcomes(*(requested if name_first else reversed(requested)), RequestedTopic("b"))

    assert found == [("a", ID_A, "INVALID_REQUEST"), ("b", ID_B, "deleted")]


@pytest.mark.parametrize(
    ("api_version", "refusal"),
    [
        (2, Refusal(ErrorCode.INVALID_REQUEST, "Topic deletion is disabled.")),
        (3, Refusal(ErrorCode.TOPIC_DELETION_DISABLED, None)),
    ],
)
def test_deletion_can_be_disabled(api_version: int, refusal: Refusal) -> None:
    assert check_enabled(make_cluster(), api_version) is None
    assert check_enabled(make_cluster(**{"delete.topic.enable": "false"}), api_version) == refusal


@pytest.mark.parametrize(
    ("requested", "expected"),
    [
        ([], False),
        ([RequestedTopic("a")], True),
        ([RequestedTopic(None, ID_A)], True),
        ([RequestedTopic("a"), RequestedTopic("a")], False),
        ([RequestedTopic("a"), RequestedTopic("a"), RequestedTopic("b")], True),
        ([RequestedTopic(None), RequestedTopic("a", ID_A)], False),
    ],
)
def test_only_wellformed_topics_that_occur_once_are_looked_up(
    requested: list[RequestedTopic], *, expected: bool
) -> None:
    assert needs_lookup(requested) == expected
