"""ApiVersions: v0-5.

Behaviour:
    - Lists the APIs that the requested broker serves, in the versions of a 4.4.0 broker or of
      broker.api.versions. Telemetry is served and not advertised, as in Kafka without a plugin
      for it.
    - Produce is advertised from version 0, because older librdkafka switches compression off
      otherwise (KAFKA-18659).
    - From v3 lists the features that the release supports and the levels that the cluster
      finalized, with their epoch. v3 leaves out features whose lowest level is 0 (KAFKA-17492).
    - An unknown version gets a v0 response with UNSUPPORTED_VERSION and the supported range of
      ApiVersions (KIP-511). The range is missing if v3 is not served, as in older brokers. The
      response header is version 0 for every version.
    - From v3 the client's name and version must match Kafka's pattern, else INVALID_REQUEST. The
      session keeps them, since the error of KIP-936's quota depends on the client library.
    - v5 may name the cluster and the node that the client wants to reach (KIP-1242). Only one of
      them gets INVALID_REQUEST, and another cluster or node REBOOTSTRAP_REQUIRED.
"""

import re
from functools import lru_cache

from broker.cluster.cluster import Cluster
from broker.cluster.finalized_features import NO_EPOCH, supported_by
from broker.config.api_versions import features_release_of, version_limits
from broker.request.client_software import ClientSoftware
from broker.request.context import RequestContext
from broker.routes import handles, limited_routes
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import decode_request, encode_body
from protocol.errors import ErrorCode
from protocol.pacing import may_pause
from protocol.releases import Release

SOFTWARE_VERSION_MIN = 3
"""First version of ApiVersions in which clients send their name and version (KIP-511)."""

LEVEL_0_VERSION_MIN = 4
"""First version of ApiVersions with features whose lowest level is 0."""

NODE_VERSION_MIN = 5
"""First version of ApiVersions that may name the node that the client wants (KIP-1242)."""

NO_NODE = -1

_SupportedFeature = messages.ApiVersionsResponse.SupportedFeatureKey
_FinalizedFeature = messages.ApiVersionsResponse.FinalizedFeatureKey

_SOFTWARE_PATTERN = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@may_pause
def respond_as_before(
    context: RequestContext, frame: bytes | bytearray, start: int, end: int, cluster: Cluster
) -> bytes | None:
    """Return the encoded response that an earlier client got, as every new connection asks for it.

    None if the client is refused.
    """
    version = context.api_version
    request = decode_request(ApiKey.API_VERSIONS, version, frame, start, end)
    if _refuse(context, request, cluster) is not ErrorCode.NONE:
        return None
    bodies = cluster.routes.api_versions_bodies
    key = (context.broker_id, version, cluster.features.epoch)
    body = bodies.get(key)
    if body is None:
        body = bodies[key] = _encoded(version, *_shown_by(context, cluster))
    return body


@handles(ApiKey.API_VERSIONS, shortcut=respond_as_before)
@may_pause
def handle_api_versions(
    context: RequestContext, request: "messages.ApiVersionsRequest", cluster: Cluster
) -> "messages.ApiVersionsResponse":
    """Kafka's `KafkaApis.handleApiVersionsRequest`."""
    error_code = _refuse(context, request, cluster)
    if error_code is not ErrorCode.NONE:
        return messages.ApiVersionsResponse(
            version=context.api_version, error_code=error_code, api_keys=[]
        )
    return _response(context.api_version, *_shown_by(context, cluster))


def _refuse(
    context: RequestContext, request: "messages.ApiVersionsRequest", cluster: Cluster
) -> ErrorCode:
    """Keep the name and the version of the client, or return why it may not go on."""
    version = context.api_version
    cluster_id, node_id = request.cluster_id, request.node_id
    names_node = version >= NODE_VERSION_MIN and (cluster_id is not None or node_id != NO_NODE)
    if names_node and (cluster_id is None or node_id == NO_NODE):
        return ErrorCode.INVALID_REQUEST
    if version >= SOFTWARE_VERSION_MIN:
        software = ClientSoftware(request.client_software_name, request.client_software_version)
        if not all(map(_SOFTWARE_PATTERN.fullmatch, software)):
            return ErrorCode.INVALID_REQUEST
        context.session.client_software = software
    if names_node and (cluster_id, node_id) != (cluster.cluster_id, context.broker_id):
        return ErrorCode.REBOOTSTRAP_REQUIRED
    return ErrorCode.NONE


@may_pause
def _shown_by(
    context: RequestContext, cluster: Cluster
) -> tuple[tuple[str, ...], Release, tuple[tuple[str, int], ...], int]:
    """Return the broker's limits of versions and release of features, and what is finalized.

    The latter are the levels and their epoch.
    """
    values = cluster.config.for_broker(context.broker_id)
    release = features_release_of(values)
    finalized = cluster.features.shown_by(release)
    return version_limits(values), release, tuple(finalized.items()), cluster.features.epoch


@lru_cache(maxsize=64)
@may_pause
def _encoded(
    version: int,
    limits: tuple[str, ...],
    release: Release,
    finalized: tuple[tuple[str, int], ...],
    epoch: int,
) -> bytes:
    """Return the response as bytes; brokers of one configuration, of any cluster, share them."""
    response = _response(version, limits, release, finalized, epoch)
    return bytes(encode_body(response, version))


@lru_cache(maxsize=64)
def _advertised(limits: tuple[str, ...]) -> tuple["messages.ApiVersionsResponse.ApiVersion", ...]:
    return tuple(
        messages.ApiVersionsResponse.ApiVersion(
            api_key=route.api_key,
            min_version=route.advertised_min,
            max_version=route.version_max,
        )
        for _, route in sorted(limited_routes(limits).items())
        if route.is_advertised
    )


@may_pause
def _response(
    version: int,
    limits: tuple[str, ...],
    release: Release,
    finalized: tuple[tuple[str, int], ...],
    epoch: int,
) -> "messages.ApiVersionsResponse":
    supported = supported_by(release, with_level_0=version >= LEVEL_0_VERSION_MIN)
    return messages.ApiVersionsResponse(
        version=version,
        error_code=ErrorCode.NONE,
        api_keys=list(_advertised(limits)),
        throttle_time_ms=0,
        supported_features=[
            _SupportedFeature(name=name, min_version=levels.lowest, max_version=levels.highest)
            for name, levels in supported.items()
        ],
        finalized_features=[
            _FinalizedFeature(name=name, min_version_level=level, max_version_level=level)
            for name, level in finalized
        ],
        finalized_features_epoch=epoch if finalized else NO_EPOCH,
    )
