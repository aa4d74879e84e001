"""Results as frozen values, from the admin port's JSON."""

import pickle
from collections.abc import Mapping
from copy import copy
from dataclasses import FrozenInstanceError, fields
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from broker.http_admin import audit as rest_audit
from broker.http_admin import group_views as rest_groups
from broker.http_admin import quotas as rest_quotas
from broker.http_admin import share_views as rest_shares
from broker.http_admin import topic_records
from broker.http_admin import topics as rest_topics
from broker.http_admin import transactions as rest_transactions
from mock_kafka.acl_views import Denial
from mock_kafka.audit import AuditFinding, AuditReport, NotCovered
from mock_kafka.group_views import (
    Group,
    GroupMember,
    GroupOffset,
    GroupType,
    InFlightRecords,
    SharePartition,
    ShareSession,
    TopicPartitions,
)
from mock_kafka.views import (
    Metric,
    Partition,
    Record,
    Request,
    ShadowCount,
    ShadowEvent,
    Topic,
    Transaction,
    metric_of,
    record_of,
    request_of,
    selected_request_of,
    shadow_count_of,
)

PLAIN = {
    "kind": "request",
    "number": 7,
    "received_ms": 1000,
    "broker": 1,
    "connection": 2,
    "client_host": "127.0.0.1",
    "client_id": None,
    "user": "ANONYMOUS",
    "listener": "PLAINTEXT",
    "api": "Produce",
    "version": 9,
    "correlation_id": 4,
    "outcome": "closed",
    "close_reason": "fault drop before_response",
    "duration_us": 12,
    "throttle_time_ms": 30,
    "muted": False,
    "fault": "drop before_response",
    "denials": [
        {
            "operation": "WRITE",
            "resource_type": "TOPIC",
            "resource_name": "orders",
            "rule": "DefaultDeny",
            "acl": None,
        }
    ],
    "request_bytes": 100,
    "response_bytes": 0,
    "topics": ["orders"],
    "groups": [],
    "errors": ["NOT_ENOUGH_REPLICAS"],
}


def test_a_request_is_frozen_and_hashable_and_has_a_text_of_one_line() -> None:
    request = request_of({**PLAIN, "of_a_newer_version": 1})
    assert request.topics == ("orders",)
    assert request.request is None
    assert str(request) == (
        "#7  broker 1  (no client id) as ANONYMOUS  Produce v9  orders"
        "  -> fault drop before_response NOT_ENOUGH_REPLICAS  throttled 30 ms"
        "  denied WRITE TOPIC:orders by DefaultDeny  [drop before_response]"
    )
    assert request.denials == (Denial("WRITE", "TOPIC", "orders", "DefaultDeny"),)
    with pytest.raises(FrozenInstanceError):
        request.number = 8  # type: ignore[misc]
    assert {declared.name for declared in fields(Request)} == {
        *PLAIN,
        *("request", "response", "kind", "peer", "delay_ms", "shadow_throttle_times_ms"),
        "transactional_ids",
        *("request_hex", "response_hex"),
    }
    assert hash(request) == hash(request_of(PLAIN))


def test_a_request_with_some_fields_says_so_when_another_is_read() -> None:
    request = selected_request_of({"number": 7, "topics": ["orders"]})
    assert (request.number, request.topics) == (7, ("orders",))
    with pytest.raises(AttributeError, match="not asked for 'client_id'; add it to fields="):
        _ = request.client_id
    with pytest.raises(AttributeError, match="no attribute 'topic'"):
        _ = request.topic  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError):
        request.number = 8  # type: ignore[misc]
    assert str(request) == repr(request) == "Request(number=7, topics=('orders',))"
    assert {request, pickle.loads(pickle.dumps(request)), copy(request)} == {request}
    assert request != selected_request_of({"number": 7, "topics": []})


def test_a_line_that_is_no_request_has_all_its_fields() -> None:
    line = {"kind": "disconnect", "number": 1, "received_ms": 2, "broker": 3, "connection": 4}
    line |= {"client_host": "h", "user": "u", "reason": "r"}
    assert selected_request_of(line) == request_of(line)


def test_the_text_of_a_request_names_the_shadow_quota_that_would_throttle_it() -> None:
    request = request_of({**PLAIN, "shadow_throttle_times_ms": {"producer_ids_rate": 36_000}})

    assert "would be throttled 36000 ms by producer_ids_rate" in str(request)


def test_the_events_of_a_shadow_quota_are_values() -> None:
    event = {"time_ms": 5, "throttle_time_ms": 7, "user": "alice", "client_id": None}
    numbers = {"throttled": 1, "held": 2, "over_quota": 3, "first_ms": 4, "last_ms": 5}
    times = {"throttle_time_max_ms": 7, "throttle_time_total_ms": 7}
    whose = {"quota": "producer_ids_rate", "user": "alice", "client_id": None, "broker": 1}
    count = shadow_count_of({**whose, **numbers, **times, "events": [event]})

    assert count.events == (ShadowEvent(5, 7, "alice", None),)
    assert (count.quota, count.over_quota) == ("producer_ids_rate", 3)


