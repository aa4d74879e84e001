"""May a client describe or change a configuration: of brokers, topics, groups or client metrics.

Sources: Kafka's `ConfigHelper.handleDescribeConfigsRequest` and
`ControllerApis.authorizeAlterResource`.
"""

from typing import NamedTuple

from broker.authorization.checks import (
    ALTER_CONFIGS_CLUSTER,
    ALTER_CONFIGS_GROUP,
    ALTER_CONFIGS_TOPIC,
    DESCRIBE_CONFIGS_CLUSTER,
    DESCRIBE_CONFIGS_GROUP,
    DESCRIBE_CONFIGS_TOPIC,
    Check,
)
from broker.cluster.cluster import Cluster
from broker.errors import Refusal
from broker.request.authorization import is_allowed
from broker.request.context import RequestContext
from protocol.acls import CLUSTER_NAME
from protocol.configs import ResourceType


class ConfigChecks(NamedTuple):
    """What a request is authorized for, by the type of its resource."""

    of_cluster: Check
    """Of brokers, their loggers, and client metrics."""
    of_topic: Check
    of_group: Check


ALTER_CONFIGS = ConfigChecks(ALTER_CONFIGS_CLUSTER, ALTER_CONFIGS_TOPIC, ALTER_CONFIGS_GROUP)
DESCRIBE_CONFIGS = ConfigChecks(
    DESCRIBE_CONFIGS_CLUSTER, DESCRIBE_CONFIGS_TOPIC, DESCRIBE_CONFIGS_GROUP
)


def deny_configs(
    context: RequestContext,
    cluster: Cluster,
    checks: ConfigChecks,
    resource_type: int,
    resource_name: str,
) -> Refusal | None:
    """Return the error of a resource whose configuration the client may not use, or None."""
    check, name = checks.of_cluster, CLUSTER_NAME
    if resource_type == ResourceType.TOPIC:
        check, name = checks.of_topic, resource_name
    elif resource_type == ResourceType.GROUP:
        check, name = checks.of_group, resource_name
    return None if is_allowed(context, cluster, check, name) else check.refusal
