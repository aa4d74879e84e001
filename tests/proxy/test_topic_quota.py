"""The proxy's quota of topic changes refuses, delays and mutes as that of a broker."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import codec, messages
from protocol.api_keys import ApiKey
from tests.proxy.proxied_client import ProxiedClient
from tests.proxy.quota_requests import MUTATIONS, Both, create, delete, grow


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


@pytest.mark.parametrize("has_quota", [False, True])
def test_requests_about_topics_take_another_request_only_under_a_quota(has_quota: bool) -> None:
    client = ProxiedClient(**({"client.quotas": MUTATIONS} if has_quota else {}))
    client.ask(create(("t", 1)), 7)
    assert client.passed_on == [ApiKey.CREATE_TOPICS] * (1 + has_quota)


def described(*names: str, version: int = 9, may_create: bool = True) -> Any:
    topic = messages.MetadataRequest.MetadataRequestTopic
    return messages.MetadataRequest(
        version=version,
        topics=[topic(version=version, topic_id=None, name=name) for name in names],
        allow_auto_topic_creation=may_create,
    )


def test_topics_that_metadata_creates_are_charged_as_by_a_broker_with_the_quota() -> None:
    both = Both(MUTATIONS)
    both.ask(create(("z", 53)), 7)
    for names in (("a", "b"), ("c", "x y", "a"), ("d", "e"), ("d", "e"), ("f",), ("a", "g", "h")):
        own, proxied = (
            codec.decode_response(frame, ApiKey.METADATA, 9)
            for frame in both.ask(described(*names), 9)
        )
        assert without_addresses(own) == without_addresses(proxied)
        created, created_behind_proxy = (
            {topic.name for topic in cluster.topics.all()}
            for cluster in (both.own.cluster, both.proxied.broker.cluster)
        )
        assert created == created_behind_proxy
    assert "a" in created
    assert "h" not in created
    both.ask(create(("last", 1)), 7)  # it is muted for as long


def without_addresses(response: Any) -> Any:
    return [(topic.name, topic.error_code, len(topic.partitions)) for topic in response.topics]


@pytest.mark.parametrize(
    ("request_of", "version", "overrides", "passed_on"),
    [
        (lambda: described("a"), 9, {}, 3),
        (lambda: described("t"), 9, {}, 1),
        (lambda: described("a", may_create=False), 9, {}, 1),
        (lambda: described("a", version=3), 3, {}, 1),
        (lambda: described("a"), 9, {"auto.create.topics.enable": "false"}, 1),
    ],
)
def test_metadata_takes_other_requests_only_for_missing_topics(
    request_of: Callable[[], Any], version: int, overrides: dict[str, str], passed_on: int
) -> None:
    client = ProxiedClient(**{"client.quotas": MUTATIONS, **overrides})
    client.cluster.create_topic("t", [(1,)], {})
    client.ask(request_of(), version)
    assert len(client.passed_on) == passed_on
