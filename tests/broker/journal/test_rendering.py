"""Lines of the journal can be filtered, and are shown without secrets."""

import json
from typing import Any
from uuid import UUID

import pytest

import broker.handlers  # noqa: F401 - registers every API
from broker.authorization.authorizer import DEFAULT_DENY
from broker.authorization.checks import WRITE_TOPIC, Denial
from broker.cluster.cluster import Cluster
from broker.journal.lines import Entry
from broker.journal.rendering import JournalFilter, describe_line
from protocol import messages
from protocol.json_view import HIDDEN
from tests.broker.cluster_builder import NOW_MS
from tests.broker.connection_driver import Client, fetch_frame, metadata_frame, request_frame
from tests.broker.journal.journalled_cluster import journalled_cluster, produce_frame


def topic_names(cluster: Cluster) -> Any:
    def name(topic_id: UUID) -> str | None:
        topic = cluster.topics.get_by_id(topic_id)
        return None if topic is None else topic.name

    return name


def found(client: Client, **conditions: Any) -> list[int]:
    line_filter = JournalFilter(**conditions)
    return [
        line.number
        for line in client.dispatcher.journal
        if line_filter.fits(line, topic_names(client.cluster))
    ]


def shown(client: Client, number: int = 1) -> dict[str, Any]:
    line = next(line for line in client.dispatcher.journal if line.number == number)
    line_json: dict[str, Any] = json.loads(
        json.dumps(describe_line(line, topic_names(client.cluster)))
    )
    return line_json


@pytest.fixture
def client() -> Client:
    """1 Produce, 2 Produce refused, 3 Metadata, 4 Fetch that waits, 5 the end."""
    client = Client(journalled_cluster())
    client.cluster.create_topic("orders", [(1,)], {})
    client.send(produce_frame("orders") + produce_frame("nowhere", 2) + metadata_frame(3))
    client.connection.session.principal = "alice"
    client.cluster.create_topic("empty", [(1,)], {})
    client.send(fetch_frame(4, "empty", max_wait_ms=500), NOW_MS + 5)
    client.dispatcher.journal.disconnected(client.connection, "client disconnected", NOW_MS + 6)
    return client


@pytest.mark.parametrize(
    ("conditions", "numbers"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"api": "Produce"}, [1, 2]),
        ({"api": "PRODUCE", "since": 1}, [2]),
        ({"topic": "orders"}, [1]),
        ({"topic": "empty"}, [4]),
        ({"topic": "nowhere"}, [2]),
        ({"error": "UNKNOWN_TOPIC_OR_PARTITION"}, [2]),
        ({"error": "UnknownTopicOrPartition"}, [2]),
        ({"user": "alice"}, [4, 5]),
        ({"client_id": "test"}, [1, 2, 3, 4]),
        ({"client_id": "other"}, []),
        ({"broker": 2}, []),
        ({"connection": 1, "kind": "disconnect"}, [5]),
        ({"kind": "request"}, [1, 2, 3, 4]),
        ({"outcome": "closed"}, [4]),
        ({"since_ms": NOW_MS + 5}, [4, 5]),
        ({"since_ms": NOW_MS + 6}, [5]),
        ({"group": "g"}, []),
        ({"fault": "none of it"}, []),
    ],
)
def test_a_filter_finds_lines_that_fit_all_conditions(
    client: Client, conditions: dict[str, Any], numbers: list[int]
) -> None:
    assert found(client, **conditions) == numbers


def test_a_topic_named_by_id_is_found_by_its_name() -> None:
    client = Client(journalled_cluster())
    topic = client.cluster.create_topic("orders", [(1,)], {})
    topic_class = messages.MetadataRequest.MetadataRequestTopic
    request = messages.MetadataRequest(
        version=12, topics=[topic_class(version=12, topic_id=topic.topic_id, name=None)]
    )
    client.send(request_frame(request, 12, 1))

    assert found(client, topic="orders") == [1]
    client.cluster.delete_topic(topic, NOW_MS)
    assert shown(client)["topics"] == [str(topic.topic_id)]


def test_a_waiting_request_matches_no_error() -> None:
    client = Client(journalled_cluster())
    client.cluster.create_topic("t", [(1,)], {})
    client.send(fetch_frame(1, "t", max_wait_ms=500))

    assert found(client, error="NONE") == []
    assert found(client, outcome="waiting", topic="t") == [1]


def test_a_request_is_shown_with_batch_summaries_and_error_names(client: Client) -> None:
    line_json = shown(client)

    assert line_json["api"] == "Produce"
    assert line_json["user"] == "ANONYMOUS"
    assert line_json["listener"] == "PLAINTEXT"
    (part,) = line_json["request"]["topic_data"][0]["partition_data"]
    (batch,) = part["records"]["batches"]
    assert (batch["record_count"], batch["producer_id"], batch["compression"]) == (1, -1, "none")
    (response,) = line_json["response"]["responses"][0]["partition_responses"]
    assert (response["error_code"], response["base_offset"]) == ("NONE", 0)
    assert shown(client, 2)["errors"] == ["UNKNOWN_TOPIC_OR_PARTITION"]
    assert shown(client, 4)["response"] is None
    assert shown(client, 5)["reason"] == "client disconnected"


