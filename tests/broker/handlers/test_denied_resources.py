"""Requests that name what the client may use, what it may not, and what does not exist."""

from typing import Any
from uuid import UUID

import pytest

from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.handlers.denial_driver import GROUP, DenialDriver, entry

NONE = ErrorCode.NONE
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
MISSING = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
UNKNOWN_ID = UUID(int=2**100)
GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED


def versions(api_key: ApiKey, low: int = 0, high: int = 99) -> range:
    route = ROUTES[api_key]
    return range(max(low, route.version_min), min(high, route.version_max) + 1)


def partition_codes(topics: Any) -> list[tuple[str, list[int]]]:
    """Return the error codes of the partitions of each topic."""
    return [(topic.name, [part.error_code for part in topic.partitions]) for topic in topics]


@pytest.mark.parametrize("version", versions(ApiKey.LIST_OFFSETS))
def test_list_offsets_puts_denied_topics_last_and_hides_whether_they_exist(version: int) -> None:
    driver = DenialDriver("DESCRIBE TOPIC u", "DESCRIBE TOPIC gone")
    topic_class = messages.ListOffsetsRequest.ListOffsetsTopic
    part = entry(topic_class, "partitions", version, partition_index=0, timestamp=-1)
    names = ["hidden", "t", "u", "gone"]
    response = driver.ask(
        ApiKey.LIST_OFFSETS,
        version,
        replica_id=-1,
        topics=[topic_class(version=version, name=name, partitions=[part]) for name in names],
    )
    assert partition_codes(response.topics) == [
        ("u", [NONE]),
        ("gone", [MISSING]),
        ("hidden", [DENIED]),
        ("t", [DENIED]),
    ]
    last = response.topics[-1].partitions[0]
    assert (last.timestamp, last.offset) == (-1, -1)
    assert driver.noted == ["DESCRIBE TOPIC hidden", "DESCRIBE TOPIC t"]


@pytest.mark.parametrize("right", [None, "DESCRIBE TOPIC t"])
def test_an_isolation_level_is_looked_at_if_a_topic_is_allowed(right: str | None) -> None:
    driver = DenialDriver(*([] if right is None else [right]))
    topic_class = messages.ListOffsetsRequest.ListOffsetsTopic
    part = entry(topic_class, "partitions", 8, partition_index=0, timestamp=-1)
    topics = [topic_class(version=8, name=name, partitions=[part]) for name in ("t", "u")]
    response = driver.ask(ApiKey.LIST_OFFSETS, 8, replica_id=-1, isolation_level=7, topics=topics)
    code = DENIED if right is None else ErrorCode.UNKNOWN_SERVER_ERROR
    assert partition_codes(response.topics) == [("t", [code]), ("u", [code])]


def _offsets(api_key: ApiKey, version: int, driver: DenialDriver) -> list[Any]:
    """Return offsets of u and t, each with a missing partition, and of a missing topic."""
    if api_key is ApiKey.OFFSET_COMMIT:
        topic_class: Any = messages.OffsetCommitRequest.OffsetCommitRequestTopic
    else:
        topic_class = messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    ids = {"t": driver.topics[0].topic_id, "u": driver.topics[1].topic_id, "gone": UNKNOWN_ID}
    return [
        topic_class(
            version=version,
            name=name,
            topic_id=ids[name],
            partitions=[
                entry(topic_class, "partitions", version, partition_index=index, committed_offset=5)
                for index in indexes
            ],
        )
        for name, indexes in (("u", [0, 9]), ("t", [0, 9]), ("gone", [0]))
    ]


