"""Rules over the admin port are those of CreateAcls, DescribeAcls and DeleteAcls."""

from typing import Any

import msgspec
import pytest

from broker.authorization.acl import Acl
from broker.http_admin.acls import (
    AclBody,
    AclQuery,
    AclsBody,
    DecisionQuery,
    add_acls,
    list_acls,
    list_decisions,
    remove_acls,
)
from broker.http_admin.operation import OPERATIONS, Problem
from broker.http_admin.state import Admin
from protocol.acls import AclOperation, PatternType, PermissionType, ResourceType
from tests.broker.http_admin.admin_server import make_admin, serving_site

ALICE = AclBody("User:alice", "ALLOW", "READ", "TOPIC", "orders")
ANYBODY = AclBody("User:*", "DENY", "WRITE", "TOPIC", "ord", "PREFIXED", "10.0.0.0/8")
READERS = AclBody("User:bob", "ALLOW", "ALL", "TOPIC", "*")


@pytest.fixture
def admin() -> Admin:
    admin = make_admin(1, **{"authorizer.class.name": "acl", "super.users": "User:root"})
    add_acls(admin, AclsBody([ALICE, ANYBODY, READERS]))
    return admin


def test_rules_are_added_listed_and_removed(admin: Admin) -> None:
    authorizer = admin.cluster.authorizer
    assert authorizer is not None
    assert set(authorizer.acls()) >= {
        Acl(
            ResourceType.TOPIC,
            "ord",
            PatternType.PREFIXED,
            "User:*",
            "10.0.0.0/8",
            AclOperation.WRITE,
            PermissionType.DENY,
        )
    }
    assert list_acls(admin, AclQuery()) == [ALICE, ANYBODY, READERS]
    assert remove_acls(admin, AclQuery(principal="alice")) == [ALICE]
    assert list_acls(admin, AclQuery()) == [ANYBODY, READERS]
    assert remove_acls(admin, AclQuery()) == [ANYBODY, READERS]
    assert authorizer.acls() == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"principal": "User:alice"}, [ALICE]),
        ({"permission_type": "deny"}, [ANYBODY]),
        ({"operation": "READ"}, [ALICE]),
        ({"resource_type": "GROUP"}, []),
        ({"resource_type": "ANY", "operation": "ANY", "resource_name": "ord"}, [ANYBODY]),
        ({"resource_name": "orders"}, [ALICE]),
        ({"resource_name": "ord", "pattern_type": "literal"}, []),
        ({"resource_name": "ord", "pattern_type": "prefixed"}, [ANYBODY]),
        ({"resource_name": "orders", "pattern_type": "match"}, [ALICE, ANYBODY, READERS]),
        ({"resource_name": "other", "pattern_type": "match"}, [READERS]),
        ({"host": "10.0.0.0/8"}, [ANYBODY]),
    ],
)
def test_a_query_selects_rules(admin: Admin, query: dict[str, str], found: list[AclBody]) -> None:
    assert list_acls(admin, msgspec.convert(query, AclQuery)) == found


def test_names_may_be_written_in_other_ways() -> None:
    body = AclBody("alice", "allow", "createTokens", "user", "bob", "Literal")
    assert body == AclBody("User:alice", "ALLOW", "CREATE_TOKENS", "USER", "User:bob", "LITERAL")
    assert AclBody("a", "ALLOW", "ALL", "USER", "*").resource_name == "*"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"operation": "REED"}, "operation: there is no 'REED'; did you mean READ?"),
        ({"operation": "UNKNOWN"}, "operation: there is no 'UNKNOWN'"),
        ({"resource_type": "TOPICS"}, "resource_type: there is no 'TOPICS'; did you mean TOPIC?"),
        ({"permission_type": "DENIED"}, "permission_type: there is no 'DENIED'"),
        ({"pattern_type": "MATCH"}, "pattern_type: there is no 'MATCH'"),
        ({"operation": "ANY"}, "operation: there is no 'ANY'"),
        ({"resource_type": "ANY"}, "resource_type: there is no 'ANY'"),
        ({"permission_type": "ANY"}, "permission_type: there is no 'ANY'"),
        ({"pattern_type": "ANY"}, "pattern_type: there is no 'ANY'"),
        ({"principal": ""}, "at `$.acls[0].principal`"),
    ],
)
def test_a_rule_that_does_not_exist_is_refused_with_the_nearest_name(
    change: dict[str, str], complaint: str
) -> None:
    rule = {**msgspec.to_builtins(ALICE), **change}
    [add] = [op for op in OPERATIONS if op.operation_id == "add_acls"]
    with pytest.raises(Problem) as caught:
        add.read_input({}, {}, msgspec.json.encode({"acls": [rule]}))
    assert caught.value.status == 400
    assert complaint in caught.value.detail