def test_a_request_that_a_shadow_quota_would_throttle_is_marked() -> None:
    cluster = journalled_cluster()
    user = (("user", None),)
    assert cluster.quotas.clients.alter(user, [("producer_byte_rate", 1)], is_shadow=True) is None
    cluster.create_topic("orders", [(1,)], {})
    client = Client(cluster)
    client.send(produce_frame("orders") + metadata_frame(2))

    first, second = shown(client, 1), shown(client, 2)
    assert first["shadow_throttle_times_ms"]["producer_byte_rate"] > 0
    assert first["throttle_time_ms"] == 0
    assert second["shadow_throttle_times_ms"] == {}


def test_a_denied_request_is_found_and_shown_with_what_decided(client: Client) -> None:
    journal = client.dispatcher.journal
    [_, refused, *_] = [line for line in journal if isinstance(line, Entry)]
    refused.context.denials = (Denial(WRITE_TOPIC, "nowhere", DEFAULT_DENY),)

    assert shown(client, 2)["denials"] == [
        {
            "operation": "WRITE",
            "resource_type": "TOPIC",
            "resource_name": "nowhere",
            "rule": "DefaultDeny",
            "acl": None,
        }
    ]
    assert shown(client, 1)["denials"] == []
    assert found(client, denied=True) == [2]
    assert found(client, denied=False) == [1, 3, 4]


def test_bodies_can_be_left_out(client: Client) -> None:
    line = next(iter(client.dispatcher.journal))
    line_json = describe_line(line, topic_names(client.cluster), has_bodies=False)

    assert not line_json.keys() & {"request", "response"}


def test_no_secret_is_shown() -> None:
    client = Client(journalled_cluster())
    scram = messages.AlterUserScramCredentialsRequest
    upsertion = scram.ScramCredentialUpsertion(
        version=0, name="u", mechanism=1, iterations=4096, salt=b"SALTY", salted_password=b"SECRET"
    )
    client.send(
        request_frame(scram(version=0, deletions=[], upsertions=[upsertion]), 0, 1)
        + request_frame(
            messages.SaslAuthenticateRequest(version=2, auth_bytes=b"\0alice\0SECRET"), 2, 2
        )
    )
    alter = messages.IncrementalAlterConfigsRequest
    resource_class = alter.AlterConfigsResource
    configs = [
        resource_class.AlterableConfig(version=1, name=name, config_operation=0, value=value)
        for name, value in (
            ("sasl.users", "alice:SECRET"),
            ("made.up", "SECRET"),
            ("message.max.bytes", "1000"),
        )
    ]
    resource = resource_class(version=1, resource_type=4, resource_name="", configs=configs)
    client = Client(client.cluster, dispatcher=client.dispatcher)
    client.send(request_frame(alter(version=1, resources=[resource]), 1, 3))

    text = json.dumps([shown(client, number) for number in (1, 2, 3)])
    assert "SECRET" not in text
    assert "U0VDUkVU" not in text  # in base64
    assert "U0FMVFk" not in text
    assert text.count(HIDDEN) == 5
    assert '"value": "1000"' in text


def arrivals() -> Client:
    """1 a refused connection, 2 a delayed one, 3 a request, 4 a disconnect."""
    client = Client(journalled_cluster())
    journal = client.dispatcher.journal
    journal.arrived(
        2, "10.0.0.1:4000", is_refused=True, delay_ms=0, fault="#1 refuse", time_ms=NOW_MS
    )
    journal.arrived(
        1, "[::1]:4000", is_refused=False, delay_ms=30, fault="#2 delay", time_ms=NOW_MS + 1
    )
    client.send(metadata_frame(3), NOW_MS + 2)
    journal.disconnected(client.connection, "gone", NOW_MS + 3)
    return client


@pytest.mark.parametrize(
    ("conditions", "numbers"),
    [
        ({}, [1, 2, 3, 4]),
        ({"kind": "connection"}, [1, 2]),
        ({"kind": "request"}, [3]),
        ({"kind": "disconnect"}, [4]),
        ({"api": "Metadata"}, [3]),
        ({"client_id": "c"}, []),
        ({"user": "ANONYMOUS"}, [3, 4]),
        ({"connection": 1}, [3, 4]),
        ({"outcome": "refused"}, [1]),
        ({"outcome": "delayed"}, [2]),
        ({"broker": 2}, [1]),
        ({"fault": "#2"}, [2]),
        ({"since": 1, "kind": "connection"}, [2]),
        ({"since_ms": NOW_MS + 1, "kind": "connection"}, [2]),
    ],
)
def test_refused_and_delayed_connections_are_found(
    conditions: dict[str, Any], numbers: list[int]
) -> None:
    assert found(arrivals(), **conditions) == numbers


def test_a_refused_connection_is_shown_with_client_and_reason() -> None:
    client = arrivals()
    assert shown(client, 1) == {
        "kind": "connection",
        "number": 1,
        "received_ms": NOW_MS,
        "broker": 2,
        "client_host": "10.0.0.1",
        "peer": "10.0.0.1:4000",
        "outcome": "refused",
        "delay_ms": 0,
        "fault": "#1 refuse",
    }
    later = shown(client, 2)
    assert (later["outcome"], later["delay_ms"], later["fault"]) == ("delayed", 30, "#2 delay")