def _offset_codes(response: Any, driver: DenialDriver, *, has_ids: bool) -> dict[str, list[int]]:
    names = {topic.topic_id: topic.name for topic in driver.topics} | {UNKNOWN_ID: "gone"}
    return {
        names[topic.topic_id] if has_ids else topic.name: [
            part.error_code for part in topic.partitions
        ]
        for topic in response.topics
    }


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
def test_offset_commit_stores_offsets_of_topics_that_may_be_read(version: int) -> None:
    driver = DenialDriver("READ GROUP g", "READ TOPIC u")
    has_ids = version >= 10

    def codes() -> dict[str, list[int]]:
        topics = _offsets(ApiKey.OFFSET_COMMIT, version, driver)
        response = driver.ask(ApiKey.OFFSET_COMMIT, version, group_id=GROUP, topics=topics)
        return _offset_codes(response, driver, has_ids=has_ids)

    # Whether a name exists is hidden; an id that is not known has no name to ask about.
    gone = ErrorCode.UNKNOWN_TOPIC_ID if has_ids else DENIED
    found = codes()
    assert found == {"u": [MISSING, NONE], "t": [DENIED, DENIED], "gone": [gone]}
    table = driver.cluster.groups.table
    assert [name for name, _index, _offset in table.all_committed(GROUP)] == ["u"]

    driver.allow("READ TOPIC *")
    gone = ErrorCode.UNKNOWN_TOPIC_ID if has_ids else MISSING
    assert codes() == {"u": [MISSING, NONE], "t": [MISSING, NONE], "gone": [gone]}


@pytest.mark.parametrize("version", versions(ApiKey.TXN_OFFSET_COMMIT))
def test_txn_offset_commit_stores_offsets_of_topics_that_may_be_read(version: int) -> None:
    rights = ("WRITE TRANSACTIONAL_ID tx", "READ GROUP g", "READ TOPIC u")
    driver = DenialDriver(*rights)
    producer = driver.ask(
        ApiKey.INIT_PRODUCER_ID, 4, transactional_id="tx", transaction_timeout_ms=1000
    )
    added = driver.ask(
        ApiKey.ADD_OFFSETS_TO_TXN,
        3,
        transactional_id="tx",
        group_id=GROUP,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
    )
    assert added.error_code == NONE
    response = driver.ask(
        ApiKey.TXN_OFFSET_COMMIT,
        version,
        transactional_id="tx",
        group_id=GROUP,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=_offsets(ApiKey.TXN_OFFSET_COMMIT, version, driver),
    )
    has_ids = version >= 6
    gone = ErrorCode.UNKNOWN_TOPIC_ID if has_ids else DENIED
    assert _offset_codes(response, driver, has_ids=has_ids) == {
        "u": [MISSING, NONE],
        "t": [DENIED, DENIED],
        "gone": [gone],
    }


def _commit(driver: DenialDriver, *names: str) -> None:
    topic_class = messages.OffsetCommitRequest.OffsetCommitRequestTopic
    topics = [
        topic_class(
            version=8,
            name=name,
            partitions=[entry(topic_class, "partitions", 8, partition_index=0, committed_offset=5)],
        )
        for name in names
    ]
    driver.ask(ApiKey.OFFSET_COMMIT, 8, group_id=GROUP, topics=topics)


def _committed_driver(*rights: str) -> DenialDriver:
    """Return a driver whose group has offsets of t and u; then the client has these rights."""
    driver = DenialDriver("READ GROUP g", "READ TOPIC *")
    _commit(driver, "t", "u")
    driver.forbid_all()
    driver.allow(*rights)
    return driver


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH))
def test_offset_fetch_puts_denied_topics_last(version: int) -> None:
    driver = _committed_driver("DESCRIBE GROUP g", "DESCRIBE TOPIC u")
    ids = {"t": driver.topics[0].topic_id, "u": driver.topics[1].topic_id, "gone": UNKNOWN_ID}
    request_class: Any = messages.OffsetFetchRequest
    parent: Any = request_class.OffsetFetchRequestGroup if version >= 8 else request_class
    topics = [
        entry(parent, "topics", version, name=name, partition_indexes=[0])
        for name in ("t", "gone", "u")
    ]
    if version >= 10:
        for topic, name in zip(topics, ("t", "gone", "u"), strict=True):
            topic.topic_id = ids[name]
    if version >= 8:
        group = parent(version=version, group_id=GROUP, topics=topics)
        (found,) = driver.ask(ApiKey.OFFSET_FETCH, version, groups=[group]).groups
    else:
        found = driver.ask(ApiKey.OFFSET_FETCH, version, group_id=GROUP, topics=topics)
    offsets = [
        (part.error_code, part.committed_offset)
        for topic in found.topics
        for part in topic.partitions
    ]
    gone = ErrorCode.UNKNOWN_TOPIC_ID if version >= 10 else DENIED
    assert offsets == [(NONE, 5), (DENIED, -1), (gone, -1)]
    if version >= 10:
        assert [topic.topic_id for topic in found.topics] == [ids["u"], ids["t"], UNKNOWN_ID]
    else:
        assert [topic.name for topic in found.topics] == ["u", "t", "gone"]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH, 2))
