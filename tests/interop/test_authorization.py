"""What Apache Kafka's StandardAuthorizer decides, and ours, for the same rules and requests."""

import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from enum import IntEnum
from pathlib import Path
from random import Random
from typing import Any

import pytest

from broker.administration.acls import is_of_filters, refuse_acl
from broker.authorization.acl import Acl
from broker.authorization.authorizer import Authorizer
from broker.authorization.hosts import address_text, has_host
from protocol.acls import AclOperation, PatternType, PermissionType, ResourceType
from scenarios.clients.java import java_command
from scenarios.maven import CannotRunError
from tests.interop.apache_kafka import fetch_kafka_jars

pytestmark = pytest.mark.xdist_group("jvm")

SOURCE = Path(__file__).with_name("java") / "Authorization.java"
WORLDS = 60
RULES_MAX = 40
QUESTIONS = 60
METADATA_VERSION = 33
TYPES = (ResourceType.TOPIC, ResourceType.GROUP)
NAMES = ("a", "ab", "abc", "b", "ba", "c", "*", "#", "a*")
USERS = ("alice", "bob", "admin", "CN=x,O=y")
OPERATIONS = [op for op in AclOperation if op not in {AclOperation.UNKNOWN, AclOperation.ANY}]
HOSTS = ("10.0.0.1", "10.0.1.1", "127.0.0.1", "::1", "2001:db8::a:1", "0.0.0.0")
PATTERNS_OF_HOSTS = (
    *("*", "10.0.0.1", "127.0.0.1", "::1", "0:0:0:0:0:0:0:1", "10.0.0.0/24", "10.0.9.9/16"),
    *("0.0.0.0/0", "0.0.0.0/32", "10.0.0.1/32", "::/0", "2001:db8::/32", "[2001:db8::]/112"),
    *("2001:db8:0:0:0:0:a:1/128", "010.0.0.0/8", "10.0.0.0/33", "300.0.0.0/8", "10.0.0/8"),
    *("10.0.0.0/", "/8", "10.0.0.0/8/8", "::1/129", "::1/-1", "::1/x", "::1/+64", "::/", "a:b/64"),
    *("::ffff:10.0.0.1/96", "::ffff:0:0/96", "host", "host/8", "10.0.0.0/08", "fe80::1/10", ""),
    *("10.0.0.0 /8", "٣.0.0.0/8", "1234.0.0.0/8", "2001:db8::g/32", "1:2:3/64", "::1/0"),
)


def some_acl(random: Random, operations: Sequence[AclOperation]) -> Acl:
    return Acl(
        random.choice(TYPES),
        random.choice(NAMES),
        random.choice([PatternType.LITERAL, PatternType.PREFIXED]),
        random.choice(["User:*", *(f"User:{user}" for user in USERS), "Group:alice"]),
        random.choice(PATTERNS_OF_HOSTS[:14]),
        random.choice(operations),
        random.choice([PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY]),
    )


def line(*words: Any) -> str:
    return "\t".join(word.name if isinstance(word, IntEnum) else str(word) for word in words)


