"""UpdateFeatures, in every version."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster
from tests.broker.interleaving import at_pause, run_with_pauses

UPGRADE, SAFE = 1, 2
BEFORE_LOSS = {"cluster.features": "metadata.version=27"}
"""A level that can go down to 23 without a loss of metadata."""
NOT_SUPPORTED = "Local controller 1 does not support this feature."
_Request = messages.UpdateFeaturesRequest


def request(version: int, *updates: tuple[str, int, int], validate_only: bool = False) -> Any:
    return _Request(
        version=version,
        timeout_ms=1000,
        feature_updates=[
            _Request.FeatureUpdateKey(
                version=version,
                feature=name,
                max_version_level=level,
                allow_downgrade=upgrade_type != UPGRADE,
                upgrade_type=upgrade_type,
            )
            for name, level, upgrade_type in updates
        ],
        validate_only=validate_only,
    )


@pytest.mark.parametrize("version", range(3))
def test_success_has_results_before_version_2(version: int) -> None:
    cluster = make_cluster(1)
    updates = [("metadata.version", 33, UPGRADE), ("streams.version", 1, UPGRADE)]
    response = call(cluster, request(version, *updates), version)

    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    results = [(r.feature, r.error_code, r.error_message) for r in response.results or ()]
    expected = [(name, ErrorCode.NONE, "NONE") for name, _level, _type in updates]
    assert results == (expected if version < 2 else [])


@pytest.mark.parametrize("version", range(3))
def test_a_refusal_is_the_error_of_the_request(version: int) -> None:
    response = call(make_cluster(1), request(version, ("nope", 1, UPGRADE)), version)

    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert response.error_message == (
        "The update failed for all features since the following feature had an error: Invalid"
        " update version 1 for feature nope. Local controller 1 does not support this feature."
    )
    assert not response.results


@pytest.mark.parametrize(("version", "level"), [(0, 27), (1, 23), (2, 23)])
def test_version_0_never_downgrades(version: int, level: int) -> None:
    cluster = make_cluster(1, **BEFORE_LOSS)
    call(cluster, request(version, ("metadata.version", 23, SAFE)), version)
    assert cluster.features.level("metadata.version") == level


@pytest.mark.parametrize("version", [1, 2])
def test_validate_only_changes_nothing(version: int) -> None:
    cluster = make_cluster(1, **BEFORE_LOSS)
    sent = request(version, ("metadata.version", 23, SAFE), validate_only=True)
    assert call(cluster, sent, version).error_code == ErrorCode.NONE
    assert cluster.features.level("metadata.version") == 27


def test_before_4_0_every_feature_has_its_result() -> None:
    cluster = make_cluster(1, **{"broker.api.versions": "3.9"})
    response = call(cluster, request(1, ("nope", 1, UPGRADE), ("x", 0, UPGRADE)), 1)

    assert (response.error_code, response.error_message) == (ErrorCode.NONE, "")
    assert {r.feature: (r.error_code, r.error_message) for r in response.results} == {
        "nope": (
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Invalid update version 1 for feature nope. {NOT_SUPPORTED}",
        ),
        "x": (ErrorCode.NONE, None),
    }


def test_a_reset_brings_the_first_levels_back() -> None:
    cluster = make_cluster(1, **BEFORE_LOSS)
    call(cluster, request(2, ("metadata.version", 23, SAFE)), 2)
    assert cluster.features.level("metadata.version") == 23
    cluster.reset()
    assert cluster.features.level("metadata.version") == 27


def test_an_upgrade_never_lowers_a_level_that_another_request_raises_in_a_pause() -> None:
    names = ("transaction.version", "eligible.leader.replicas.version")
    levels = "transaction.version=0,eligible.leader.replicas.version=0"
    pauses: list[None] = []

    def upgrade(other: Callable[[], object], cluster: Cluster) -> None:
        updates = [(name, 1, UPGRADE) for name in names]
        run_with_pauses(lambda: call(cluster, request(2, *updates), 2), other)

    upgrade(lambda: pauses.append(None), make_cluster(1, **{"cluster.features": levels}))
    assert len(pauses) > len(names)
    for number in range(1, len(pauses) + 1):
        cluster = make_cluster(1, **{"cluster.features": levels})
        raise_level = request(2, ("transaction.version", 2, UPGRADE))
        upgrade(at_pause(number, partial(call, cluster, raise_level, 2)), cluster)
        assert cluster.features.level("transaction.version") == 2, number
