"""Produce requests that rules allow or deny, and the order of their errors."""

from typing import Any
from uuid import UUID

import pytest

from broker.authorization.authorizer import DEFAULT_DENY
from broker.authorization.checks import WRITE_TOPIC, WRITE_TRANSACTIONAL_ID, Denial
from broker.cluster.cluster import Cluster
from broker.handlers.k00_produce import handle_produce
from broker.request.context import RequestContext
from broker.responses import Close
from protocol import messages
from protocol.acls import AclOperation, ResourceType
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.batches import make_batch
from tests.broker.acl_cluster import acl, acl_cluster, authorizer_of
from tests.broker.cluster_builder import make_context
from tests.broker.dispatch.produce_runs import Produce
from tests.broker.dispatch.transactional_runs import TransactionalRun
from tests.produce_requests import produce_request

BATCH = make_batch(b"v")
WRITE = AclOperation.WRITE
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
ID_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def cluster_with_topics() -> Cluster:
    """A client may write to the topics "t" and "missing", and not to "u"."""
    cluster = acl_cluster(super_users="")
    for name in "tu":
        cluster.create_topic(name, [(1,)] * 2, {})
    for name in ("t", "missing"):
        authorizer_of(cluster).add(acl(name, WRITE))
    return cluster


def transactional(producer_id: int) -> bytes:
    return make_batch(
        b"v", producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
    )


class Sent:
    """A request for topics, each with batches by partition, and its result."""

    def __init__(
        self,
        cluster: Cluster,
        topics: dict[str, list[tuple[int, bytes]]],
        *,
        version: int = 9,
        acks: int = -1,
        transactional_id: str | None = None,
    ) -> None:
        request: Any = None
        for name, partitions in topics.items():
            topic = cluster.topics.get(name)
            part = produce_request(
                partitions,
                version=version,
                topic=name,
                topic_id=topic.topic_id if topic else UUID(int=99),
                acks=acks,
                transactional_id=transactional_id,
            )
            if request is None:
                request = part
            else:
                request.topic_data += part.topic_data
        frame = bytes(request.encode(version=version))
        self.context: RequestContext = make_context(ApiKey.PRODUCE, version)
        self.body = handle_produce(self.context, frame, 0, len(frame), cluster)
        self.codes: list[tuple[int, int]] = []
        """The index and the error code of each partition."""
        if self.body is not None and not isinstance(self.body, Close):
            response = messages.ProduceResponse.decode(bytes(self.body), version=version)
            self.codes = [
                (part.index, part.error_code)
                for topic in response.responses
                for part in topic.partition_responses
            ]


def stored(cluster: Cluster) -> int:
    return sum(
        part.log.log_end_offset for topic in cluster.topics.all() for part in topic.partitions
    )


@pytest.mark.parametrize("version", range(3, 14))
def test_each_version_stores_what_is_allowed_and_nothing_else(version: int) -> None:
    cluster = cluster_with_topics()
    batches = [(0, BATCH), (1, BATCH)]
    sent = Sent(cluster, {"u": batches, "t": batches}, version=version)
    assert sent.codes == [(0, DENIED), (1, DENIED), (0, 0), (1, 0)]
    assert stored(cluster) == 2
    assert sent.context.denials == (Denial(WRITE_TOPIC, "u", DEFAULT_DENY),)


def test_a_topic_that_does_not_exist_is_denied_by_its_name() -> None:
    cluster = cluster_with_topics()
    sent = Sent(cluster, {"missing": [(0, BATCH)], "hidden": [(0, BATCH)]})
    assert [code for _, code in sent.codes] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, DENIED]


def test_a_topic_id_that_does_not_exist_is_unknown_to_everybody() -> None:
    sent = Sent(cluster_with_topics(), {"hidden": [(0, BATCH)]}, version=13)
    assert sent.codes == [(0, ErrorCode.UNKNOWN_TOPIC_ID)]
    assert sent.context.denials == ()


def test_a_denial_comes_before_the_check_of_batches_and_partitions() -> None:
    sent = Sent(cluster_with_topics(), {"u": [(1, BATCH), (1, b"no batch"), (9, BATCH)]})
    assert sent.codes == [(1, DENIED), (9, DENIED)]


@pytest.mark.parametrize("topic", ["t", "u"])
def test_a_denial_without_acks_closes_the_connection(topic: str) -> None:
    cluster = cluster_with_topics()
    sent = Sent(cluster, {topic: [(0, BATCH)]}, acks=0)
    expected = Close("Produce with acks=0 failed: TOPIC_AUTHORIZATION_FAILED")
    assert sent.body == (expected if topic == "u" else None)
    assert stored(cluster) == (topic == "t")


@pytest.mark.parametrize("acks", [0, -1])
def test_a_transactional_id_without_rights_fails_the_request(acks: int) -> None:
    cluster = cluster_with_topics()
    topics = {"u": [(0, BATCH)], "t": [(0, BATCH), (1, transactional(5))]}
    sent = Sent(cluster, topics, acks=acks, transactional_id="x")
    if acks:
        assert sent.codes == [(0, ID_DENIED), (0, ID_DENIED), (1, ID_DENIED)]
    else:
        assert isinstance(sent.body, Close)
    assert stored(cluster) == 0
    assert sent.context.denials == (Denial(WRITE_TRANSACTIONAL_ID, "x", DEFAULT_DENY),)


def test_a_transactional_id_without_rights_is_not_looked_at_without_transactional_batches() -> None:
    cluster = cluster_with_topics()
    sent = Sent(cluster, {"t": [(0, BATCH)]}, transactional_id="x")
    assert sent.codes == [(0, 0)]
    assert sent.context.denials == ()


def test_batches_for_a_denied_topic_do_not_count_as_those_of_another_producer() -> None:
    cluster = cluster_with_topics()
    authorizer_of(cluster).add(acl("x", WRITE, resource_type=ResourceType.TRANSACTIONAL_ID))
    topics = {"u": [(0, transactional(6))], "t": [(0, transactional(5))]}
    denied, (_, code) = Sent(cluster, topics, transactional_id="x").codes
    assert denied == (0, DENIED)
    assert code not in {DENIED, ID_DENIED, ErrorCode.INVALID_PRODUCER_ID_MAPPING, 0}
    authorizer_of(cluster).add(acl("u", WRITE))
    codes = [code for _, code in Sent(cluster, topics, transactional_id="x").codes]
    assert codes == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_denial_in_the_middle_of_a_transaction_leaves_it_open(is_commit: bool) -> None:
    keys = {"authorizer.class.name": "acl", "allow.everyone.if.no.acl.found": "true"}
    run = TransactionalRun(**keys)
    run.init("a")
    produce = Produce(transactional_id="a", version=12)
    run.send_together(produce)
    topic = run.cluster.topics.get("t")
    assert topic is not None
    log = topic.partitions[0].log
    authorizer_of(run.cluster).add(acl("t", principal="User:other"))
    for _ in range(2):
        run.send_together(produce)
        assert DENIED.to_bytes(2, "big") in run.written[-1][1]
    assert log.log_end_offset == 1
    run.end("a", is_commit)
    assert log.log_end_offset == 2  # with the marker
    assert topic.partitions[0].last_stable_offset == 2
    assert not run.bugs
