"""A bug that shows while a request waits closes its connection, and hurts no other one.

A handler's exceptions are caught when the request comes (`test_dispatcher`). These are raised
later: by a timer, in a later turn, or while another client's request wakes the one that waits.
"""

from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from broker.dispatch.dispatcher import Dispatcher
from broker.faults.rule import fault_rule
from broker.fetch import fetch_wait, share_fetch
from broker.fetch.partition_read import WaitingBytes
from broker.handlers import k11_join_group
from broker.produce.append import append_batch
from broker.request.context import RequestContext
from protocol import messages
from protocol.api_keys import ApiKey
from tests.batches import make_batch
from tests.broker.cluster_builder import make_context
from tests.broker.connection_driver import NOW_MS, Client, fetch_frame, request_frame
from tests.broker.share_driver import GROUP, ShareDriver, member_id

WAIT_MS = 500
END_MS = NOW_MS + 10_000


def boom(*_arguments: Any, **_fields: Any) -> Any:
    raise RuntimeError("boom")


class Clients:
    """A client whose request waits, and another one."""

    def __init__(self, mutation_time_ms: int = 0) -> None:
        driver = ShareDriver(controller_mutation_time_us=str(mutation_time_ms * 1000))
        driver.join(1)
        self.cluster, self.topic = driver.cluster, driver.topic
        self.bugs: list[str] = []
        self.dispatcher = Dispatcher(self.cluster, self._report_bug)
        self.waiting = Client(self.cluster, dispatcher=self.dispatcher)
        self.other = Client(self.cluster, dispatcher=self.dispatcher)

    def _report_bug(self, error: BaseException, context: RequestContext) -> None:
        self.bugs.append(f"{ApiKey(context.api_key).name}: {error}")

    def append(self) -> None:
        """Append a record, as the request of a producer does."""
        batch = make_batch(b"v")
        context = make_context(ApiKey.PRODUCE, 9)
        partition = self.topic.partitions[0]
        append_batch(context, self.cluster, self.topic, partition, batch, 0, len(batch))

    def check(self, api_name: str) -> None:
        """Check that the waiting request alone has failed, once."""
        for now_ms in (NOW_MS, NOW_MS + WAIT_MS, END_MS):
            self.other.settle(now_ms)
            self.waiting.settle(now_ms)
        assert self.bugs == [f"{api_name}: boom"]
        assert self.waiting.close_reason is not None
        assert self.waiting.close_reason.startswith("internal error in ")
        assert not self.waiting.written
        assert self.other.close_reason is None
        assert not any(p.log.waiters for p in self.topic.partitions)


def session_frame(correlation_id: int, *, epoch: int, session_id: int) -> bytes:
    frame_class: Any = messages.FetchRequest
    topics = []
    if not epoch:
        part = frame_class.FetchTopic.FetchPartition(
            version=12, partition=0, current_leader_epoch=-1, fetch_offset=0,
            partition_max_bytes=9999, last_fetched_epoch=-1, log_start_offset=-1,
        )  # fmt: skip
        topics = [frame_class.FetchTopic(version=12, topic="t", partitions=[part])]
    request = frame_class(
        version=12, replica_id=-1, max_wait_ms=WAIT_MS if epoch else 0, min_bytes=1,
        max_bytes=9999, isolation_level=0, session_id=session_id, session_epoch=epoch,
        topics=topics, forgotten_topics_data=[], rack_id="",
    )  # fmt: skip
    return request_frame(request, 12, correlation_id)


