"""Denials in the middle of a transaction, which can still be ended once that is allowed."""

import pytest

from broker.cluster.cluster import Cluster
from broker.cluster.transactions import abort_timed_out
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import AUTHORIZER, allow, deny
from tests.broker.handlers.denial_driver import DenialDriver, forbid_all
from tests.broker.transactional_driver import TransactionDriver, make_driver

NONE = ErrorCode.NONE
ID_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
RIGHTS = ("ALL TRANSACTIONAL_ID tx", "ALL TOPIC t", "ALL GROUP g", "DESCRIBE CLUSTER")


def allowed_driver(*rights: str) -> TransactionDriver:
    driver = make_driver(**AUTHORIZER)
    allow(driver.cluster, *rights)
    return driver


def allow_again(cluster: Cluster) -> None:
    """Remove the rules that deny."""
    forbid_all(cluster)
    allow(cluster, *RIGHTS)


def test_a_transaction_with_a_denied_topic_keeps_its_other_partitions_and_is_aborted() -> None:
    driver = allowed_driver(*RIGHTS)
    _, producer = driver.init()
    assert driver.add(producer, 0) == [NONE]
    assert driver.produce(producer, 0)[0] == NONE
    deny(driver.cluster, "WRITE TOPIC t")
    assert driver.add(producer, 1) == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    state = driver.describe()
    assert (state.transaction_state, state.topics[0].partitions) == ("Ongoing", [0])
    # To end it needs no right to write to the topic.
    assert driver.end(producer, commit=False)[0] == NONE
    assert driver.describe().transaction_state == "CompleteAbort"
    assert driver.fetch(0).aborted == [(producer.producer_id, 0)]


