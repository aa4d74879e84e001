"""ApiVersions lists the registered handlers, in every version."""

from typing import Any

import pytest

from broker.cluster.cluster import Cluster
from broker.handlers.k18_api_versions import handle_api_versions, respond_as_before
from broker.request.client_software import ClientSoftware
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_message
from protocol.errors import ErrorCode
from protocol.releases import DEFAULT_VERSIONS, UNADVERTISED_APIS
from tests.broker.cluster_builder import CLUSTER_ID, call, make_cluster, make_context


@pytest.mark.parametrize("version", range(6))
def test_exactly_the_versions_of_the_default_release_are_advertised(version: int) -> None:
    request = messages.ApiVersionsRequest(
        version=version, client_software_name="apache-kafka-java", client_software_version="4.0.0"
    )
    response = call(make_cluster(1), request, version)

    assert response.error_code == ErrorCode.NONE
    assert {key.api_key: (key.min_version, key.max_version) for key in response.api_keys} == {
        key: DEFAULT_VERSIONS[key]
        for key in ROUTES.keys() & DEFAULT_VERSIONS.keys() - UNADVERTISED_APIS
    }


def test_an_emulated_release_advertises_its_own_versions() -> None:
    cluster = make_cluster(1, **{"broker.api.versions": "2.0"})
    response = call(cluster, messages.ApiVersionsRequest(version=0), 0)

    advertised = {key.api_key: (key.min_version, key.max_version) for key in response.api_keys}
    assert advertised[ApiKey.PRODUCE] == (0, 6)
    assert advertised[ApiKey.FETCH] == (4, 8)
    # We don't have its versions 0 and 1, and it has none of ours.
    assert ApiKey.OFFSET_FOR_LEADER_EPOCH not in advertised
    assert ApiKey.INCREMENTAL_ALTER_CONFIGS not in advertised


def test_produce_is_advertised_from_version_0() -> None:
    response = call(make_cluster(1), messages.ApiVersionsRequest(version=0), 0)
    assert (0, 0, 13) in [(k.api_key, k.min_version, k.max_version) for k in response.api_keys]


@pytest.mark.parametrize(
    ("name", "version"), [("", "1"), ("a", ""), ("-a", "1"), ("a", "1-"), ("a b", "1")]
)
def test_an_invalid_client_software_name_is_refused(name: str, version: str) -> None:
    request = messages.ApiVersionsRequest(
        version=3, client_software_name=name, client_software_version=version
    )
    context = make_context(ApiKey.API_VERSIONS, 3)
    response = handle_api_versions(context, request, make_cluster(1))
    assert (response.error_code, response.api_keys) == (ErrorCode.INVALID_REQUEST, [])
    assert context.session.client_software is None
    # In the version that was asked for: int16 code, empty array, throttle time, no tags.
    assert bytes(response.encode(version=3)) == b"\x00\x2a\x01" + bytes(4) + b"\x00"


def test_each_broker_of_a_cluster_advertises_its_own_versions() -> None:
    cluster = make_cluster(2, **{"broker.2.broker.api.versions": "3.9"})

    def produce_max(broker_id: int) -> int:
        response = call(cluster, messages.ApiVersionsRequest(version=0), 0, broker_id=broker_id)
        (advertised,) = (key for key in response.api_keys if key.api_key == ApiKey.PRODUCE)
        return int(advertised.max_version)

    assert [produce_max(1), produce_max(2)] == [13, 11]
    cluster.set_config(cluster.config.with_dynamic(2, {"broker.api.versions": "4.0"}))
    assert [produce_max(1), produce_max(2)] == [13, 12]


@pytest.mark.parametrize(("api_version", "is_known"), [(2, False), (3, True), (4, True)])
def test_the_session_keeps_the_name_and_version_of_the_software(
    api_version: int, is_known: bool
) -> None:
    request = messages.ApiVersionsRequest(
        version=api_version, client_software_name="librdkafka", client_software_version="2.16.0"
    )
    context = make_context(ApiKey.API_VERSIONS, api_version)
    handle_api_versions(context, request, make_cluster(1))

    expected = ClientSoftware("librdkafka", "2.16.0") if is_known else None
    assert context.session.client_software == expected


def features_of(cluster: Cluster, version: int) -> tuple[dict[str, tuple[int, int]], Any]:
    request = messages.ApiVersionsRequest(
        version=version, client_software_name="a", client_software_version="1"
    )
    response = call(cluster, request, version)
    supported = {f.name: (f.min_version, f.max_version) for f in response.supported_features}
    for feature in response.finalized_features:
        assert feature.min_version_level == feature.max_version_level
    return supported, response


