"""Exactly one broker coordinates a group."""

from types import SimpleNamespace
from typing import Any

import pytest

from broker.cluster.coordinators import ownership_error
from protocol.errors import ErrorCode


@pytest.mark.parametrize(
    ("coordinator_id", "error_code"),
    [
        (1, ErrorCode.NONE),
        (2, ErrorCode.NOT_COORDINATOR),
        (None, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_only_the_coordinator_owns_a_group(
    coordinator_id: int | None, error_code: ErrorCode
) -> None:
    cluster: Any = SimpleNamespace(coordinator_id={"g": coordinator_id}.get)
    assert ownership_error(cluster, 1, "g") is error_code
