import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.authorization.acl import Acl, AclFilter
from protocol.acls import AclOperation, PatternType, PermissionType, ResourceType

TOPIC_READ = Acl(
    ResourceType.TOPIC,
    "orders",
    PatternType.LITERAL,
    "User:alice",
    "*",
    AclOperation.READ,
    PermissionType.ALLOW,
)


def pattern(name: str, pattern_type: PatternType) -> Acl:
    return Acl(
        ResourceType.TOPIC,
        name,
        pattern_type,
        "User:alice",
        "*",
        AclOperation.READ,
        PermissionType.ALLOW,
    )


def test_a_filter_without_fields_matches_every_rule() -> None:
    assert AclFilter().matches(TOPIC_READ)


@pytest.mark.parametrize(
    ("field", "right", "wrong"),
    [
        ("resource_type", ResourceType.TOPIC, ResourceType.GROUP),
        ("resource_name", "orders", "orders-1"),
        ("pattern_type", PatternType.LITERAL, PatternType.PREFIXED),
        ("principal", "User:alice", "User:*"),
        ("host", "*", "10.0.0.1"),
        ("operation", AclOperation.READ, AclOperation.ALL),
        ("permission_type", PermissionType.ALLOW, PermissionType.DENY),
    ],
)
def test_each_field_of_a_filter_has_to_match(field: str, right: object, wrong: object) -> None:
    assert AclFilter(**{field: right}).matches(TOPIC_READ)  # type: ignore[arg-type]
    assert not AclFilter(**{field: wrong}).matches(TOPIC_READ)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "pattern_type", "filter_type", "is_match"),
    [
        ("orders", PatternType.LITERAL, PatternType.MATCH, True),
        ("*", PatternType.LITERAL, PatternType.MATCH, True),
        ("ord", PatternType.LITERAL, PatternType.MATCH, False),
        ("ord", PatternType.PREFIXED, PatternType.MATCH, True),
        ("orders", PatternType.PREFIXED, PatternType.MATCH, True),
        ("orders-1", PatternType.PREFIXED, PatternType.MATCH, False),
        ("*", PatternType.LITERAL, PatternType.ANY, False),
        ("ord", PatternType.PREFIXED, PatternType.ANY, False),
        ("orders", PatternType.PREFIXED, PatternType.ANY, True),
        ("orders", PatternType.PREFIXED, PatternType.PREFIXED, True),
        ("ord", PatternType.PREFIXED, PatternType.PREFIXED, False),
    ],
)
def test_a_name_is_that_of_a_resource_only_with_match(
    name: str, pattern_type: PatternType, filter_type: PatternType, is_match: bool
) -> None:
    acl_filter = AclFilter(ResourceType.TOPIC, "orders", filter_type)
    assert acl_filter.matches(pattern(name, pattern_type)) is is_match


@given(st.sampled_from([PatternType.ANY, PatternType.MATCH, PatternType.LITERAL]))
def test_a_filter_without_a_name_matches_any_name(filter_type: PatternType) -> None:
    assert AclFilter(pattern_type=filter_type).matches(TOPIC_READ)