@pytest.mark.parametrize("field", ["operation", "resource_type", "permission_type", "pattern_type"])
def test_a_query_with_a_misspelt_name_is_refused(field: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=f"{field}: there is no 'X'"):
        msgspec.convert({field: "X"}, AclQuery)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"principal": None}, "missing required field `principal`"),
        ({"principal": ""}, "at `$.principal`"),
        ({"resource_type": None}, "missing required field `resource_type`"),
        ({"resource_type": "ANY"}, "resource_type: there is no 'ANY'"),
        ({"resource_type": "TOPICS"}, "did you mean TOPIC?"),
        ({"resource_name": ""}, "at `$.resource_name`"),
        ({"operation": "ANY"}, "operation: there is no 'ANY'"),
        ({"operation": "REED"}, "did you mean READ?"),
        ({"host": ""}, "at `$.host`"),
        ({"user": "alice"}, "unknown field `user`"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(
    change: dict[str, str | None], complaint: str
) -> None:
    question = {"principal": "alice", "resource_type": "TOPIC", "resource_name": "orders", **change}
    [decide] = [op for op in OPERATIONS if op.operation_id == "list_decisions"]
    with pytest.raises(Problem) as caught:
        decide.read_input(
            {}, {key: text for key, text in question.items() if text is not None}, b""
        )
    assert caught.value.status == 400
    assert complaint in caught.value.detail


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            AclBody("alice", "ALLOW", "WRITE", "GROUP", "g"),
            "a GROUP has no operation WRITE; there are: ALL, READ, DELETE, DESCRIBE",
        ),
        (AclBody("alice", "ALLOW", "ALTER", "CLUSTER", "mine"), "kafka-cluster"),
        (AclBody("alice", "ALLOW", "READ", "TOPIC", "orders", "LITERAL", "10.0.0.0/33"), "33"),
    ],
)
def test_a_rule_that_could_never_apply_is_refused_and_no_other_is_added(
    admin: Admin, body: AclBody, reason: str
) -> None:
    other = AclBody("User:x", "ALLOW", "READ", "TOPIC", "x")
    with pytest.raises(Problem) as caught:
        add_acls(admin, AclsBody([other, body]))
    assert caught.value.status == 422
    assert reason in caught.value.reason
    assert len(list_acls(admin, AclQuery())) == 3


@pytest.mark.parametrize(
    ("principal", "name", "is_allowed", "rule"),
    [
        ("alice", "orders", True, ALICE),
        ("alice", "other", False, "DefaultDeny"),
        ("bob", "other", True, READERS),
        ("root", "other", True, "SuperUser"),
    ],
)
def test_a_decision_names_the_rule(
    admin: Admin, principal: str, name: str, is_allowed: bool, rule: AclBody | str
) -> None:
    query = DecisionQuery(principal, "topic", name, "read")
    [decision] = list_decisions(admin, query)
    assert (decision.operation, decision.is_allowed) == ("READ", is_allowed)
    assert (decision.acl or decision.rule) == rule
    assert (decision.rule == "ACL") == (decision.acl is not None)


def test_without_an_operation_there_is_a_decision_about_each_of_the_type(admin: Admin) -> None:
    query = DecisionQuery("bob", "TOPIC", "orders", host="10.1.2.3")
    found = {decision.operation: decision.is_allowed for decision in list_decisions(admin, query)}
    assert found == {
        "READ": True,
        "WRITE": False,
        "CREATE": True,
        "DELETE": True,
        "ALTER": True,
        "DESCRIBE": True,
        "DESCRIBE_CONFIGS": True,
        "ALTER_CONFIGS": True,
    }
    assert [
        decision.operation for decision in list_decisions(admin, DecisionQuery("bob", "USER", "x"))
    ] == [
        "CREATE_TOKENS",
        "DESCRIBE_TOKENS",
    ]


