"""UnregisterController: the active one, one that is up, one that is down, and unknown ones."""

from typing import Any

import pytest

from broker.cluster import failover
from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, call, make_cluster

UNREGISTERED = (ErrorCode.NONE, "")


def unregister(cluster: Cluster, controller_id: int) -> tuple[int, str]:
    request = messages.UnregisterControllerRequest(version=0, controller_id=controller_id)
    response: Any = call(cluster, request, 0)
    return response.error_code, response.error_message


def test_the_active_controller_is_refused() -> None:
    for release in ("4.1", "4.4"):
        cluster = make_cluster(2, **{"broker.api.versions": release})
        assert unregister(cluster, 1) == (
            ErrorCode.INVALID_REQUEST,
            "Controller cannot unregister itself while it is active.",
        )


@pytest.mark.parametrize("controller_id", [7, -1])
def test_an_unknown_controller_is_refused(controller_id: int) -> None:
    assert unregister(make_cluster(2), controller_id) == (
        ErrorCode.CONTROLLER_ID_NOT_REGISTERED,
        f"Controller ID {controller_id} is not currently registered.",
    )


def test_a_controller_that_is_up_registers_again() -> None:
    cluster = make_cluster(2)
    assert unregister(cluster, 2) == UNREGISTERED
    assert unregister(cluster, 2) == UNREGISTERED


def test_a_controller_that_is_down_stays_unregistered_until_it_starts() -> None:
    cluster = make_cluster(3)
    failover.stop_broker(cluster, 3, NOW_MS)
    assert unregister(cluster, 3) == UNREGISTERED
    assert unregister(cluster, 3)[0] == ErrorCode.CONTROLLER_ID_NOT_REGISTERED
    failover.start_broker(cluster, 3, NOW_MS)
    assert unregister(cluster, 3) == UNREGISTERED
    assert ApiKey.UNREGISTER_CONTROLLER in cluster.routes[1]


def test_an_older_metadata_version_has_no_record_for_it() -> None:
    cluster = make_cluster(2, **{"cluster.features": "metadata.version=32"})
    assert unregister(cluster, 2) == (
        ErrorCode.UNSUPPORTED_VERSION,
        "The current MetadataVersion is too old to support controller unregistration.",
    )
    before_4_4 = make_cluster(1, **{"broker.api.versions": "4.3"})
    assert ApiKey.UNREGISTER_CONTROLLER not in before_4_4.routes[1]
