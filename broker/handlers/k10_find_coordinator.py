"""FindCoordinator: v0-6.

Behaviour:
    - The coordinator of a group (key type 0) is the leader of its partition of
      `__consumer_offsets`. The first request for a group creates that topic and charges nobody.
    - COORDINATOR_NOT_AVAILABLE while the partition has no leader, or if the topic cannot be
      created: offsets.topic.replication.factor is set to more than the brokers that are up.
    - With internal.topic.creation.async the topic waits in the controller's queue, and until it
      exists the error is COORDINATOR_NOT_AVAILABLE, at least once.
    - The coordinator of a transactional id (key type 1) is the leader of its partition of
      `__transaction_state`, which is created in the same way.
    - The coordinator of a share partition (key type 2, from v6) is the leader of its partition of
      `__share_group_state`, which the first request creates. A key that is not
      `GROUP:TOPIC_ID:PARTITION`, and other key types, get INVALID_REQUEST.
    - From v4 a request has a batch of keys, each with its own result.
    - What a client may not describe gets GROUP_AUTHORIZATION_FAILED or
      TRANSACTIONAL_ID_AUTHORIZATION_FAILED. Only brokers ask for share partitions: without
      permission for cluster actions all keys get CLUSTER_AUTHORIZATION_FAILED.

Gaps:
    - Kafka always creates the topic asynchronously. Here the first response names the coordinator,
      so that the first group of a test does not wait for a retry.
"""

from typing import NamedTuple

from broker.authorization.checks import (
    CLUSTER_ACTION_CLUSTER,
    DESCRIBE_GROUP,
    DESCRIBE_TRANSACTIONAL_ID,
)
from broker.cluster.cluster import Cluster
from broker.cluster.controller_queue import ControllerEvent
from broker.cluster.coordinators import ensure_internal_topic
from broker.cluster.internal_topics import (
    GROUP_METADATA,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    InternalTopic,
)
from broker.cluster.share_log import parse_coordinator_key
from broker.config.api_versions import release_of
from broker.errors import AUTHORIZATION_MESSAGES, INVALID_REQUEST_MESSAGE
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from broker.routes import handles
from broker.share_groups.share_state import SharePartitionKey
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

GROUP_KEY_TYPE = 0
TRANSACTION_KEY_TYPE = 1
SHARE_KEY_TYPE = 2
_KEY_TYPES = frozenset({GROUP_KEY_TYPE, TRANSACTION_KEY_TYPE, SHARE_KEY_TYPE})
BATCH_VERSION_MIN = 4
SHARE_VERSION_MIN = 6

_MESSAGES = {
    ErrorCode.NONE: "NONE",  # what Kafka sends if there is no error
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.INVALID_REQUEST: INVALID_REQUEST_MESSAGE,
    **AUTHORIZATION_MESSAGES,
}
_CHECKS = {GROUP_KEY_TYPE: DESCRIBE_GROUP, TRANSACTION_KEY_TYPE: DESCRIBE_TRANSACTIONAL_ID}


class _Found(NamedTuple):
    error_code: ErrorCode
    node_id: int = -1
    host: str = ""
    port: int = -1


@handles(
    ApiKey.FIND_COORDINATOR,
    checks=(DESCRIBE_GROUP, DESCRIBE_TRANSACTIONAL_ID, CLUSTER_ACTION_CLUSTER),
)
@may_pause
def handle_find_coordinator(
    context: RequestContext, request: "messages.FindCoordinatorRequest", cluster: Cluster
) -> "messages.FindCoordinatorResponse":
    """Kafka's `KafkaApis.handleFindCoordinatorRequest`."""
    version = context.api_version
    if version < BATCH_VERSION_MIN:
        found = _find(context, cluster, request.key_type, request.key)
        return messages.FindCoordinatorResponse(
            version=version, error_message=_MESSAGES[found.error_code], **found._asdict()
        )
    is_for_brokers = request.key_type == SHARE_KEY_TYPE and version >= SHARE_VERSION_MIN
    is_denied = is_for_brokers and not is_allowed(context, cluster, CLUSTER_ACTION_CLUSTER)
    # Since version 4 only what fails the whole request has a message.
    has_message = is_denied or request.key_type not in _KEY_TYPES
    coordinators = []
    for key in paced(request.coordinator_keys):
        found = _Found(CLUSTER_ACTION_CLUSTER.error_code)
        if not is_denied:
            found = _find(context, cluster, request.key_type, key)
        coordinators.append(
            messages.FindCoordinatorResponse.Coordinator(
                version=version,
                key=key,
                error_message=_MESSAGES[found.error_code] if has_message else "",
                **found._asdict(),
            )
        )
    return messages.FindCoordinatorResponse(version=version, coordinators=coordinators)


@may_pause
def _find(context: RequestContext, cluster: Cluster, key_type: int, key: str) -> _Found:
    if key_type not in _KEY_TYPES:
        return _Found(ErrorCode.INVALID_REQUEST)
    check = _CHECKS.get(key_type)
    if check is not None and not is_allowed(context, cluster, check, key):
        return _Found(check.error_code)
    node_id: int | None = None
    if key_type == SHARE_KEY_TYPE:
        release = release_of(cluster.config.for_broker(context.broker_id))
        share_key = parse_coordinator_key(key, release)
        if context.api_version < SHARE_VERSION_MIN or share_key is None:
            return _Found(ErrorCode.INVALID_REQUEST)
        if _exists(context, cluster, SHARE_GROUP_STATE):
            node_id = _share_coordinator_id(cluster, share_key)
    elif key_type == TRANSACTION_KEY_TYPE:
        if _exists(context, cluster, TRANSACTION_STATE):
            node_id = cluster.transaction_coordinator_id(key)
    elif _exists(context, cluster, GROUP_METADATA):
        node_id = cluster.coordinator_id(key)
    if node_id is None:
        return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    broker = cluster.brokers[node_id]
    address = broker.address(context.session.listener)
    return _Found(ErrorCode.NONE, broker.node_id, address.host, address.port)


def _share_coordinator_id(cluster: Cluster, key: SharePartitionKey) -> int | None:
    partition = cluster.share.log.partition(key)
    if partition is None or not cluster.is_alive(partition.leader_id):
        return None
    return partition.leader_id


@may_pause
def _exists(context: RequestContext, cluster: Cluster, internal: InternalTopic) -> bool:
    """Return whether an internal topic exists; create it now or later if it is missing."""
    if cluster.topics.get(internal.name) is not None:
        return True
    if cluster.config["internal.topic.creation.async"]:
        _create_later(context, cluster, internal)
        return False
    return ensure_internal_topic(cluster, internal) is not None


@may_pause
def _create_later(context: RequestContext, cluster: Cluster, internal: InternalTopic) -> None:
    """Create an internal topic as an event of the controller, unless it waits already."""
    queue, name = cluster.controller_queue, internal.name
    if name in queue.pending_topics:
        return

    def create(_now_ms: int) -> None:
        queue.pending_topics.discard(name)
        ensure_internal_topic(cluster, internal)

    def mutation_count() -> int:
        partition_count: int = cluster.config[internal.partition_count_key]
        return 0 if cluster.topics.get(name) is not None else partition_count

    queue.pending_topics.add(name)
    queue.submit(ControllerEvent("createTopics", create, mutation_count), context.now_ms)
