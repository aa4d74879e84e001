"""Malformed ACL requests, and changes of rules that pause while other requests change rules."""

from collections.abc import Callable

import pytest

from broker.administration.acls import create_acls, delete_acls, refuse_unknown
from broker.authorization.acl import Acl, AclFilter
from broker.authorization.authorizer import Authorizer
from broker.errors import Refusal
from tests.broker.acl_cluster import acl
from tests.broker.interleaving import at_pause, run_with_pauses

ACLS = [acl(name) for name in "abcdef"]
METADATA_VERSION = 33


def with_rules(*acls: Acl) -> Authorizer:
    authorizer = Authorizer()
    for rule in acls:
        authorizer.add(rule)
    return authorizer


def remover(authorizer: Authorizer, acls: list[Acl], deleted: list[Acl]) -> Callable[[], None]:
    def remove() -> None:
        deleted.extend([rule for rule in acls if authorizer.remove(rule)])

    return remove


@pytest.mark.parametrize(
    ("codes", "is_refused"), [((1, 2, 99), False), ((1, 0, 3), True), ((), False)]
)
def test_the_code_of_something_unknown_closes_the_connection(
    codes: tuple[int, ...], *, is_refused: bool
) -> None:
    assert (refuse_unknown(*codes) is not None) == is_refused


@pytest.mark.parametrize("pause", range(1, 40, 3))
def test_each_rule_is_deleted_by_one_request(pause: int) -> None:
    authorizer, others = with_rules(*ACLS), list[Acl]()
    remove = remover(authorizer, ACLS[1:4], others)
    filters = [AclFilter(), AclFilter(resource_name="b"), AclFilter()]
    results = run_with_pauses(lambda: delete_acls(authorizer, filters), at_pause(pause, remove))
    every, b, again = (list(found) for found in results if not isinstance(found, Refusal))
    remove()
    assert sorted([*every, *others], key=str) == ACLS
    assert again == every
    assert b == [rule for rule in every if rule.resource_name == "b"]
    assert authorizer.acls() == []


@pytest.mark.parametrize("pause", range(1, 30, 3))
def test_a_rule_that_two_requests_create_is_there_once(pause: int) -> None:
    authorizer = with_rules()

    def create() -> list[Refusal | None]:
        return create_acls(authorizer, ACLS, METADATA_VERSION)

    assert run_with_pauses(create, at_pause(pause, create)) == [None] * len(ACLS)
    assert sorted(authorizer.acls(), key=str) == ACLS
    assert create() == [None] * len(ACLS)
    assert len(authorizer.acls()) == len(ACLS)


def test_rules_that_are_removed_while_they_are_searched_are_found() -> None:
    authorizer = with_rules(*ACLS)
    remove = remover(authorizer, ACLS, [])
    found = run_with_pauses(lambda: authorizer.matching(AclFilter()), at_pause(2, remove))
    assert found == ACLS
    assert authorizer.acls() == []
