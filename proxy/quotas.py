"""Which requests the quotas of a proxy look at, and what they do with them."""

from collections.abc import Callable, Mapping

from broker.cluster.cluster import Cluster
from broker.responses import DispatchResult
from protocol.api_keys import ApiKey
from proxy.exchange import LOOKED_AT_APIS
from proxy.quota_request import QuotaRequest

TOPIC_CHANGES = frozenset(
    {ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.METADATA}
)

Handle = Callable[[QuotaRequest], DispatchResult]


def quota_handler(api_key: ApiKey, cluster: Cluster) -> Handle | None:
    """Return what handles a request under the quotas that are set now; None if none is for it."""
    quotas = cluster.quotas
    if api_key in LOOKED_AT_APIS:
        return _settings()[api_key]
    if api_key is ApiKey.PRODUCE and quotas.clients.producer_ids_rate.is_enabled:
        from proxy.producer_id_quota import handle_produce  # noqa: PLC0415 - see ADR 24

        return handle_produce
    if api_key in TOPIC_CHANGES and quotas.controller_mutation.is_enabled:
        return _topic_changes()[api_key]
    return None


def _settings() -> Mapping[ApiKey, Handle]:
    from proxy import quota_settings  # noqa: PLC0415 - see ADR 24

    return {
        ApiKey.DESCRIBE_CLIENT_QUOTAS: quota_settings.handle_describe,
        ApiKey.ALTER_CLIENT_QUOTAS: quota_settings.handle_alter,
    }


def _topic_changes() -> Mapping[ApiKey, Handle]:
    from proxy import topic_quota  # noqa: PLC0415 - see ADR 24

    return {
        ApiKey.CREATE_TOPICS: topic_quota.handle_create_topics,
        ApiKey.DELETE_TOPICS: topic_quota.handle_delete_topics,
        ApiKey.CREATE_PARTITIONS: topic_quota.handle_create_partitions,
        ApiKey.METADATA: topic_quota.handle_metadata,
    }