def test_a_refused_connection_has_a_text_of_one_line() -> None:
    data = {
        "kind": "connection",
        "number": 3,
        "received_ms": 5,
        "broker": 2,
        "client_host": "127.0.0.1",
        "peer": "127.0.0.1:40000",
        "outcome": "refused",
        "delay_ms": 0,
        "fault": "#1 refuse_connection",
    }
    line = request_of(data)
    assert (line.kind, line.api, line.client_id, line.topics) == ("connection", "", None, ())
    assert str(line) == (
        "#3  broker 2  127.0.0.1:40000  new connection  -> refused  [#1 refuse_connection]"
    )


def test_bytes_and_nulls_of_a_record_are_distinguished() -> None:
    data = {
        "partition": 0,
        "offset": 5,
        "timestamp": 9,
        "key": None,
        "value": {"base64": ""},
        "headers": [{"key": "h", "value": {"base64": "/w=="}}, {"key": "n", "value": None}],
        "transaction": "aborted",
    }
    record = record_of("t", data)
    assert (record.key, record.value) == (None, b"")
    assert record.headers == (("h", b"\xff"), ("n", None))
    assert record.transaction == "aborted"


def test_a_metric_may_have_no_value() -> None:
    metric = metric_of(
        {"group": "Produce", "name": "byte-rate", "tags": {"user": "a"}, "value": None}
    )
    assert (metric.name, metric.tags["user"], metric.value) == ("byte-rate", "a", None)


def test_the_text_of_a_disconnect_has_the_reason() -> None:
    line = request_of(
        {
            "kind": "disconnect",
            "number": 5,
            "received_ms": 1000,
            "broker": 1,
            "connection": 3,
            "client_host": "127.0.0.1",
            "user": "alice",
            "reason": "client disconnected",
        }
    )
    assert (line.kind, line.outcome, line.close_reason) == (
        "disconnect",
        "closed",
        "client disconnected",
    )
    assert str(line) == "#5  broker 1  127.0.0.1 as alice  disconnect  -> client disconnected"


VIEWS: dict[type[Any], type[Any]] = {
    rest_audit.AuditView: AuditReport,
    rest_audit.FindingView: AuditFinding,
    rest_audit.NotCoveredView: NotCovered,
    rest_groups.GroupView: Group,
    rest_groups.MemberView: GroupMember,
    rest_groups.OffsetView: GroupOffset,
    rest_shares.InFlightView: InFlightRecords,
    rest_shares.SharePartitionView: SharePartition,
    rest_shares.ShareSessionView: ShareSession,
    rest_quotas.MeasurementView: Metric,
    rest_quotas.ShadowEventView: ShadowEvent,
    rest_quotas.ShadowView: ShadowCount,
    rest_topics.PartitionView: Partition,
    topic_records.RecordView: Record,
    rest_topics.TopicView: Topic,
    rest_transactions.TransactionView: Transaction,
}
"""What the admin port returns, and the frozen value that users get of it."""
RENAMED: dict[tuple[Any, str], str] = {(topic_records.RecordView, "timestamp"): "timestamp_ms"}
RETYPED: dict[tuple[Any, str], Any] = {
    (topic_records.RecordView, "key"): bytes | None,
    (topic_records.RecordView, "value"): bytes | None,
    (topic_records.RecordView, "headers"): tuple[tuple[str, bytes | None], ...],
    (rest_groups.GroupView, "group_type"): GroupType,
    (rest_groups.MemberView, "protocol"): GroupType,
    (rest_groups.MemberView, "subscribed_topics"): tuple[str, ...] | None,
    (rest_groups.MemberView, "assigned"): TopicPartitions | None,
    (rest_groups.MemberView, "revoking"): TopicPartitions | None,
    (rest_groups.MemberView, "target"): TopicPartitions | None,
    (rest_transactions.TransactionView, "partitions"): tuple[tuple[str, int], ...],
    (rest_audit.AuditView, "excluded"): Mapping[int, int],
}
NOT_IN_JSON = {Record: {"topic": str}}
LEFT_OUT = {Partition: {"bytes", "batches", "producers"}}


def frozen_type(of_json: Any) -> Any:
    """Return the type of a frozen value for a type of the admin port's JSON."""
    arguments = get_args(of_json)
    if get_origin(of_json) is list:
        return tuple[frozen_type(arguments[0]), ...]  # type: ignore[misc]
    if get_origin(of_json) is dict:
        key, value = arguments
        return Mapping[key, value]  # type: ignore[valid-type]
    assert get_origin(of_json) in {None, UnionType, Union}, of_json
    return VIEWS.get(of_json, of_json)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.__name__)
def test_a_frozen_value_has_the_fields_of_the_admin_ports_json(view: type[Any]) -> None:
    kind = VIEWS[view]
    expected = {
        RENAMED.get((view, name), name): RETYPED.get((view, name), frozen_type(of_json))
        for name, of_json in get_type_hints(view).items()
        if name not in LEFT_OUT.get(kind, ())
    }
    assert get_type_hints(kind) == {**NOT_IN_JSON.get(kind, {}), **expected}