def test_all_offsets_are_those_of_topics_that_may_be_described(version: int) -> None:
    driver = _committed_driver("DESCRIBE GROUP g", "DESCRIBE TOPIC u")
    if version >= 8:
        request_class = messages.OffsetFetchRequest
        group = entry(request_class, "groups", version, group_id=GROUP, topics=None)
        hidden = entry(request_class, "groups", version, group_id="hidden", topics=None)
        response = driver.ask(ApiKey.OFFSET_FETCH, version, groups=[hidden, group])
        denied, found = response.groups
        assert (denied.error_code, denied.topics) == (GROUP_DENIED, [])
    else:
        found = driver.ask(ApiKey.OFFSET_FETCH, version, group_id=GROUP, topics=None)
    assert found.error_code == NONE
    assert [part.committed_offset for topic in found.topics for part in topic.partitions] == [5]
    if version >= 10:
        assert [topic.topic_id for topic in found.topics] == [driver.topics[1].topic_id]
    else:
        assert [topic.name for topic in found.topics] == ["u"]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_DELETE))
def test_offset_delete_needs_to_read_the_topic(version: int) -> None:
    driver = _committed_driver("DELETE GROUP g", "READ TOPIC u")
    topic_class = messages.OffsetDeleteRequest.OffsetDeleteRequestTopic
    topics = [
        topic_class(name=name, partitions=[entry(topic_class, "partitions", 0, partition_index=0)])
        for name in ("u", "t", "gone")
    ]
    response = driver.ask(ApiKey.OFFSET_DELETE, version, group_id=GROUP, topics=topics)
    assert partition_codes(response.topics) == [("t", [DENIED]), ("gone", [DENIED]), ("u", [NONE])]
    table = driver.cluster.groups.table
    assert [name for name, _index, _offset in table.all_committed(GROUP)] == ["t"]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FOR_LEADER_EPOCH))
def test_offset_for_leader_epoch_is_for_brokers_or_topics_that_may_be_described(
    version: int,
) -> None:
    driver = DenialDriver("DESCRIBE TOPIC u")
    topic_class = messages.OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    part = entry(topic_class, "partitions", version, partition=0, leader_epoch=0)

    def ask() -> list[tuple[str, int, int]]:
        response = driver.ask(
            ApiKey.OFFSET_FOR_LEADER_EPOCH,
            version,
            topics=[
                topic_class(version=version, topic=name, partitions=[part])
                for name in ("t", "gone", "u")
            ],
        )
        return [
            (topic.topic, found.error_code, found.end_offset)
            for topic in response.topics
            for found in topic.partitions
        ]

    assert ask() == [("u", NONE, 0), ("t", DENIED, -1), ("gone", DENIED, -1)]
    assert driver.noted == ["DESCRIBE TOPIC t", "DESCRIBE TOPIC gone"]
    driver.allow("CLUSTER_ACTION CLUSTER")
    assert ask() == [("t", NONE, 0), ("gone", MISSING, -1), ("u", NONE, 0)]


