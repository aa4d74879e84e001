"""What requests asked for, without what another run would have otherwise."""

from typing import Any
from uuid import UUID

import pytest

from broker.http_admin import asked_requests
from broker.http_admin.asked_requests import AskedRequests, asked_of
from broker.http_admin.recorded_parts import AskedRequest
from protocol import acls, configs, messages
from protocol.api_keys import ApiKey

TOPIC_ID = UUID(int=3)


def topic_name(topic_id: UUID) -> str | None:
    return "orders" if topic_id == TOPIC_ID else None


def asked_by(api_key: ApiKey, request: Any) -> AskedRequest:
    return asked_of(api_key, 1, request, "User:ann", topic_name)


def test_topics_have_names() -> None:
    topic = messages.FetchRequest.FetchTopic
    request = messages.FetchRequest(
        topics=[topic(topic="", topic_id=TOPIC_ID, partitions=[]), topic(topic="a", partitions=[])]
    )
    assert asked_by(ApiKey.FETCH, request) == AskedRequest(
        "Fetch", 1, "User:ann", topics=["a", "orders"]
    )


def test_groups_and_transactions_have_names() -> None:
    request = messages.TxnOffsetCommitRequest(
        transactional_id="x", group_id="g", producer_id=1, topics=[]
    )
    found = asked_by(ApiKey.TXN_OFFSET_COMMIT, request)
    assert (found.groups, found.transactional_ids) == (["g"], ["x"])


def test_what_cannot_be_decoded_has_an_api() -> None:
    assert asked_by(ApiKey.FETCH, None) == AskedRequest("Fetch", 1, "User:ann")
    assert asked_of(999, 1, None, "", topic_name).api == "999"


def resource(kind: int, name: str) -> Any:
    return messages.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name
    )


def quota(*parts: tuple[str, str | None]) -> Any:
    entry = messages.AlterClientQuotasRequest.EntryData
    return entry(
        entity=[entry.EntityData(entity_type=kind, entity_name=name) for kind, name in parts]
    )


_SCRAM = messages.AlterUserScramCredentialsRequest
_ACL = messages.DeleteAclsRequest.DeleteAclsFilter
_COMPONENT = messages.DescribeClientQuotasRequest.ComponentData


@pytest.mark.parametrize(
    ("request_", "resources"),
    [
        (
            messages.DescribeConfigsRequest(
                resources=[
                    resource(configs.ResourceType.TOPIC, "t"),
                    resource(configs.ResourceType.BROKER, "1"),
                    resource(99, "n"),
                ]
            ),
            ["99:n", "BROKER:1"],
        ),
        (
            messages.DescribeAclsRequest(
                resource_type_filter=acls.ResourceType.ANY, resource_name_filter=None
            ),
            ["ACL:ANY"],
        ),
        (
            messages.DeleteAclsRequest(
                filters=[
                    _ACL(
                        resource_type_filter=acls.ResourceType.TOPIC, resource_name_filter="orders"
                    )
                ]
            ),
            ["ACL:TOPIC:orders"],
        ),
        (
            messages.CreateAclsRequest(
                creations=[
                    messages.CreateAclsRequest.AclCreation(
                        resource_type=acls.ResourceType.GROUP, resource_name="g"
                    )
                ]
            ),
            ["ACL:GROUP:g"],
        ),
        (
            messages.AlterClientQuotasRequest(
                entries=[quota(("user", "ann"), ("client-id", None)), quota(("ip", "::1"))]
            ),
            ["QUOTA:client-id,user=ann", "QUOTA:ip=::1"],
        ),
        (
            messages.DescribeClientQuotasRequest(
                components=[_COMPONENT(entity_type="user", match_type=0, match="ann")]
            ),
            ["QUOTA:user=ann"],
        ),
        (
            _SCRAM(
                deletions=[_SCRAM.ScramCredentialDeletion(name="ann", mechanism=1)],
                upsertions=[
                    _SCRAM.ScramCredentialUpsertion(
                        name="bob", mechanism=1, salt=b"s", salted_password=b"p"
                    )
                ],
            ),
            ["USER:ann", "USER:bob"],
        ),
        (messages.DescribeUserScramCredentialsRequest(users=None), []),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else "",
)
def test_other_resources_have_a_type_and_a_name(request_: Any, resources: list[str]) -> None:
    found = asked_by(ApiKey(request_.API_KEY), request_)
    assert found.resources == resources
    assert "salt" not in repr(found)


def test_requests_of_a_kind_are_one_entry() -> None:
    requests = AskedRequests()
    requests.see(AskedRequest("Fetch", 1, topics=["b"]))
    requests.see(AskedRequest("Fetch", 1, topics=["a"]))
    requests.see(AskedRequest("Fetch", 2, topics=["a"]))
    requests.see(AskedRequest("Fetch", 1, user="User:ann"))
    assert requests.entries() == [
        AskedRequest("Fetch", 1, topics=["a", "b"], count=2),
        AskedRequest("Fetch", 2, topics=["a"]),
        AskedRequest("Fetch", 1, user="User:ann"),
    ]


def test_the_number_of_kinds_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_requests, "ENTRIES_MAX", 1)
    requests = AskedRequests()
    for group in ("a", "b", "a", "c"):
        requests.see(AskedRequest("Heartbeat", 1, groups=[group]))
    assert requests.entries() == [AskedRequest("Heartbeat", 1, groups=["a"], count=2)]
    assert requests.left_out_count == 2
