"""CreateAcls without an authorizer."""

from typing import Any

import pytest

from broker.responses import Close
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster

_Request = messages.CreateAclsRequest


def ask(version: int, *permission_types: int) -> Any:
    request = _Request(
        version=version,
        creations=[
            _Request.AclCreation(
                resource_type=2,
                resource_name="topic",
                resource_pattern_type=3,
                principal="User:alice",
                host="*",
                operation=3,
                permission_type=permission_type,
            )
            for permission_type in permission_types
        ],
    )
    return call(make_cluster(1), request, version)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_security_is_disabled_for_each_one(version: int, count: int) -> None:
    results = ask(version, *[3] * count).results
    assert [(result.error_code, result.error_message) for result in results] == [
        (ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
    ] * count


def test_an_unknown_permission_type_closes_the_connection() -> None:
    assert isinstance(ask(3, 3, 0), Close)