def test_features_come_with_their_epoch() -> None:
    cluster = make_cluster(1)
    supported, response = features_of(cluster, 4)
    assert supported["metadata.version"] == (7, 33)
    assert supported["transaction.version"] == (0, 2)
    finalized = {f.name: f.max_version_level for f in response.finalized_features}
    assert finalized == cluster.features.levels
    assert response.finalized_features_epoch == cluster.features.epoch

    cluster.features.apply({"metadata.version": 25})
    assert features_of(cluster, 4)[1].finalized_features_epoch == cluster.features.epoch


def test_unstable_versions_of_apis_and_levels_of_features_are_advertised() -> None:
    cluster = make_cluster(
        2,
        **{
            "broker.1.unstable.api.versions.enable": "true",
            "unstable.feature.versions.enable": "true",
        },
    )
    supported, response = features_of(cluster, 4)
    assert supported["metadata.version"] == (7, 34)
    assert cluster.features.level("metadata.version") == 34
    versions = {key.api_key: key.max_version for key in response.api_keys}
    assert versions[ApiKey.INIT_PRODUCER_ID] == 6
    others = call(cluster, messages.ApiVersionsRequest(version=0), 0, broker_id=2)
    versions = {key.api_key: key.max_version for key in others.api_keys}
    assert versions[ApiKey.INIT_PRODUCER_ID] == 5


def test_version_3_leaves_out_features_whose_lowest_level_is_0() -> None:
    assert list(features_of(make_cluster(1), 3)[0]) == ["metadata.version"]


def test_releases_with_zookeeper_have_no_features() -> None:
    cluster = make_cluster(1, **{"broker.api.versions": "2.8"})
    supported, response = features_of(cluster, 3)
    assert (supported, response.finalized_features) == ({}, [])
    assert response.finalized_features_epoch == -1


def _shortcut(cluster: Cluster, version: int, name: str = "client", **node: Any) -> bytes | None:
    request = messages.ApiVersionsRequest(
        version=version, client_software_name=name, client_software_version="1", **node
    )
    frame = encode_message(request, version)
    context = make_context(ApiKey.API_VERSIONS, version)
    body = respond_as_before(context, frame, 0, len(frame), cluster)
    if node:
        return body
    expected = None if version < 3 or body is None else ClientSoftware(name, "1")
    assert context.session.client_software == expected
    return body


@pytest.mark.parametrize("version", range(6))
def test_the_response_that_is_kept_is_that_of_the_handler(version: int) -> None:
    cluster = make_cluster(1)

    def handled() -> bytes:
        request = messages.ApiVersionsRequest(
            version=version, client_software_name="client", client_software_version="1"
        )
        context = make_context(ApiKey.API_VERSIONS, version)
        return encode_message(handle_api_versions(context, request, cluster), version)

    assert _shortcut(cluster, version) == _shortcut(cluster, version) == handled()
    cluster.features.apply({"transaction.version": 1})
    assert _shortcut(cluster, version) == handled()
    limits = {"broker.api.versions": "2.8,ApiVersions=4"}
    cluster.set_config(make_cluster(1, **limits).config)
    assert _shortcut(cluster, version) == handled()


def test_software_that_is_not_allowed_is_left_to_the_handler() -> None:
    cluster = make_cluster(1)
    assert _shortcut(cluster, 3) is not None
    assert _shortcut(cluster, 3, "a b") is None


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "name", "error_code"),
    [
        (None, -1, "a", ErrorCode.NONE),
        (CLUSTER_ID, 2, "a", ErrorCode.NONE),
        (CLUSTER_ID, 1, "a", ErrorCode.REBOOTSTRAP_REQUIRED),
        ("other", 2, "a", ErrorCode.REBOOTSTRAP_REQUIRED),
        ("", 2, "a", ErrorCode.REBOOTSTRAP_REQUIRED),
        (CLUSTER_ID, -1, "a", ErrorCode.INVALID_REQUEST),
        (None, 2, "a", ErrorCode.INVALID_REQUEST),
        ("other", 2, "a b", ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_client_that_reached_another_node_has_to_bootstrap_again(
    cluster_id: str | None, node_id: int, name: str, error_code: ErrorCode
) -> None:
    cluster = make_cluster(2)
    request = messages.ApiVersionsRequest(
        version=5,
        client_software_name=name,
        client_software_version="1",
        cluster_id=cluster_id,
        node_id=node_id,
    )
    response = call(cluster, request, 5, broker_id=2)
    assert response.error_code == error_code
    assert bool(response.api_keys) is (error_code is ErrorCode.NONE)


def test_a_misrouted_client_gets_no_response_that_is_kept() -> None:
    cluster = make_cluster(2)
    assert _shortcut(cluster, 5, cluster_id=CLUSTER_ID, node_id=1) is not None
    assert _shortcut(cluster, 5, cluster_id=CLUSTER_ID, node_id=2) is None