class World:
    """Some rules, and requests that they decide about."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        self.allows_without_acl = random.random() < 0.3
        operations = random.sample(OPERATIONS, random.randint(2, len(OPERATIONS)))
        rule_count = random.randint(0, RULES_MAX)
        self.acls = {some_acl(random, operations): None for _ in range(rule_count)}
        self.questions = [
            (
                random.choice(USERS),
                random.choice(HOSTS),
                random.choice([*operations, AclOperation.DESCRIBE]),
                random.choice(TYPES),
                random.choice(NAMES),
            )
            for _ in range(QUESTIONS)
        ]
        self.any = [question[:4] for question in self.questions[::3]]

    def lines(self) -> Iterator[str]:
        yield line("new", "User:admin", str(self.allows_without_acl).lower())
        yield from (line("add", *astuple(acl)) for acl in self.acls)
        yield from (line("ask", *question) for question in self.questions)
        yield from (line("any", *question) for question in self.any)

    def answers(self) -> Iterator[tuple[str, str | None]]:
        """Yield our decisions, and the rules that decided."""
        authorizer = Authorizer(
            frozenset({"User:admin"}), allows_without_acl=self.allows_without_acl
        )
        for acl in self.acls:
            authorizer.add(acl)
        for user, host, operation, resource_type, name in self.questions:
            decision = authorizer.authorize(f"User:{user}", host, operation, resource_type, name)
            yield _result(decision.is_allowed), _text(decision.rule)
        for user, host, operation, resource_type in self.any:
            yield (
                _result(
                    authorizer.authorize_by_resource_type(
                        f"User:{user}", host, operation, resource_type
                    )
                ),
                None,
            )


def _result(is_allowed: bool) -> str:
    return "ALLOWED" if is_allowed else "DENIED"


def _text(rule: Acl | str) -> str:
    if isinstance(rule, str):
        return rule
    names = ("resourceType", "resourceName", "patternType", "principal", "host", "operation")
    fields = zip((*names, "permissionType"), astuple(rule), strict=True)
    shown = ", ".join(f"{name}={line(value)}" for name, value in fields)
    return f"MatchingAcl(acl=StandardAcl[{shown}])"


def ask_kafka(lines: list[str], log_level: str = "off") -> tuple[list[str], list[str]]:
    """Return what Kafka's classes answer, and what they write to the log."""
    try:
        jars = fetch_kafka_jars("4.4.0")
    except CannotRunError as error:
        pytest.skip(str(error))
    done = subprocess.run(
        java_command(f"{jars}/*", str(SOURCE), log_level=log_level),
        input="".join(f"{text}\n" for text in lines),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.splitlines()


def test_decisions_and_the_rules_that_decide_are_those_of_kafka() -> None:
    worlds = [World(seed) for seed in range(WORLDS)]
    answers, log = ask_kafka([text for world in worlds for text in world.lines()], "trace")
    ours = [answer for world in worlds for answer in world.answers()]
    assert [result for result, _ in ours] == answers
    found = (re.search(r":LITERAL:(\S+) for request .* based on rule (.*)", text) for text in log)
    rules = [match[2] for match in found if match is not None and match[1] != "hardcode"]
    assert [rule for _, rule in ours if rule is not None] == rules
    assert len(set(rules)) > 50


def test_ranges_of_addresses_are_those_of_kafka() -> None:
    pairs = [(address_text(host), text) for host in HOSTS for text in PATTERNS_OF_HOSTS]
    answers, _log = ask_kafka([line("range", *pair) for pair in pairs])
    for (host, pattern), answer in zip(pairs, answers, strict=True):
        is_range = "/" in pattern and has_host(pattern, host)
        assert str(is_range).lower() == answer, f"{host} in {pattern}"


def test_rules_are_refused_in_kafkas_words() -> None:
    def rule(**fields: Any) -> Acl:
        usual: dict[str, Any] = {
            "resource_type": ResourceType.TOPIC,
            "resource_name": "t",
            "pattern_type": PatternType.LITERAL,
            "principal": "User:a",
            "host": "*",
            "operation": AclOperation.READ,
            "permission_type": PermissionType.ALLOW,
        }
        return Acl(**{**usual, **fields})

    acls = [
        *(rule(host=host) for host in PATTERNS_OF_HOSTS),
        *(rule(principal=principal) for principal in ("a", "", ":", "User:", "a:b:c", "User:*")),
        *(rule(resource_type=kind) for kind in ResourceType if kind is not ResourceType.CLUSTER),
        *(rule(pattern_type=kind) for kind in PatternType),
        *(rule(operation=operation) for operation in AclOperation),
        *(rule(permission_type=permission) for permission in PermissionType),
        rule(operation=AclOperation.UNKNOWN, host="", principal="a"),
    ]
    acls = [acl for acl in acls if not is_of_filters(acl)]
    answers, _log = ask_kafka([line("check", *astuple(acl)) for acl in acls])
    for acl, answer in zip(acls, answers, strict=True):
        refusal = refuse_acl(acl, METADATA_VERSION)
        assert (refusal.message if refusal else "-") == answer, str(acl)
