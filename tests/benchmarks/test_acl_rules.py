from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks import acl_rules
from benchmarks.in_process import InProcessBroker, InProcessConnection
from broker.authorization.acl import AclFilter
from broker.authorization.authorizer import Authorizer
from protocol.acls import AclOperation, ResourceType


def test_the_user_of_the_load_has_a_part_of_very_many_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = InProcessBroker()
    authorizer = broker.cluster.authorizer = Authorizer(allows_without_acl=True)

    @contextmanager
    def connect(_address: object) -> Iterator[InProcessConnection]:
        yield broker.connect()

    monkeypatch.setattr(acl_rules, "UnmeasuredConnection", connect)
    acl_rules.create(("localhost", 9092), "produce")
    assert len(authorizer.acls()) == acl_rules.RULES
    own = authorizer.matching(AclFilter(principal="User:ANONYMOUS"))
    assert len(own) == acl_rules.RULES_OF_USER
    write = AclOperation.WRITE, ResourceType.TOPIC, "produce"
    assert authorizer.authorize("User:ANONYMOUS", "h", *write).is_allowed
    assert not authorizer.authorize("User:other", "h", *write).is_allowed
