"""FindCoordinator: v0-6.

Behaviour:
    - Spreads groups (key type 0) and transactional ids (1) over the brokers that are up. Every
      broker gives the same response. If no broker is up: COORDINATOR_NOT_AVAILABLE.
    - Other key types, such as share groups, get INVALID_REQUEST.
    - From v4 a request has a batch of keys, each with its own result.

Gaps:
    - Kafka returns COORDINATOR_NOT_AVAILABLE until its internal topic exists. Here nothing has to
      be created, so the first response names the coordinator.
"""

from typing import Any, NamedTuple

from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

GROUP_KEY_TYPE = 0
TRANSACTION_KEY_TYPE = 1
BATCH_VERSION_MIN = 4

_MESSAGES = {
    ErrorCode.NONE: "NONE",  # what Kafka sends if there is no error
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: "This type of coordinator key is not supported.",
}


class _Found(NamedTuple):
    error_code: ErrorCode
    node_id: int = -1
    host: str = ""
    port: int = -1


@handles(ApiKey.FIND_COORDINATOR, versions=(0, 6))
def handle_find_coordinator(context: RequestContext, request: Any, cluster: Cluster) -> Any:
    """Kafka's `KafkaApis.handleFindCoordinatorRequest`."""
    version = context.api_version
    if version < BATCH_VERSION_MIN:
        found = _find(context, cluster, request.key_type, request.key)
        return messages.FindCoordinatorResponse(
            version=version, error_message=_MESSAGES[found.error_code], **found._asdict()
        )
    coordinators = []
    for key in request.coordinator_keys:
        found = _find(context, cluster, request.key_type, key)
        coordinators.append(
            messages.FindCoordinatorResponse.Coordinator(
                version=version,
                key=key,
                error_message=_MESSAGES[found.error_code],
                **found._asdict(),
            )
        )
    return messages.FindCoordinatorResponse(version=version, coordinators=coordinators)


def _find(context: RequestContext, cluster: Cluster, key_type: int, key: str) -> _Found:
    if key_type not in {GROUP_KEY_TYPE, TRANSACTION_KEY_TYPE}:
        return _Found(ErrorCode.INVALID_REQUEST)
    node_id = cluster.coordinator_id(key)
    if node_id is None:
        return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    broker = cluster.brokers[node_id]
    address = broker.address(context.session.listener)
    return _Found(ErrorCode.NONE, broker.node_id, address.host, address.port)