@pytest.mark.parametrize("wakes", [True, False])
@pytest.mark.parametrize("broken", ["read_partitions", "respond", "encode"])
def test_a_fetch_that_fails_when_its_wait_ends(
    wakes: bool, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = Clients()
    clients.waiting.send(fetch_frame(1, "t", WAIT_MS))
    if broken != "encode":
        monkeypatch.setattr(fetch_wait, broken, boom)
    else:
        monkeypatch.setattr(fetch_wait, "respond", lambda *_: object())
        monkeypatch.setattr("protocol.codec.encode_body", boom)
    if wakes:
        clients.append()
    clients.check("FETCH")


def test_a_fetch_that_fails_while_a_producer_wakes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients()
    clients.waiting.send(fetch_frame(1, "t", WAIT_MS))
    monkeypatch.setattr(WaitingBytes, "is_enough_with", boom)
    monkeypatch.setattr(fetch_wait, "read_partitions", boom)
    clients.append()
    clients.check("FETCH")


@pytest.mark.parametrize("broken", ["read_partitions", "respond", "is_enough_with"])
@pytest.mark.parametrize("count", [1, 4])
def test_a_fetch_of_a_session_that_fails(
    broken: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request takes the ordinary dispatch, later ones are replayed."""
    clients = Clients()
    waiting = clients.waiting
    waiting.send(session_frame(1, epoch=0, session_id=0))
    session_id = int.from_bytes(waiting.written[15:19])
    for number in range(1, count):
        waiting.send(session_frame(2, epoch=number, session_id=session_id))
        waiting.settle(NOW_MS)
        clients.cluster.timers.run_due(NOW_MS + WAIT_MS)
        waiting.settle(NOW_MS)
    waiting.send(session_frame(3, epoch=count, session_id=session_id))
    waiting.written = b""
    if broken == "is_enough_with":
        monkeypatch.setattr(WaitingBytes, broken, boom)
        broken = "read_partitions"
    monkeypatch.setattr(fetch_wait, broken, boom)
    clients.append()
    clients.check("FETCH")


@pytest.mark.parametrize("broken", ["load", "acquire", "is_satisfied"])
def test_a_share_fetch_that_fails_when_its_wait_ends(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = Clients()
    topic_class: Any = messages.ShareFetchRequest.FetchTopic
    request: Any = messages.ShareFetchRequest(
        group_id=GROUP, member_id=member_id(1), share_session_epoch=0, max_wait_ms=WAIT_MS,
        min_bytes=1, max_bytes=9999, max_records=10, batch_size=10, forgotten_topics_data=[],
        topics=[
            topic_class(
                topic_id=clients.topic.topic_id,
                partitions=[
                    topic_class.FetchPartition(partition_index=0, acknowledgement_batches=[])
                ],
            )
        ],
    )  # fmt: skip
    clients.waiting.send(request_frame(request, 1, 1))
    assert not clients.waiting.written, clients.waiting.written
    monkeypatch.setattr(share_fetch.ShareFetch, broken, boom)
    clients.append()
    clients.check("SHARE_FETCH")
    leader = clients.cluster.share.leaders[1]
    assert not any(led.waiters for led in leader.partitions.values())


def join_frame() -> bytes:
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol(
        version=3, name="range", metadata=b""
    )
    request = messages.JoinGroupRequest(
        version=3, group_id="joined", session_timeout_ms=9000, rebalance_timeout_ms=9000,
        member_id="", protocol_type="x", protocols=[protocol],
    )  # fmt: skip
    return request_frame(request, 3, 1)


def test_a_join_whose_response_fails_does_not_hurt_the_other_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clients = Clients()
    respond = k11_join_group._response

    def fail_for_leader(result: Any, version: int) -> Any:
        return boom() if result.members else respond(result, version)

    clients.waiting.send(join_frame())
    clients.other.send(join_frame())
    monkeypatch.setattr(k11_join_group, "_response", fail_for_leader)
    for client in (clients.other, clients.waiting):
        client.settle(END_MS)
    if clients.other.close_reason is not None:  # it became the leader
        clients.waiting, clients.other = clients.other, clients.waiting
    clients.check("JOIN_GROUP")
    assert clients.other.written


def test_a_controller_event_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients(mutation_time_ms=10)
    request = messages.DeleteTopicsRequest(version=3, topic_names=["t"], timeout_ms=9000)
    clients.waiting.send(request_frame(request, 3, 1))
    monkeypatch.setattr(Cluster, "delete_topic", boom)
    clients.check("DELETE_TOPICS")


@pytest.mark.parametrize("broken", ["with_patch", "with_wrong_bytes"])
def test_a_fault_rule_that_fails_after_a_delay(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = Clients()
    clients.dispatcher.faults.add(fault_rule(api="Fetch", delay_request_ms=5), NOW_MS)
    clients.waiting.send(fetch_frame(1, "t", 0))
    monkeypatch.setattr(f"broker.faults.faulted_response.FaultedResponse.{broken}", boom)
    clients.check("FETCH")