@pytest.mark.parametrize(
    ("right", "error_code"),
    [
        ("READ GROUP g", ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ("READ TOPIC t", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ("WRITE TRANSACTIONAL_ID tx", ID_DENIED),
    ],
)
def test_a_denied_offset_is_not_in_the_transaction(right: str, error_code: ErrorCode) -> None:
    driver = allowed_driver(*RIGHTS)
    _, producer = driver.init()
    assert driver.add_offsets(producer, "g") == NONE
    deny(driver.cluster, right)
    assert driver.commit_offset(producer, "g", 5) == error_code
    allow_again(driver.cluster)
    assert driver.fetch_offset("g") == (NONE, -1)
    # It goes on where it was.
    assert driver.commit_offset(producer, "g", 7) == NONE
    assert driver.end(producer, commit=True)[0] == NONE
    assert driver.fetch_offset("g") == (NONE, 7)


@pytest.mark.parametrize(
    ("right", "error_code"),
    [
        ("READ GROUP g", ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ("WRITE TRANSACTIONAL_ID tx", ID_DENIED),
    ],
)
def test_a_denied_group_is_not_added(right: str, error_code: ErrorCode) -> None:
    driver = allowed_driver(*RIGHTS)
    _, producer = driver.init()
    deny(driver.cluster, right)
    assert driver.add_offsets(producer, "g") == error_code
    allow_again(driver.cluster)
    assert driver.describe().transaction_state == "Empty"


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("commit", [False, True])
def test_a_transaction_whose_end_is_denied_stays_open(version: int, *, commit: bool) -> None:
    driver = allowed_driver(*RIGHTS)
    _, producer = driver.init()
    driver.add(producer, 0)
    driver.produce(producer, 0)
    deny(driver.cluster, "WRITE TRANSACTIONAL_ID tx")
    error_code, next_producer = driver.end(producer, commit=commit, version=version)
    assert error_code == ID_DENIED
    if version >= 5:
        assert next_producer == (-1, -1)
    allow_again(driver.cluster)
    assert driver.describe().transaction_state == "Ongoing"
    assert driver.end(producer, commit=commit, version=version)[0] == NONE
    ended = "CompleteCommit" if commit else "CompleteAbort"
    assert driver.describe().transaction_state == ended


def test_a_transaction_ends_by_its_timeout_without_any_right() -> None:
    driver = allowed_driver(*RIGHTS)
    _, producer = driver.init(timeout_ms=1_000)
    driver.add(producer, 0)
    forbid_all(driver.cluster)
    driver.now_ms += 60_000
    abort_timed_out(driver.cluster, driver.now_ms)
    allow_again(driver.cluster)
    assert driver.describe().transaction_state == "CompleteAbort"


def test_another_instance_of_a_producer_is_not_fenced_by_a_denied_one() -> None:
    driver = allowed_driver(*RIGHTS)
    _, producer = driver.init()
    driver.add(producer, 0)
    deny(driver.cluster, "WRITE TRANSACTIONAL_ID tx")
    assert driver.init() == (ID_DENIED, (-1, -1))
    allow_again(driver.cluster)
    assert driver.end(producer, commit=True)[0] == NONE


def test_two_phase_commit_needs_a_right_of_its_own() -> None:
    key = "transaction.two.phase.commit.enable"
    driver = DenialDriver("WRITE TRANSACTIONAL_ID tx", **{key: "true"})

    def init(*, is_two_phase: bool) -> int:
        response = driver.ask(
            ApiKey.INIT_PRODUCER_ID,
            6,
            transactional_id="tx",
            transaction_timeout_ms=1_000,
            enable2_pc=is_two_phase,
        )
        return int(response.error_code)

    assert init(is_two_phase=False) == NONE
    assert init(is_two_phase=True) == ID_DENIED
    assert driver.noted == ["TWO_PHASE_COMMIT TRANSACTIONAL_ID tx"]
    driver.allow("TWO_PHASE_COMMIT TRANSACTIONAL_ID tx")
    assert init(is_two_phase=True) == NONE


def test_a_producer_without_an_id_may_write_to_some_topic() -> None:
    driver = DenialDriver()
    denied = driver.ask(ApiKey.INIT_PRODUCER_ID, 5, transactional_id=None)
    assert denied.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert (denied.producer_id, denied.producer_epoch) == (-1, -1)
    assert driver.noted == ["IDEMPOTENT_WRITE CLUSTER kafka-cluster"]
    # That comes before the fields are looked at.
    invalid = {"transactional_id": None, "producer_id": 1, "producer_epoch": -1}
    denied = driver.ask(ApiKey.INIT_PRODUCER_ID, 5, **invalid)
    assert denied.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    driver.allow("WRITE TOPIC whatever")
    invalid_one = driver.ask(ApiKey.INIT_PRODUCER_ID, 5, **invalid)
    assert invalid_one.error_code == ErrorCode.INVALID_REQUEST
    assert driver.ask(ApiKey.INIT_PRODUCER_ID, 5, transactional_id=None).error_code == NONE


def test_brokers_alone_add_partitions_of_many_transactions() -> None:
    driver = DenialDriver("ALL TOPIC *", "ALL TRANSACTIONAL_ID *")
    response = driver.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 5, transactions=[])
    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert response.results_by_transaction == []


def test_denied_markers_have_an_error_for_each_partition() -> None:
    driver = DenialDriver("ALL TOPIC *")
    marker_class = messages.WriteTxnMarkersRequest.WritableTxnMarker
    topic_class = messages.entry_class(marker_class(version=1), "topics")
    markers = [
        marker_class(
            version=1,
            producer_id=producer_id,
            producer_epoch=0,
            topics=[topic_class(version=1, name="t", partition_indexes=[0, 1])],
        )
        for producer_id in (1, 2)
    ]
    response = driver.ask(ApiKey.WRITE_TXN_MARKERS, 1, markers=markers)
    denied = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert [
        [part.error_code for topic in marker.topics for part in topic.partitions]
        for marker in response.markers
    ] == [[denied, denied]] * 2
    assert driver.noted == ["CLUSTER_ACTION CLUSTER kafka-cluster"]
