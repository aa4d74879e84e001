"""Requests that fail as a whole without one right: every API and version, denied and allowed."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.handlers.denial_driver import (
    EVERYTHING,
    GROUP,
    DenialDriver,
    entry,
    error_codes,
    noted_right,
)

GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
CLUSTER_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
ID_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
Fields = Callable[[int, DenialDriver], dict[str, Any]]


class Case(NamedTuple):
    """A request of an API, and the right without which it gets an error."""

    right: str
    error_code: ErrorCode
    fields: Fields
    version_min: int = 0
    version_max: int = 99
    has_alternative: bool = False
    """Whether another right does as well."""


def _group(_version: int, _driver: DenialDriver) -> dict[str, Any]:
    return {"group_id": GROUP}


def _member(_version: int, _driver: DenialDriver) -> dict[str, Any]:
    return {"group_id": GROUP, "member_id": "m"}


def _commit(version: int, driver: DenialDriver) -> dict[str, Any]:
    topic_class = messages.OffsetCommitRequest.OffsetCommitRequestTopic
    topic: Any = topic_class(version=version, name="t", topic_id=driver.topics[0].topic_id)
    topic.partitions = [entry(topic_class, "partitions", version, partition_index=0)]
    return {"group_id": GROUP, "topics": [topic]}


def _commit_in_transaction(version: int, driver: DenialDriver) -> dict[str, Any]:
    topic_class = messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    topic: Any = topic_class(version=version, name="t", topic_id=driver.topics[0].topic_id)
    topic.partitions = [entry(topic_class, "partitions", version, partition_index=0)]
    return {"group_id": GROUP, "transactional_id": "tx", "topics": [topic]}


def _fetch(version: int, driver: DenialDriver) -> dict[str, Any]:
    request_class = messages.OffsetFetchRequest
    if version >= 8:
        group = entry(request_class, "groups", version, group_id=GROUP, topics=[])
        return {"groups": [group]}
    topic = entry(request_class, "topics", version, name="t", partition_indexes=[0])
    return {"group_id": GROUP, "topics": [topic]}


def _sync(version: int, _driver: DenialDriver) -> dict[str, Any]:
    protocol = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
    return {"group_id": GROUP, "member_id": "m", **protocol}


def _find(key_type: int, key: str) -> Fields:
    def fields(version: int, _driver: DenialDriver) -> dict[str, Any]:
        keys = {"coordinator_keys": [key]} if version >= 4 else {"key": key}
        return {"key_type": key_type, **keys} if version else keys

    return fields


def _transaction(_version: int, _driver: DenialDriver) -> dict[str, Any]:
    return {"transactional_id": "tx", "transaction_timeout_ms": 1000}


def _producer(_version: int, _driver: DenialDriver) -> dict[str, Any]:
    return {"transactional_id": None}


def _end(_version: int, _driver: DenialDriver) -> dict[str, Any]:
    return {"transactional_id": "tx"}


def _offsets_to_transaction(_version: int, _driver: DenialDriver) -> dict[str, Any]:
    return {"transactional_id": "tx", "group_id": GROUP}


def _partitions(version: int, _driver: DenialDriver) -> dict[str, Any]:
    request_class = messages.AddPartitionsToTxnRequest
    if version >= 4:
        transaction_class = request_class.AddPartitionsToTxnTransaction
        topic = entry(transaction_class, "topics", version, name="t", partitions=[0])
        transaction = transaction_class(version=version, transactional_id="tx", topics=[topic])
        return {"transactions": [transaction]}
    topic = entry(request_class, "v3_and_below_topics", version, name="t", partitions=[0])
    return {"v3_and_below_transactional_id": "tx", "v3_and_below_topics": [topic]}


def _markers(version: int, _driver: DenialDriver) -> dict[str, Any]:
    marker_class = messages.WriteTxnMarkersRequest.WritableTxnMarker
    topic = entry(marker_class, "topics", version, name="nope", partition_indexes=[0])
    marker = marker_class(version=version, producer_id=1, producer_epoch=0, topics=[topic])
    return {"markers": [marker]}


def _names(field: str, name: str = GROUP) -> Fields:
    return lambda _version, _driver: {field: [name]}


def _state(name: str, topic_name: str) -> Fields:
    def fields(version: int, driver: DenialDriver) -> dict[str, Any]:
        topic_class = getattr(getattr(messages, name), topic_name)
        partition = entry(topic_class, "partitions", version, partition=0)
        topic = topic_class(
            version=version, topic_id=driver.topics[0].topic_id, partitions=[partition]
        )
        return {"group_id": GROUP, "topics": [topic]}

    return fields


def _described_offsets(version: int, _driver: DenialDriver) -> dict[str, Any]:
    request_class = messages.DescribeShareGroupOffsetsRequest
    return {"groups": [entry(request_class, "groups", version, group_id=GROUP, topics=None)]}


def _streams_member(version: int, _driver: DenialDriver) -> dict[str, Any]:
    return {"group_id": GROUP, "member_id": "m", "member_epoch": 1}


def _description(version: int, _driver: DenialDriver) -> dict[str, Any]:
    request_class = messages.StreamsGroupTopologyDescriptionUpdateRequest
    empty = request_class.TopologyDescription(version=version, subtopologies=[], global_stores=[])
    return {"group_id": GROUP, "member_id": "m", "topology_description": empty}


READ_GROUP = ("READ GROUP g", GROUP_DENIED)
ACTION = ("CLUSTER_ACTION CLUSTER", CLUSTER_DENIED)
SHARE_KEY = f"{GROUP}:AAAAAAAAAAAAAAAAAAAAAQ:0"
CASES: list[tuple[ApiKey, Case]] = [
    (ApiKey.OFFSET_COMMIT, Case(*READ_GROUP, _commit)),
    (ApiKey.OFFSET_FETCH, Case("DESCRIBE GROUP g", GROUP_DENIED, _fetch)),
    (ApiKey.FIND_COORDINATOR, Case("DESCRIBE GROUP g", GROUP_DENIED, _find(0, GROUP))),
    (ApiKey.FIND_COORDINATOR, Case("DESCRIBE TRANSACTIONAL_ID tx", ID_DENIED, _find(1, "tx"), 1)),
    (ApiKey.FIND_COORDINATOR, Case(*ACTION, _find(2, SHARE_KEY), 6)),
    (ApiKey.JOIN_GROUP, Case(*READ_GROUP, _group)),
    (ApiKey.HEARTBEAT, Case(*READ_GROUP, _member)),
    (ApiKey.LEAVE_GROUP, Case(*READ_GROUP, _group, 3)),
    (ApiKey.LEAVE_GROUP, Case(*READ_GROUP, _member, 0, 2)),
    (ApiKey.SYNC_GROUP, Case(*READ_GROUP, _sync)),
    (ApiKey.DESCRIBE_GROUPS, Case("DESCRIBE GROUP g", GROUP_DENIED, _names("groups"))),
    (ApiKey.INIT_PRODUCER_ID, Case("WRITE TRANSACTIONAL_ID tx", ID_DENIED, _transaction)),
    (
        ApiKey.INIT_PRODUCER_ID,
        Case("IDEMPOTENT_WRITE CLUSTER", CLUSTER_DENIED, _producer, has_alternative=True),
    ),
    (
        ApiKey.INIT_PRODUCER_ID,
        Case("WRITE TOPIC any", CLUSTER_DENIED, _producer, has_alternative=True),
    ),
    (
        ApiKey.ADD_PARTITIONS_TO_TXN,
        Case("WRITE TRANSACTIONAL_ID tx", ID_DENIED, _partitions, 0, 3),
    ),
    (ApiKey.ADD_PARTITIONS_TO_TXN, Case(*ACTION, _partitions, 4)),
    (
        ApiKey.ADD_OFFSETS_TO_TXN,
        Case("WRITE TRANSACTIONAL_ID tx", ID_DENIED, _offsets_to_transaction),
    ),
    (ApiKey.END_TXN, Case("WRITE TRANSACTIONAL_ID tx", ID_DENIED, _end)),
    (ApiKey.WRITE_TXN_MARKERS, Case(*ACTION, _markers, has_alternative=True)),
    (
        ApiKey.WRITE_TXN_MARKERS,
        Case("ALTER CLUSTER", CLUSTER_DENIED, _markers, has_alternative=True),
    ),
    (
        ApiKey.TXN_OFFSET_COMMIT,
        Case("WRITE TRANSACTIONAL_ID tx", ID_DENIED, _commit_in_transaction),
    ),
    (ApiKey.DELETE_GROUPS, Case("DELETE GROUP g", GROUP_DENIED, _names("groups_names"))),
    (ApiKey.OFFSET_DELETE, Case("DELETE GROUP g", GROUP_DENIED, _group)),
    (
        ApiKey.DESCRIBE_TRANSACTIONS,
        Case("DESCRIBE TRANSACTIONAL_ID tx", ID_DENIED, _names("transactional_ids", "tx")),
    ),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, Case(*READ_GROUP, _member)),
    (
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        Case("DESCRIBE GROUP g", GROUP_DENIED, _names("group_ids")),
    ),
    (ApiKey.SHARE_GROUP_HEARTBEAT, Case(*READ_GROUP, _member)),
    (ApiKey.SHARE_GROUP_DESCRIBE, Case("DESCRIBE GROUP g", GROUP_DENIED, _names("group_ids"))),
    (ApiKey.SHARE_FETCH, Case(*READ_GROUP, _member)),
    (ApiKey.SHARE_ACKNOWLEDGE, Case(*READ_GROUP, _member)),
    (
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        Case(*ACTION, _state("InitializeShareGroupStateRequest", "InitializeStateData")),
    ),
    (
        ApiKey.READ_SHARE_GROUP_STATE,
        Case(*ACTION, _state("ReadShareGroupStateRequest", "ReadStateData")),
    ),
    (
        ApiKey.WRITE_SHARE_GROUP_STATE,
        Case(*ACTION, _state("WriteShareGroupStateRequest", "WriteStateData")),
    ),
    (
        ApiKey.DELETE_SHARE_GROUP_STATE,
        Case(*ACTION, _state("DeleteShareGroupStateRequest", "DeleteStateData")),
    ),
    (
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
        Case(*ACTION, _state("ReadShareGroupStateSummaryRequest", "ReadStateSummaryData")),
    ),
    (ApiKey.STREAMS_GROUP_HEARTBEAT, Case(*READ_GROUP, _streams_member)),
    (ApiKey.STREAMS_GROUP_DESCRIBE, Case("DESCRIBE GROUP g", GROUP_DENIED, _names("group_ids"))),
    (
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        Case("DESCRIBE GROUP g", GROUP_DENIED, _described_offsets),
    ),
    (ApiKey.ALTER_SHARE_GROUP_OFFSETS, Case(*READ_GROUP, _group)),
    (ApiKey.DELETE_SHARE_GROUP_OFFSETS, Case("DELETE GROUP g", GROUP_DENIED, _group)),
    (ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, Case(*READ_GROUP, _description)),
]


def _runs() -> Iterator[Any]:
    for api_key, case in CASES:
        route = ROUTES[api_key]
        low, high = max(route.version_min, case.version_min), route.version_max
        for version in range(low, min(high, case.version_max) + 1):
            name = f"{api_key.name}-v{version}-{case.right}"
            yield pytest.param(api_key, case, version, id=name)


@pytest.mark.parametrize(("api_key", "case", "version"), list(_runs()))
def test_a_request_has_one_error_without_a_right_and_another_result_with_it(
    api_key: ApiKey, case: Case, version: int
) -> None:
    driver = DenialDriver()

    denied = driver.ask(api_key, version, **case.fields(version, driver))
    found = error_codes(denied)
    # The request itself may have no error beside that of all that it names.
    assert case.error_code in found
    assert found <= {case.error_code, ErrorCode.NONE}
    assert driver.noted

    driver.allow(case.right)
    allowed = driver.ask(api_key, version, **case.fields(version, driver))
    assert case.error_code not in error_codes(allowed)
    assert noted_right(case.right) not in driver.noted


@pytest.mark.parametrize(("api_key", "case", "version"), list(_runs()))
def test_a_rule_against_one_right_decides_among_all_others(
    api_key: ApiKey, case: Case, version: int
) -> None:
    assert case.error_code in {check.error_code for check in ROUTES[api_key].checks}
    driver = DenialDriver(*EVERYTHING)
    allowed = driver.ask(api_key, version, **case.fields(version, driver))
    assert case.error_code not in error_codes(allowed)
    assert driver.noted == []

    driver.deny(case.right)
    denied = driver.ask(api_key, version, **case.fields(version, driver))
    assert (case.error_code in error_codes(denied)) is not case.has_alternative
    assert driver.noted == ([] if case.has_alternative else [noted_right(case.right)])
