"""Which partitions a Fetch reads, and an incremental client's view of them."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.cluster.cluster import Cluster
from broker.fetch.fetch_context import (
    complete_request,
    open_fetch_context,
    sessionless_request,
)
from broker.handlers.k01_fetch import handle_fetch
from broker.produce.append import append_batch
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_request
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context

_Request = messages.FetchRequest
NAMES = ("t", "u", "nobody")


def topic_id(cluster: Cluster, name: str) -> UUID:
    topic = cluster.topics.get(name)
    return topic.topic_id if topic else UUID(int=(1 << 100) + NAMES.index(name))


def fetch_request(
    cluster: Cluster,
    version: int,
    fetch_offsets: dict[tuple[str, int], int],
    forgotten: Collection[tuple[str, int]] = (),
    *,
    session_id: int = 0,
    session_epoch: int = -1,
) -> Any:
    """A request as it arrives."""
    request = _Request(
        version=version,
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        isolation_level=0,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[
            _Request.FetchTopic(
                topic=name,
                topic_id=topic_id(cluster, name),
                partitions=[
                    _Request.FetchTopic.FetchPartition(
                        partition=index,
                        current_leader_epoch=-1,
                        fetch_offset=offset,
                        last_fetched_epoch=-1,
                        log_start_offset=-1,
                        partition_max_bytes=1 << 20,
                    )
                ],
            )
            for (name, index), offset in fetch_offsets.items()
        ],
        forgotten_topics_data=[
            _Request.ForgottenTopic(
                topic=name, topic_id=topic_id(cluster, name), partitions=[index]
            )
            for name, index in sorted(forgotten)
        ],
        rack_id="",
    )
    body = bytes(request.encode(version=version))
    return decode_request(ApiKey.FETCH, version, body, 0, len(body))


def two_topics() -> Cluster:
    cluster = make_cluster(1)
    for name in ("t", "u"):
        cluster.create_topic(name, [(1,), (1,)], {})
    return cluster


def append(cluster: Cluster, name: str, index: int) -> None:
    topic = cluster.topics.get(name)
    assert topic is not None
    batch = make_batch(b"x")
    partition = topic.partitions[index]
    context = make_context(ApiKey.PRODUCE, 9, broker_id=partition.leader_id)
    append_batch(context, cluster, topic, partition, batch, 0, len(batch))


PLACES = st.tuples(st.sampled_from(NAMES), st.integers(0, 2))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from(("t", "u")), st.integers(0, 1)),
        st.tuples(st.just("delete records"), st.sampled_from(("t", "u")), st.integers(0, 1)),
        st.tuples(st.just("leader"), st.sampled_from(("t", "u")), st.integers(0, 1)),
        st.tuples(st.just("add"), PLACES, st.integers(0, 3)),
        st.tuples(st.just("forget"), PLACES),
        st.tuples(st.just("consume"), PLACES),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(
    first=st.dictionaries(PLACES, st.integers(0, 1), min_size=1),
    steps=STEPS,
    version=st.sampled_from([10, 12, 13, 18]),
)
def test_a_client_that_keeps_what_it_was_sent_sees_what_full_fetches_return(
    first: dict[tuple[str, int], int], steps: list[Any], version: int
) -> None:
    cluster = two_topics()
    fetch_offsets = dict(first)
    view = View(cluster, version)
    view.fetch(fetch_offsets, set(), fetch_offsets)
    for step in steps:
        changed: dict[tuple[str, int], int] = {}
        forgotten: set[tuple[str, int]] = set()
        match step:
            case ("add", place, offset):
                changed[place] = offset
            case ("forget", place) if len(fetch_offsets) > 1:
                forgotten = {place} & fetch_offsets.keys()
            case ("consume", place) if place in fetch_offsets:
                changed[place] = max(view.seen[place][1], 0)
            case ("append", name, index):
                append(cluster, name, index)
            case ("delete records" | "leader", name, index):
                change(cluster, *step)
            case _:
                pass
        fetch_offsets |= changed
        for place in forgotten:
            del fetch_offsets[place]
        view.fetch(changed, forgotten, fetch_offsets)


def change(cluster: Cluster, kind: str, name: str, index: int) -> None:
    topic = cluster.topics.get(name)
    assert topic is not None
    partition = topic.partitions[index]
    if kind == "leader":
        partition.leader_id = -partition.leader_id
    else:
        cluster.delete_records_before(partition, partition.log.log_end_offset, NOW_MS)


class View:
    """What a client in a session knows of each partition, beside full fetches."""

    def __init__(self, cluster: Cluster, version: int) -> None:
        self.cluster = cluster
        self.version = version
        self.session_id = 0
        self.epoch = 0
        self.seen: dict[tuple[str, int], tuple[Any, ...]] = {}

    def fetch(
        self,
        changed: dict[tuple[str, int], int],
        forgotten: set[tuple[str, int]],
        fetch_offsets: dict[tuple[str, int], int],
    ) -> None:
        response = self._send(
            changed, forgotten, session_id=self.session_id, session_epoch=self.epoch
        )
        assert response.error_code == ErrorCode.NONE
        assert response.session_id > 0
        assert self.session_id in {0, response.session_id}
        self.session_id, self.epoch = response.session_id, self.epoch + 1
        # What is not sent has not changed, and has no records.
        self.seen = {
            place: (*state[:-1], b"")
            for place, state in self.seen.items()
            if place not in forgotten
        }
        self.seen |= self._by_place(response)
        full = self._by_place(self._send(fetch_offsets, set()))
        assert self.seen == full

    def _send(
        self,
        fetch_offsets: dict[tuple[str, int], int],
        forgotten: set[tuple[str, int]],
        session_id: int = 0,
        session_epoch: int = -1,
    ) -> Any:
        request = fetch_request(
            self.cluster,
            self.version,
            fetch_offsets,
            forgotten,
            session_id=session_id,
            session_epoch=session_epoch,
        )
        return answer(self.cluster, self.version, request)

    def _by_place(self, response: Any) -> dict[tuple[str, int], tuple[Any, ...]]:
        by_id = {topic_id(self.cluster, name): name for name in NAMES}
        return {
            (topic.topic or by_id[topic.topic_id], partition.partition_index): (
                partition.error_code,
                partition.high_watermark,
                partition.log_start_offset,
                partition.records or b"",
            )
            for topic in response.responses
            for partition in topic.partitions
        }


def names(request: Any) -> list[tuple[Any, int]]:
    return [
        (topic.topic or topic.topic_id, partition.partition)
        for topic in request.topics
        for partition in topic.partitions
    ]


def answer(cluster: Cluster, version: int, request: Any) -> Any:
    """Return the decoded response of the handler."""
    response = handle_fetch(make_context(ApiKey.FETCH, version), request, cluster)
    body = response if isinstance(response, bytes) else bytes(response.encode(version=version))
    return messages.FetchResponse.decode(body, version=version)


def open_session(cluster: Cluster, version: int, fetch_offsets: dict[tuple[str, int], int]) -> int:
    request = fetch_request(cluster, version, fetch_offsets, session_epoch=0)
    response = answer(cluster, version, request)
    assert isinstance(response.session_id, int)
    return response.session_id


@pytest.mark.parametrize("version", [12, 13])
def test_a_complete_request_names_the_partitions_of_its_session(version: int) -> None:
    cluster = two_topics()
    context = make_context(ApiKey.FETCH, version)
    session_id = open_session(cluster, version, {("t", 0): 0, ("t", 1): 0, ("u", 0): 0})
    request = fetch_request(
        cluster,
        version,
        {("t", 1): 5, ("u", 1): 0},
        {("u", 0)},
        session_id=session_id,
        session_epoch=1,
    )

    complete = complete_request(context, request, cluster)

    t, u = (name if version < 13 else topic_id(cluster, name) for name in ("t", "u"))
    assert names(complete) == [(t, 0), (t, 1), (u, 1)]
    assert complete.topics[0].partitions[1].fetch_offset == 5
    assert complete.session_epoch == 1
    session = cluster.fetch_sessions[1].get(session_id)
    assert session is not None
    assert len(session.partitions) == 3


def test_a_request_without_its_session_is_full_and_ends_it() -> None:
    cluster = two_topics()
    context = make_context(ApiKey.FETCH, 12)
    session_id = open_session(cluster, 12, {("t", 0): 0})
    request = fetch_request(cluster, 12, {}, session_id=session_id, session_epoch=1)

    complete = complete_request(context, request, cluster)
    full = sessionless_request(context, complete, cluster)

    assert names(full) == [("t", 0)]
    assert (full.session_id, full.session_epoch) == (0, -1)
    assert cluster.fetch_sessions[1].get(session_id) is None


def test_a_request_that_does_not_fit_its_session_stays_as_it_is() -> None:
    cluster = two_topics()
    context = make_context(ApiKey.FETCH, 12)
    session_id = open_session(cluster, 12, {("t", 0): 0})
    request = fetch_request(cluster, 12, {}, session_id=session_id, session_epoch=7)

    same = sessionless_request(context, complete_request(context, request, cluster), cluster)

    assert (same.session_id, same.session_epoch, same.topics) == (session_id, 7, [])
    assert open_fetch_context(context, same, cluster).error_code == (
        ErrorCode.INVALID_FETCH_SESSION_EPOCH
    )


def test_of_a_partition_that_is_named_twice_the_last_counts() -> None:
    cluster = two_topics()
    request = fetch_request(cluster, 12, {("t", 0): 3})
    request.topics += fetch_request(cluster, 12, {("t", 0): 4}).topics
    context = open_fetch_context(make_context(ApiKey.FETCH, 12), request, cluster)
    assert [partition.fetch_offset for partition in context.partitions] == [4]


def test_a_topic_that_is_created_later_is_found_in_the_session() -> None:
    cluster = two_topics()
    ids = [cluster.new_uuid() for _ in range(1)]
    later_id = UUID(int=ids[0].int + 2)
    request = fetch_request(cluster, 13, {("nobody", 0): 0}, session_epoch=0)
    request.topics[0].topic_id = later_id
    response = answer(cluster, 13, request)
    assert cluster.create_topic("later", [(1,)], {}).topic_id == later_id

    again = fetch_request(cluster, 13, {}, session_id=response.session_id, session_epoch=1)
    (part,) = answer(cluster, 13, again).responses[0].partitions

    assert response.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert part.error_code == ErrorCode.NONE
