"""Our broker with a recorded world refuses what the record never had."""

from collections.abc import Mapping
from typing import Any

from broker.http_admin.recorded_parts import AskedRequest
from broker.http_admin.strict_requests import StrictRequests, message_patch
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.proxy.diff.real_cluster import Connection, FaultyBroker, broker_of

USER = "User:ANONYMOUS"
RECORDED = [
    AskedRequest("Metadata", 12, USER, topics=["orders"]),
    AskedRequest("CreateTopics", 7, USER, topics=["orders"]),
    AskedRequest("FindCoordinator", 4, USER, groups=["billing"]),
    AskedRequest("OffsetFetch", 8, USER, groups=["billing"], topics=["orders"]),
    AskedRequest("DescribeConfigs", 4, USER, resources=["BROKER:1"]),
]


def connection(recorded: list[AskedRequest] = RECORDED) -> Connection:
    broker = broker_of(1)
    faults = broker.faults
    faults.set_hook(StrictRequests(recorded, faults.topic_name), is_lasting=True)
    return Connection(broker)


def created(topic: str) -> Mapping[str, Any]:
    topics = [{"name": topic, "num_partitions": 1, "replication_factor": 1}]
    return {"topics": topics, "timeout_ms": 1000}


def test_a_recorded_request_is_answered_as_always() -> None:
    ours = connection()
    assert ours.ask("CreateTopics", 7, **created("orders"))["topics"][0]["error_code"] == 0
    (topic,) = ours.ask("Metadata", 12, topics=[{"name": "orders"}])["topics"]
    assert (topic["name"], topic["error_code"]) == ("orders", 0)


def test_a_connection_may_always_ask_for_the_versions() -> None:
    fields = {"client_software_name": "x", "client_software_version": "1"}
    assert connection([]).ask("ApiVersions", 3, **fields)["error_code"] == 0


def test_a_topic_that_was_not_recorded_is_refused_with_the_nearest_request() -> None:
    ours = connection()
    (topic,) = ours.ask("CreateTopics", 7, **created("payments"))["topics"]
    assert topic["error_code"] == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert topic["error_message"] == (
        "This request was not recorded: topic payments. The nearest one is CreateTopics v7:"
        " topics was 'orders'."
    )
    # The connection stays usable.
    assert ours.ask("CreateTopics", 7, **created("orders"))["topics"][0]["error_code"] == 0


def test_a_group_that_was_not_recorded_has_an_error_that_clients_do_not_retry() -> None:
    groups = [{"group_id": "other", "topics": []}]
    (group,) = connection().ask("OffsetFetch", 8, groups=groups)["groups"]
    assert group["error_code"] == ErrorCode.INVALID_GROUP_ID


def test_an_api_that_was_not_recorded_is_an_invalid_request() -> None:
    assert connection().ask("ListGroups", 4)["error_code"] == ErrorCode.INVALID_REQUEST


def test_another_version_is_refused_with_the_recorded_one() -> None:
    (topic,) = connection().ask("CreateTopics", 6, **created("orders"))["topics"]
    assert topic["error_code"] == ErrorCode.INVALID_REQUEST
    assert topic["error_message"] == (
        f"This request was not recorded: CreateTopics v6 of {USER}. The nearest one is"
        " CreateTopics v7: version was 7."
    )


def test_another_user_is_refused() -> None:
    ours = connection()
    ours.session.principal = "alice"
    (topic,) = ours.ask("CreateTopics", 7, **created("orders"))["topics"]
    assert topic["error_message"].endswith(f"CreateTopics v7: user was '{USER}'.")


def test_another_configuration_is_refused() -> None:
    resources = [{"resource_type": 4, "resource_name": "2", "configuration_keys": None}]
    (result,) = connection().ask("DescribeConfigs", 4, resources=resources)["results"]
    assert result["error_code"] == ErrorCode.INVALID_REQUEST
    assert "resource BROKER:2" in result["error_message"]


def test_a_record_without_requests_refuses_all() -> None:
    (topic,) = connection([]).ask("CreateTopics", 7, **created("orders"))["topics"]
    assert topic["error_message"].endswith("The record has no requests.")


def test_the_refusal_lasts_after_a_reset() -> None:
    ours = connection()
    assert isinstance(ours.broker, FaultyBroker)
    ours.broker.faults.reset()
    (topic,) = ours.ask("CreateTopics", 7, **created("payments"))["topics"]
    assert topic["error_code"] == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_the_text_is_where_the_api_has_a_message() -> None:
    assert message_patch(ApiKey.CREATE_TOPICS, 7, "x") == {"topics": {"error_message": "x"}}
    assert message_patch(ApiKey.HEARTBEAT, 4, "x") == {}