def test_without_an_authorizer_there_are_no_rules_and_none_can_be_added() -> None:
    admin = make_admin(1)
    assert list_acls(admin, AclQuery()) == []
    for act in (
        lambda: add_acls(admin, AclsBody([ALICE])),
        lambda: remove_acls(admin, AclQuery()),
        lambda: list_decisions(admin, DecisionQuery("alice", "CLUSTER")),
    ):
        with pytest.raises(Problem, match=r"authorizer\.class\.name=acl") as caught:
            act()
        assert caught.value.status == 409


async def test_rules_over_http() -> None:
    rule: dict[str, Any] = {
        "principal": "alice",
        "permission_type": "ALLOW",
        "operation": "READ",
        "resource_type": "TOPIC",
        "resource_name": "orders",
    }
    complete = {**rule, "principal": "User:alice", "pattern_type": "LITERAL", "host": "*"}
    async with serving_site(overrides={"authorizer.class.name": "acl"}) as site:
        assert await site.ask("POST", "/v1/acls", json={"acls": [rule]}) == (201, [complete])
        assert await site.ask("GET", "/v1/acls?operation=read") == (200, [complete])
        question = "principal=alice&resource_type=TOPIC&resource_name=orders&operation=READ"
        decision = {"operation": "READ", "is_allowed": True, "rule": "ACL", "acl": complete}
        assert await site.ask("GET", f"/v1/acls/decisions?{question}") == (200, [decision])
        assert await site.ask("DELETE", "/v1/acls?resource_type=TOPIC") == (200, [complete])
        assert await site.ask("POST", "/v1/reset") == (204, "")
        assert await site.ask("GET", "/v1/acls") == (200, [])


RULES = {
    "acls": [
        {
            "principal": "mallory",
            "permission_type": "ALLOW",
            "operation": "ALL",
            "resource_type": "CLUSTER",
            "resource_name": "kafka-cluster",
        }
    ]
}
OVERRIDES = {"authorizer.class.name": "acl"}
REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/v1/acls", {}),
    ("GET", "/v1/acls/decisions?principal=mallory&resource_type=CLUSTER", {}),
    ("POST", "/v1/acls", {"json": RULES}),
    ("DELETE", "/v1/acls", {}),
]


async def test_rules_need_the_token_and_the_same_origin() -> None:
    token = {"Authorization": "Bearer sesame"}
    async with serving_site(token="sesame", overrides=OVERRIDES) as site:
        for headers, status in (
            ({}, 401),
            ({"Authorization": "Bearer guessed"}, 401),
            ({**token, "Origin": "http://evil.example"}, 403),
        ):
            for method, path, body in REQUESTS:
                answered, _ = await site.ask(method, path, headers=headers, **body)
                assert answered == status, (method, path, headers)
        assert await site.ask("GET", "/v1/acls", headers=token) == (200, [])
        for method, path, body in REQUESTS:
            answered, _ = await site.ask(method, path, headers=token, **body)
            assert answered in {200, 201}, (method, path)


async def test_a_page_of_another_origin_reads_and_changes_no_rules_without_a_token() -> None:
    """A form of another page can send JSON as text/plain without a preflight request."""
    form = {"data": msgspec.json.encode(RULES)}
    async with serving_site(overrides=OVERRIDES) as site:
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
            headers = {"Origin": origin, "Content-Type": "text/plain"}
            for method, path, body in REQUESTS:
                options = form if body else {}
                answered, _ = await site.ask(method, path, headers=headers, **options)
                assert answered == 403, (method, path, origin)
        assert await site.ask("GET", "/v1/acls") == (200, [])
        same_origin = {"Origin": site.url}
        assert (await site.ask("POST", "/v1/acls", headers=same_origin, json=RULES))[0] == 201
