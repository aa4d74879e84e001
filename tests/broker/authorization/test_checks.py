"""The table of what requests are authorized for."""

import re
from pathlib import Path

from broker.authorization import checks
from broker.authorization.checks import Check
from protocol.acls import AclOperation, ResourceType
from scripts import authorization_table

CHECKS = {name: value for name, value in vars(checks).items() if isinstance(value, Check)}
NOT_OF_RULES = {AclOperation.UNKNOWN, AclOperation.ANY, AclOperation.ALL}
PAGE = (Path(__file__).parents[3] / "docs" / "security.md").read_text(encoding="utf-8")


def test_the_table_of_the_documents_is_up_to_date() -> None:
    assert "| CreateTopics | CREATE | TOPIC | TOPIC_AUTHORIZATION_FAILED |" in PAGE
    assert authorization_table.render(PAGE) == PAGE, "run python -m scripts.authorization_table"


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
