"""The table of what requests are authorized for."""

import re

from broker.authorization import checks
from broker.authorization.acl import AclOperation, ResourceType
from broker.authorization.checks import Check

CHECKS = {name: value for name, value in vars(checks).items() if isinstance(value, Check)}
NOT_OF_RULES = {AclOperation.UNKNOWN, AclOperation.ANY, AclOperation.ALL}


def test_a_check_has_the_name_of_its_operation_and_its_type() -> None:
    for name, check in CHECKS.items():
        beginning = f"{check.operation.name}_{check.resource_type.name}"
        assert re.fullmatch(rf"{beginning}(_[A-Z_]+)?", name), name


def test_checks_are_sorted_by_name_and_different() -> None:
    assert list(CHECKS) == sorted(CHECKS)
    assert len(set(CHECKS.values())) == len(CHECKS)


def test_a_check_is_about_one_operation_on_one_type() -> None:
    for name, check in CHECKS.items():
        assert check.operation not in NOT_OF_RULES, name
        assert check.resource_type not in {ResourceType.UNKNOWN, ResourceType.ANY}, name
