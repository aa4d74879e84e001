"""The authorizer decides as a naive copy of its rules does, however many rules there are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.authorization import authorizer as authorizer_module
from broker.authorization.acl import Acl, AclFilter
from broker.authorization.authorizer import (
    DEFAULT_ALLOW,
    DEFAULT_DENY,
    SUPER_USER,
    Authorizer,
    Decision,
)
from broker.authorization.hosts import address_range
from protocol.acls import AclOperation, PatternType, PermissionType, ResourceType
from tests.examples import examples

Op = AclOperation
ALICE, BOB, EVERYBODY = "User:alice", "User:bob", "User:*"
HOST, OTHER_HOST = "10.0.0.1", "127.0.0.1"


def rule(
    name: str = "orders",
    operation: Op = Op.READ,
    *,
    principal: str = ALICE,
    host: str = "*",
    resource_type: ResourceType = ResourceType.TOPIC,
    is_prefix: bool = False,
    is_deny: bool = False,
) -> Acl:
    return Acl(
        resource_type,
        name,
        PatternType.PREFIXED if is_prefix else PatternType.LITERAL,
        principal,
        host,
        operation,
        PermissionType.DENY if is_deny else PermissionType.ALLOW,
    )


def with_rules(*acls: Acl, allows_without_acl: bool = False) -> Authorizer:
    authorizer = Authorizer(frozenset({"User:admin"}), allows_without_acl=allows_without_acl)
    for acl in acls:
        authorizer.add(acl)
    return authorizer


def decide(
    authorizer: Authorizer, operation: Op = Op.READ, name: str = "orders", principal: str = ALICE
) -> Decision:
    return authorizer.authorize(principal, HOST, operation, ResourceType.TOPIC, name)


def may(authorizer: Authorizer, operation: Op = Op.READ, name: str = "orders") -> bool:
    return decide(authorizer, operation, name).is_allowed


# The rules, one by one --------------------------------------------------------------------------


def test_without_rules_only_super_users_may_do_anything() -> None:
    authorizer = with_rules()
    assert decide(authorizer) == (False, DEFAULT_DENY)
    assert decide(authorizer, principal="User:admin") == (True, SUPER_USER)


def test_no_rule_denies_a_super_user() -> None:
    authorizer = with_rules(rule("*", Op.ALL, principal=EVERYBODY, is_deny=True))
    assert decide(authorizer, principal="User:admin").is_allowed


@pytest.mark.parametrize(
    "acl",
    [
        rule(),
        rule("*"),
        rule("ord", is_prefix=True),
        rule("orders", is_prefix=True),
        rule(principal=EVERYBODY),
        rule(host=HOST),
        rule(host="10.0.0.0/8"),
        rule(operation=Op.ALL),
    ],
)
def test_a_rule_that_matches_allows_and_is_named(acl: Acl) -> None:
    assert decide(with_rules(acl)) == (True, acl)


@pytest.mark.parametrize(
    "acl",
    [
        rule("order"),
        rule("orders-1"),
        rule("orders-1", is_prefix=True),
        rule("*", is_prefix=True),
        rule(principal=BOB),
        rule(principal="Group:alice"),
        rule(host=OTHER_HOST),
        rule(host="10.0.0.0/32"),
        rule(operation=Op.WRITE),
        rule(resource_type=ResourceType.GROUP),
    ],
)
def test_a_rule_that_does_not_match_allows_nothing(acl: Acl) -> None:
    assert not may(with_rules(acl))


@pytest.mark.parametrize(
    "deny",
    [
        rule(is_deny=True),
        rule("*", is_deny=True),
        rule("o", is_prefix=True, is_deny=True),
        rule(principal=EVERYBODY, is_deny=True),
        rule(host="10.0.0.0/24", is_deny=True),
        rule(operation=Op.ALL, is_deny=True),
    ],
)
def test_a_rule_that_denies_decides_before_all_that_allow(deny: Acl) -> None:
    allows = [rule(), rule("*"), rule("orders", is_prefix=True), rule(operation=Op.ALL)]
    for acls in ([deny, *allows], [*allows, deny]):
        assert decide(with_rules(*acls)) == (False, deny)


def test_describe_is_implied_by_what_needs_it() -> None:
    for operation in (Op.READ, Op.WRITE, Op.DELETE, Op.ALTER, Op.DESCRIBE, Op.ALL):
        assert may(with_rules(rule(operation=operation)), Op.DESCRIBE)
    for operation in (Op.CREATE, Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS, Op.CLUSTER_ACTION):
        assert not may(with_rules(rule(operation=operation)), Op.DESCRIBE)


def test_describe_configs_is_implied_by_alter_configs() -> None:
    assert may(with_rules(rule(operation=Op.ALTER_CONFIGS)), Op.DESCRIBE_CONFIGS)
    assert not may(with_rules(rule(operation=Op.ALTER)), Op.DESCRIBE_CONFIGS)
    assert not may(with_rules(rule(operation=Op.DESCRIBE_CONFIGS)), Op.ALTER_CONFIGS)


def test_a_rule_that_denies_implies_nothing() -> None:
    authorizer = with_rules(rule(operation=Op.DESCRIBE), rule(operation=Op.READ, is_deny=True))
    assert may(authorizer, Op.DESCRIBE)
    assert not may(authorizer, Op.READ)


def test_allow_everyone_if_no_acl_found_is_about_the_resource_and_not_the_principal() -> None:
    authorizer = with_rules(rule(principal=BOB), allows_without_acl=True)
    assert decide(authorizer, name="other") == (True, DEFAULT_ALLOW)
    assert decide(authorizer) == (False, DEFAULT_DENY)
    authorizer.add(rule("*", principal=BOB))
    assert decide(authorizer, name="other") == (False, DEFAULT_DENY)


def test_the_most_specific_rule_that_denies_is_named() -> None:
    literal, prefixed, any_name = (
        rule(is_deny=True),
        rule("ord", is_prefix=True, is_deny=True),
        rule("*", is_deny=True),
    )
    authorizer = with_rules(any_name, prefixed, literal)
    for acl in (literal, prefixed, any_name):
        assert decide(authorizer).rule == acl
        authorizer.remove(acl)


def test_an_ipv6_client_is_named_as_java_prints_its_address() -> None:
    authorizer = with_rules(rule(host="0:0:0:0:0:0:0:1"))
    assert authorizer.authorize(ALICE, "::1", Op.READ, ResourceType.TOPIC, "orders").is_allowed


# Any resource of a type -------------------------------------------------------------------------


def may_any(*acls: Acl, principal: str = ALICE, allows_without_acl: bool = False) -> bool:
    authorizer = with_rules(*acls, allows_without_acl=allows_without_acl)
    return authorizer.authorize_by_resource_type(principal, HOST, Op.READ, ResourceType.TOPIC)


@pytest.mark.parametrize(
    "acl", [rule("a"), rule("a", is_prefix=True), rule("*"), rule("a", Op.ALL)]
)
def test_one_resource_is_enough_for_any_resource_of_a_type(acl: Acl) -> None:
    assert may_any(acl)


def test_a_super_user_may_do_an_operation_on_any_resource() -> None:
    assert may_any(principal="User:admin")
    assert not may_any()
    assert may_any(allows_without_acl=True)


@pytest.mark.parametrize(
    "acl",
    [
        rule("a", Op.WRITE),
        rule("a", principal=BOB),
        rule("a", host=OTHER_HOST),
        rule("a", resource_type=ResourceType.GROUP),
    ],
)
def test_other_rules_are_not_enough_for_any_resource(acl: Acl) -> None:
    assert not may_any(acl)


@pytest.mark.parametrize(
    ("allow", "deny", "is_allowed"),
    [
        (rule("abc"), rule("abc", is_deny=True), False),
        (rule("abc"), rule("ab", is_prefix=True, is_deny=True), False),
        (rule("abc"), rule("abc", is_prefix=True, is_deny=True), False),
        (rule("abc", is_prefix=True), rule("abc", is_deny=True), True),
        (rule("abc", is_prefix=True), rule("ab", is_prefix=True, is_deny=True), False),
        (rule("ab", is_prefix=True), rule("abc", is_prefix=True, is_deny=True), True),
        (rule("*"), rule("abc", is_prefix=True, is_deny=True), True),
        (rule("*"), rule("*", is_deny=True), False),
        (rule("abc"), rule("*", Op.ALL, is_deny=True), False),
    ],
)
def test_a_rule_that_denies_all_of_a_pattern_takes_it_away(
    allow: Acl, deny: Acl, is_allowed: bool
) -> None:
    assert may_any(allow, deny) is is_allowed


# A naive copy -----------------------------------------------------------------------------------

names = st.sampled_from(["a", "ab", "abc", "b", "*", "a*"])
acl_strategy = st.builds(
    Acl,
    st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    names,
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from([ALICE, BOB, EVERYBODY]),
    st.sampled_from(["*", HOST, OTHER_HOST, "10.0.0.0/8"]),
    st.sampled_from([Op.ALL, Op.READ, Op.WRITE, Op.DESCRIBE, Op.ALTER_CONFIGS]),
    st.sampled_from([PermissionType.ALLOW, PermissionType.DENY]),
)
question_strategy = st.tuples(
    st.sampled_from([ALICE, BOB]),
    st.sampled_from([HOST, OTHER_HOST]),
    st.sampled_from([Op.READ, Op.WRITE, Op.DESCRIBE, Op.DESCRIBE_CONFIGS]),
    st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    names,
)
IMPLIED = {
    Op.DESCRIBE: {Op.READ, Op.WRITE, Op.DELETE, Op.ALTER},
    Op.DESCRIBE_CONFIGS: {Op.ALTER_CONFIGS},
}


def naive(
    acls: set[Acl], allows_without_acl: bool, question: tuple[str, str, Op, ResourceType, str]
) -> bool:
    principal, host, operation, resource_type, name = question
    of_resource = [
        acl
        for acl in acls
        if acl.resource_type == resource_type
        and (
            name.startswith(acl.resource_name)
            if acl.pattern_type == PatternType.PREFIXED
            else acl.resource_name in (name, "*")
        )
    ]
    permissions = set()
    for acl in of_resource:
        operations = {acl.operation}
        if acl.operation == Op.ALL:
            operations = set(Op)
        elif acl.permission_type == PermissionType.ALLOW:
            operations |= {about for about, by in IMPLIED.items() if acl.operation in by}
        hosts = {"*": {HOST, OTHER_HOST}, "10.0.0.0/8": {HOST}}.get(acl.host, {acl.host})
        if acl.principal in (principal, EVERYBODY) and host in hosts and operation in operations:
            permissions.add(acl.permission_type)
    if PermissionType.DENY in permissions:
        return False
    return PermissionType.ALLOW in permissions or (allows_without_acl and not of_resource)


@settings(max_examples=examples(300))
@given(
    st.lists(st.tuples(st.booleans(), acl_strategy), max_size=30),
    st.booleans(),
    st.lists(question_strategy, min_size=1, max_size=10),
    st.integers(1, 4),
)
def test_decisions_equal_those_of_a_naive_copy_while_rules_come_and_go(
    changes: list[tuple[bool, Acl]],
    allows_without_acl: bool,
    questions: list[tuple[str, str, Op, ResourceType, str]],
    remembered_max: int,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(authorizer_module, "REMEMBERED_MAX", remembered_max)
        authorizer = Authorizer(allows_without_acl=allows_without_acl)
        acls: dict[Acl, None] = {}
        for is_added, acl in [*changes, *((False, acl) for _, acl in changes)]:
            if is_added:
                assert authorizer.add(acl) is (acl not in acls)
                acls[acl] = None
            else:
                assert authorizer.remove(acl) is (acl in acls)
                acls.pop(acl, None)
            assert authorizer.acls() == list(acls)
            for question in questions:
                for _ in range(2):  # found, then remembered
                    decision = authorizer.authorize(*question)
                    assert decision.is_allowed is naive(set(acls), allows_without_acl, question)
                    if isinstance(decision.rule, Acl):
                        allows = decision.rule.permission_type == PermissionType.ALLOW
                        assert decision.rule in acls
                        assert decision.is_allowed is allows
        assert authorizer.acls() == []


@settings(max_examples=examples(200))
@given(
    st.lists(acl_strategy, max_size=30),
    st.builds(
        AclFilter,
        st.sampled_from([ResourceType.ANY, ResourceType.TOPIC, ResourceType.GROUP]),
        st.none() | names,
        st.sampled_from([kind for kind in PatternType if kind is not PatternType.UNKNOWN]),
        st.sampled_from([None, ALICE, EVERYBODY]),
        st.sampled_from([None, "*", HOST]),
        st.sampled_from([Op.ANY, Op.READ]),
        st.sampled_from([PermissionType.ANY, PermissionType.DENY]),
    ),
)
def test_the_rules_of_a_filter_are_those_that_it_matches(
    acls: list[Acl], acl_filter: AclFilter
) -> None:
    authorizer = with_rules(*acls)
    found = authorizer.matching(acl_filter)
    assert len(found) == len(set(found))
    assert set(found) == {acl for acl in acls if acl_filter.matches(acl)}


# What is remembered -----------------------------------------------------------------------------


def test_a_change_is_heard_of_and_applies_to_the_next_decision() -> None:
    authorizer, changes = with_rules(), 0

    def note() -> None:
        nonlocal changes
        changes += 1

    authorizer.on_change = note
    assert not may(authorizer)
    authorizer.add(rule())
    assert may(authorizer)
    authorizer.add(rule())
    authorizer.remove(rule())
    assert not may(authorizer)
    authorizer.remove(rule())
    assert changes == 2


def test_each_of_many_ranges_of_addresses_is_read_once() -> None:
    hosts = [f"11.{number // 250}.{number % 250}.0/24" for number in range(1500)]
    authorizer = with_rules(*(rule("*", host=host) for host in hosts))
    assert not may(authorizer, name="a")
    read_count = address_range.cache_info().misses
    assert not may(authorizer, name="b")
    assert address_range.cache_info().misses == read_count


def test_a_bounded_number_of_decisions_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authorizer_module, "REMEMBERED_MAX", 5)
    authorizer = with_rules(rule("a", is_prefix=True))
    for number in range(20):
        assert may(authorizer, name=f"a{number}")
        assert authorizer.remembered_count <= 5
    assert authorizer.remembered_count > 0


def test_a_decision_with_long_names_is_not_remembered() -> None:
    authorizer = with_rules(rule("a", is_prefix=True))
    assert may(authorizer, name="a" * 10_000)
    assert not decide(authorizer, principal="User:" + "x" * 10_000).is_allowed
    assert authorizer.remembered_count == 0


def test_a_decision_about_a_type_is_remembered_until_a_rule_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authorizer = with_rules(*(rule(f"t{number}") for number in range(3)))
    hosts: list[str] = []

    def has_host(pattern: str, _host: str) -> bool:
        hosts.append(pattern)
        return True

    monkeypatch.setattr(authorizer_module, "has_host", has_host)

    def ask() -> bool:
        topic = ResourceType.TOPIC
        return authorizer.authorize_by_resource_type(ALICE, HOST, Op.READ, topic)

    assert ask()
    assert ask()
    assert len(hosts) == 3
    authorizer.add(rule("*", is_deny=True))
    assert not ask()


def test_a_bounded_number_of_decisions_about_types_is_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(authorizer_module, "REMEMBERED_MAX", 5)
    authorizer = with_rules()
    for name in [*"abcdefghijkl", "x" * 10_000]:
        authorizer.authorize_by_resource_type(name, HOST, Op.READ, ResourceType.TOPIC)
        assert authorizer.remembered_count <= 10
