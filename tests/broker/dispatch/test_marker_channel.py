"""Fault rules on the markers that a coordinator writes, before and after the append."""

from typing import Any

import pytest

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from broker.dispatch.dispatcher import Dispatcher
from broker.faults import fault_rule
from broker.journal.rendering import describe_line
from broker.request.context import RequestContext
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import AUTHORIZER, allow
from tests.broker.cluster_builder import NOW_MS
from tests.broker.connection_driver import Client, request_frame
from tests.broker.transactional_driver import TransactionDriver, transactional_cluster

NONE = ErrorCode.NONE
RETRY_MS = 1_000
REQUEST_TIMEOUT_MS = 30_000


class FaultyDriver(TransactionDriver):
    """A producer at the coordinator of its id; all requests pass one table of fault rules."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.bugs: list[BaseException] = []
        self.dispatcher = Dispatcher(cluster, self._report_bug)
        self.follow_coordinator()

    def _report_bug(self, error: BaseException, _context: RequestContext) -> None:
        self.bugs.append(error)

    def _send(self, request: Any, version: int) -> Any:
        client = Client(self.cluster, self.broker_id, self.dispatcher)
        client.send(request_frame(request, version, 1), self.now_ms)
        assert client.written, client.close_reason
        return codec.decode_response(client.written, ApiKey(request.API_KEY), version)

    def follow_coordinator(self) -> None:
        self.broker_id = self.cluster.transaction_coordinator_id("tx") or 1

    def add_fault(self, **fields: Any) -> None:
        rule = fault_rule(api="WriteTxnMarkers", **fields)
        self.dispatcher.faults.add(rule, self.now_ms)

    def advance_to(self, after_ms: int) -> None:
        self.now_ms = NOW_MS + after_ms
        timers = self.cluster.timers
        while (due_ms := timers.next_due_ms()) is not None and due_ms <= self.now_ms:
            timers.run_due(due_ms)
        assert self.bugs == []

    @property
    def state(self) -> str:
        return str(self.describe().transaction_state)

    @property
    def markers(self) -> int:
        """The number of markers in partition 0, whose leader is broker 1."""
        topic = self.cluster.topics.get("t")
        assert topic is not None
        return topic.partitions[0].log.log_end_offset - 1

    def end_with_fault(self, *, commit: bool = True, **fields: Any) -> None:
        """Add a rule that fires once, and end a transaction with one record."""
        self.add_fault(times=1, **fields)
        _, producer = self.init()
        self.add(producer, 0)
        assert self.produce(producer, 0) == (NONE, 0)
        assert self.end(producer, commit=commit, version=4)[0] == NONE


@pytest.fixture
def driver() -> FaultyDriver:
    return FaultyDriver(transactional_cluster(2))


# A fault, the markers that are written at once, the time until the transaction completes, and the
# markers that are then written.
FAULTS: list[tuple[dict[str, Any], int, int, int]] = [
    ({"error": "NOT_ENOUGH_REPLICAS"}, 0, RETRY_MS, 1),
    ({"error": "UNKNOWN_SERVER_ERROR"}, 0, RETRY_MS, 1),
    ({"error": "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "at": "before_response"}, 1, RETRY_MS, 2),
    ({"delay_request_ms": 500}, 0, 500, 1),
    ({"delay_request_ms": 1_500}, 0, 1_500, 1),
    ({"delay_ms": 500}, 1, 500, 1),
    ({"bytes_per_second": 100}, 1, 880, 1),
    ({"drop": "before_handling"}, 0, RETRY_MS, 1),
    ({"drop": "before_response"}, 1, RETRY_MS, 2),
    ({"drop": "within_response"}, 1, RETRY_MS, 2),
    ({"hang": "before_handling"}, 0, REQUEST_TIMEOUT_MS, 1),
    ({"hang": "before_response"}, 1, REQUEST_TIMEOUT_MS, 2),
    ({"truncate_bytes": 3}, 1, RETRY_MS, 2),
    ({"announce_bytes": 3}, 1, RETRY_MS, 2),
    ({"response": {"markers": []}}, 1, RETRY_MS, 2),
]


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize(("fault", "written", "complete_ms", "markers"), FAULTS, ids=str)
def test_a_transaction_completes_when_the_coordinator_has_a_response(
    driver: FaultyDriver,
    fault: dict[str, Any],
    written: int,
    complete_ms: int,
    markers: int,
    *,
    commit: bool,
) -> None:
    driver.end_with_fault(commit=commit, **fault)
    outcome = "Commit" if commit else "Abort"
    assert (driver.markers, driver.state) == (written, f"Prepare{outcome}")
    driver.advance_to(complete_ms - 1)
    assert (driver.markers, driver.state) == (written, f"Prepare{outcome}")
    driver.advance_to(complete_ms)
    assert (driver.markers, driver.state) == (markers, f"Complete{outcome}")
    assert driver.fetch(0).aborted == ([] if commit else [(0, 0)])
    assert driver.init()[0] == NONE


def test_a_coordinator_needs_no_rule_to_write_its_markers() -> None:
    cluster = transactional_cluster(2, **AUTHORIZER)
    allow(cluster, "ALL TOPIC t", "ALL TRANSACTIONAL_ID tx")
    driver = FaultyDriver(cluster)
    driver.end_with_fault(delay_request_ms=500)
    driver.advance_to(500)
    assert (driver.markers, driver.state) == (1, "CompleteCommit")


@pytest.mark.parametrize("fault", [{"oversize_bytes": 3}, {"throttle_time_ms": 500}], ids=str)
def test_a_response_that_is_complete_ends_the_transaction(
    driver: FaultyDriver, fault: dict[str, Any]
) -> None:
    driver.end_with_fault(**fault)
    assert (driver.markers, driver.state) == (1, "CompleteCommit")


@pytest.mark.parametrize("error", ["NONE", "UNSUPPORTED_FOR_MESSAGE_FORMAT"])
def test_a_transaction_completes_without_a_marker_if_the_leader_says_so(
    driver: FaultyDriver, error: str
) -> None:
    patch = {"markers": {"topics": {"partitions": {"error_code": error}}}}
    driver.end_with_fault(error="NONE", response=patch)
    assert (driver.markers, driver.state) == (0, "CompleteCommit")
    assert driver.fetch(0).last_stable_offset == 0


def test_a_leader_that_stops_gets_no_marker_and_its_successor_does(driver: FaultyDriver) -> None:
    driver.end_with_fault(stop_broker="self", partition=0, topic="t")
    driver.follow_coordinator()
    assert not driver.cluster.is_alive(1)
    assert (driver.markers, driver.state) == (1, "CompleteCommit")


@pytest.mark.parametrize("elect", [True, False])
def test_a_marker_that_waits_at_a_leader_is_lost_with_it(
    driver: FaultyDriver, *, elect: bool
) -> None:
    driver.end_with_fault(delay_request_ms=10, partition=0, topic="t")
    failover.stop_broker(driver.cluster, 1, NOW_MS, elect=elect)
    driver.advance_to(100)
    assert driver.markers == int(elect)
    failover.start_broker(driver.cluster, 1, NOW_MS + 100)
    driver.follow_coordinator()
    driver.advance_to(RETRY_MS)
    assert (driver.markers, driver.state) == (1, "CompleteCommit")


def test_offsets_of_a_transaction_wait_for_a_delayed_marker(driver: FaultyDriver) -> None:
    cluster = driver.cluster
    driver.add_fault(delay_request_ms=500, topic="__consumer_offsets", times=1)
    _, producer = driver.init()
    assert driver.produce(producer, 0, version=12) == (NONE, 0)
    driver.broker_id = cluster.coordinator_id("g") or 1
    assert driver.commit_offset(producer, "g", 5, version=5) == NONE
    driver.follow_coordinator()
    driver.end(producer, commit=True, version=5)
    assert (driver.markers, driver.state) == (1, "PrepareCommit")
    driver.advance_to(500)
    assert driver.state == "CompleteCommit"


def test_a_late_response_for_a_deleted_topic_changes_nothing(driver: FaultyDriver) -> None:
    cluster = driver.cluster
    driver.add_fault(delay_ms=1_500, topic="t", partition=0)
    driver.add_fault(delay_ms=2_500, topic="__consumer_offsets")
    _, producer = driver.init()
    assert driver.produce(producer, 0, version=12) == (NONE, 0)
    driver.broker_id = cluster.coordinator_id("g") or 1
    assert driver.commit_offset(producer, "g", 5, version=5) == NONE
    driver.follow_coordinator()
    driver.end(producer, commit=True, version=5)
    topic = cluster.topics.get("t")
    assert topic is not None
    cluster.delete_topic(topic, NOW_MS)
    driver.advance_to(2_499)
    assert driver.state == "PrepareCommit"
    driver.advance_to(2_500)
    assert driver.state == "CompleteCommit"


def test_only_rules_that_name_the_api_and_the_partition_match(driver: FaultyDriver) -> None:
    faults = driver.dispatcher.faults
    faults.add(fault_rule(delay_ms=500, skip=100), NOW_MS)
    driver.add_fault(error="NOT_LEADER_OR_FOLLOWER", topic="t", partition=1)
    seen: list[int] = []
    faults.set_hook(lambda context, _request: seen.append(context.api_key))
    driver.end_with_fault(delay_ms=0, client_id="txn-marker-sender", topic="t")
    assert driver.state == "CompleteCommit"
    any_request, other, mine = faults.rules()
    assert (other.match_count, mine.fire_count) == (0, 1)
    assert any_request.match_count == len(seen)
    assert ApiKey.WRITE_TXN_MARKERS not in seen


def test_the_journal_has_the_marker_and_its_rule(driver: FaultyDriver) -> None:
    journal = driver.dispatcher.journal
    journal.is_enabled = True
    driver.end_with_fault(hang="before_handling")
    driver.advance_to(REQUEST_TIMEOUT_MS)
    lines = [describe_line(line, lambda _topic_id: None) for line in journal]
    markers = [line for line in lines if line.get("api") == "WriteTxnMarkers"]
    assert [(line["outcome"], line["topics"]) for line in markers] == [
        ("closed", ["t"]),
        ("responded", ["t"]),
    ]
    assert [line["fault"] for line in markers] == ["#1 hang before_handling", None]
