"""ApiVersions: v0-4.

Behaviour:
    Answers from the register of handlers, as broker.api.versions limits it for the broker that is
    asked: what is advertised is what is handled. Produce is told from version 0 because older
    librdkafka switches compression off otherwise (KAFKA-18659).
    A version we don't know is answered in the v0 format with UNSUPPORTED_VERSION and our own range
    (KIP-511); without the range where v3 is not there, as by brokers before it. The response header
    stays at version 0 for every version.
    Client name and version must match Kafka's pattern from v3 on, else INVALID_REQUEST. The session
    keeps them: a refusal of KIP-936's quota depends on the client library.
"""

import re
from typing import Any

from broker.cluster.cluster import Cluster
from broker.request.client_software import ClientSoftware
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

SOFTWARE_VERSION_MIN = 3
"""Since this version of ApiVersions clients send their name and version (KIP-511)."""

_SOFTWARE_PATTERN = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@handles(ApiKey.API_VERSIONS, versions=(0, 4))
def handle_api_versions(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `KafkaApis.handleApiVersionsRequest`."""
    if context.api_version >= SOFTWARE_VERSION_MIN:
        software = ClientSoftware(request.client_software_name, request.client_software_version)
        if not all(map(_SOFTWARE_PATTERN.fullmatch, software)):
            return messages.ApiVersionsResponse(
                version=context.api_version, error_code=ErrorCode.INVALID_REQUEST, api_keys=[]
            )
        context.session.client_software = software
    return messages.ApiVersionsResponse(
        version=context.api_version,
        error_code=ErrorCode.NONE,
        api_keys=[
            messages.ApiVersionsResponse.ApiVersion(
                api_key=route.api_key,
                min_version=route.advertised_min,
                max_version=route.version_max,
            )
            for _, route in sorted(cluster.routes[context.broker_id].items())
        ],
        throttle_time_ms=0,
    )