@pytest.mark.parametrize("version", range(4))
def test_no_partition_is_added_to_a_transaction_with_a_denied_topic(version: int) -> None:
    driver = DenialDriver("WRITE TRANSACTIONAL_ID tx", "WRITE TOPIC u")
    producer = driver.ask(
        ApiKey.INIT_PRODUCER_ID, 4, transactional_id="tx", transaction_timeout_ms=1000
    )
    request_class = messages.AddPartitionsToTxnRequest

    def add(*names: str) -> dict[str, int]:
        response = driver.ask(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            version,
            v3_and_below_transactional_id="tx",
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=[
                entry(request_class, "v3_and_below_topics", version, name=name, partitions=[0])
                for name in names
            ],
        )
        return {
            topic.name: part.partition_error_code
            for topic in response.results_by_topic_v3_and_below
            for part in topic.results_by_partition
        }

    skipped = ErrorCode.OPERATION_NOT_ATTEMPTED
    assert add("u", "t", "gone") == {"u": skipped, "t": DENIED, "gone": DENIED}
    transaction = driver.cluster.transactions.get("tx")
    assert transaction is not None
    assert not transaction.partitions
    # Nobody but coordinators adds the internal topics.
    driver.allow("ALL TOPIC *")
    offsets = "__consumer_offsets"
    assert add("u", offsets, "gone") == {"u": skipped, offsets: DENIED, "gone": MISSING}
    assert add("u", "t") == {"u": NONE, "t": NONE}


def test_describe_producers_says_that_a_topic_may_not_be_read() -> None:
    driver = DenialDriver("READ TOPIC u", "READ TOPIC gone")
    request_class = messages.DescribeProducersRequest
    topics = [
        entry(request_class, "topics", 0, name=name, partition_indexes=[0])
        for name in ("t", "u", "hidden", "gone", "in:valid")
    ]
    response = driver.ask(ApiKey.DESCRIBE_PRODUCERS, 0, topics=topics)
    assert partition_codes(response.topics) == [
        ("t", [DENIED]),
        ("u", [NONE]),
        ("hidden", [DENIED]),
        ("gone", [MISSING]),
        ("in:valid", [ErrorCode.INVALID_TOPIC_EXCEPTION]),
    ]
    assert response.topics[0].partitions[0].error_message == "Topic authorization failed."


def _begun_driver() -> DenialDriver:
    """Return a driver with an open transaction on t and u, and another one; nothing is allowed."""
    driver = DenialDriver("WRITE TRANSACTIONAL_ID *", "WRITE TOPIC *")
    request_class = messages.AddPartitionsToTxnRequest
    for transactional_id in ("tx", "other"):
        producer = driver.ask(
            ApiKey.INIT_PRODUCER_ID,
            4,
            transactional_id=transactional_id,
            transaction_timeout_ms=1000,
        )
        driver.ask(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=[
                entry(request_class, "v3_and_below_topics", 3, name=name, partitions=[0])
                for name in ("t", "u")
            ],
        )
    driver.forbid_all()
    return driver


def test_transactions_have_the_topics_that_may_be_described() -> None:
    driver = _begun_driver()
    driver.allow("DESCRIBE TRANSACTIONAL_ID tx", "DESCRIBE TRANSACTIONAL_ID gone")
    driver.allow("DESCRIBE TOPIC u")
    response = driver.ask(
        ApiKey.DESCRIBE_TRANSACTIONS, 0, transactional_ids=["other", "tx", "hidden", "gone"]
    )
    denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert [
        (state.transactional_id, state.error_code, [topic.topic for topic in state.topics])
        for state in response.transaction_states
    ] == [
        ("other", denied, []),
        ("tx", NONE, ["u"]),
        ("hidden", denied, []),
        ("gone", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, []),
    ]


@pytest.mark.parametrize("version", versions(ApiKey.LIST_TRANSACTIONS))
def test_transactions_that_may_not_be_described_are_not_listed(version: int) -> None:
    driver = _begun_driver()
    fields: dict[str, Any] = {"state_filters": [], "producer_id_filters": []}

    def listed() -> list[str]:
        response = driver.ask(ApiKey.LIST_TRANSACTIONS, version, **fields)
        assert response.error_code == NONE
        return sorted(state.transactional_id for state in response.transaction_states)

    assert listed() == []
    driver.allow("DESCRIBE TRANSACTIONAL_ID tx")
    assert listed() == ["tx"]
    driver.allow("DESCRIBE TRANSACTIONAL_ID *")
    assert listed() == ["other", "tx"]
