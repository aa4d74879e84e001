"""The rules that options of `mock-kafka acls` stand for."""

import argparse

import pytest

from client.resources import AccessControlEntry, ResourcePattern
from client.tools.acl_rules import (
    OPERATIONS,
    UsageError,
    operation_name,
    parse_operation,
    patterns_of,
    principals_of,
    rules_of,
)
from client.tools.acls import build_parser
from client.tools.session import ToolError
from protocol.acls import AclOperation, PatternType

A = "--allow-principal User:a"


def options(words: str) -> argparse.Namespace:
    parsed = build_parser().parse_args(["--bootstrap-server", "h:1", *words.split()])
    parsed.resource_pattern_type = PatternType[parsed.resource_pattern_type.upper()]
    return parsed


def texts(words: str) -> set[str]:
    """Return the rules that options add, as text."""
    return {
        f"{pattern.resource_type.name} {pattern.pattern_type.name} {pattern.name}:"
        f" {entry.permission_type.name} {entry.principal} {entry.operation.name} {entry.host}"
        for pattern, entries in rules_of(options(words)).items()
        for entry in entries
    }


def test_names_of_operations_are_those_of_the_protocol_without_underscores() -> None:
    assert len(OPERATIONS) == len(AclOperation) - 2
    for name, operation in OPERATIONS.items():
        assert operation_name(operation) == name
        assert parse_operation(name.upper()) is parse_operation(f" {name} ") is operation
    with pytest.raises(argparse.ArgumentTypeError, match="did you mean DescribeConfigs"):
        parse_operation("DescribeConfig")
    with pytest.raises(argparse.ArgumentTypeError, match="there are: All, Read"):
        parse_operation("xyz")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "--add --allow-principal User:a --deny-principal User:b --deny-host h --topic t",
            {"TOPIC LITERAL t: ALLOW User:a ALL *", "TOPIC LITERAL t: DENY User:b ALL h"},
        ),
        (
            "--add --allow-principal User:a --producer --topic t --transactional-id x --idempotent",
            {
                "TOPIC LITERAL t: ALLOW User:a WRITE *",
                "TOPIC LITERAL t: ALLOW User:a DESCRIBE *",
                "TOPIC LITERAL t: ALLOW User:a CREATE *",
                "TRANSACTIONAL_ID LITERAL x: ALLOW User:a WRITE *",
                "TRANSACTIONAL_ID LITERAL x: ALLOW User:a DESCRIBE *",
                "CLUSTER LITERAL kafka-cluster: ALLOW User:a IDEMPOTENT_WRITE *",
            },
        ),
        (
            f"--add --consumer {A} --topic t --group g --resource-pattern-type prefixed",
            {
                "TOPIC PREFIXED t: ALLOW User:a READ *",
                "TOPIC PREFIXED t: ALLOW User:a DESCRIBE *",
                "GROUP PREFIXED g: ALLOW User:a READ *",
            },
        ),
        (
            "--add --allow-principal User:a --consumer --producer --topic t --group g",
            {
                "TOPIC LITERAL t: ALLOW User:a WRITE *",
                "TOPIC LITERAL t: ALLOW User:a DESCRIBE *",
                "TOPIC LITERAL t: ALLOW User:a CREATE *",
                "TOPIC LITERAL t: ALLOW User:a READ *",
                "GROUP LITERAL g: ALLOW User:a READ *",
            },
        ),
    ],
)
def test_options_stand_for_rules(words: str, expected: set[str]) -> None:
    assert texts(words) == expected


def test_to_remove_all_rules_of_a_resource_none_is_named() -> None:
    [(pattern, entries)] = rules_of(options("--remove --topic t")).items()
    assert (pattern.name, entries) == ("t", frozenset[AccessControlEntry]())


def test_the_cluster_has_no_pattern() -> None:
    words = "--list --cluster --topic t --resource-pattern-type"
    assert [pattern.name for pattern in patterns_of(options(f"{words} literal"))] == [
        "t",
        "kafka-cluster",
    ]
    found: list[ResourcePattern] = patterns_of(options(f"{words} match"))
    assert [pattern.name for pattern in found] == ["t"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--add --allow-principal User:a", "You must provide at least one resource"),
        ("--add --topic t", "You must specify one of: --allow-principal"),
        (
            "--add --allow-principal User:a --operation Write --group g",
            r"ResourceType GROUP only supports operations \[ALL, READ, DELETE",
        ),
    ],
)
def test_options_without_a_sense_are_refused(words: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        rules_of(options(words))


def test_a_principal_has_a_type() -> None:
    assert principals_of(["User:b", " User:a", "User:b"]) == ["User:a", "User:b"]
    with pytest.raises(ToolError, match="principalType:principalName but got alice"):
        principals_of(["User:a", "alice"])
