"""DescribeAcls without an authorizer."""

from typing import Any

import pytest

from broker.responses import Close
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster


def describe(version: int, **fields: int) -> Any:
    codes = {"resource_type_filter": 1, "operation": 1, "permission_type": 1}
    request = messages.DescribeAclsRequest(
        version=version,
        resource_name_filter=None,
        principal_filter=None,
        host_filter=None,
        **{"pattern_type_filter": 1, **codes, **fields},
    )
    return call(make_cluster(1), request, version)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_security_is_disabled(version: int) -> None:
    response = describe(version)
    assert response.error_code == ErrorCode.SECURITY_DISABLED
    assert response.error_message == "No Authorizer is configured on the broker"
    assert response.resources == []


@pytest.mark.parametrize("field", ["resource_type_filter", "operation", "permission_type"])
def test_an_unknown_type_closes_the_connection(field: str) -> None:
    assert isinstance(describe(3, **{field: 0}), Close)
