"""Clients that send requests of administration: they describe, list, and change configurations."""

from loadgen.clients.load_client import Event, Run
from loadgen.clients.load_connection import LoadConnection
from loadgen.clients.sequential_client import SequentialClient
from loadgen.plan.plan import Tenant
from protocol import messages
from protocol.api_keys import ApiKey

_TOPIC, _SET = 2, 0
_CHANGED_KEY = "retention.ms"
_RETENTION_MS = 604_800_000


class AdminClient(SequentialClient):
    """Sends one of its tenant's `requests` for each event, at random.

    Changes go to the controller, other requests to any broker.
    """

    api = ApiKey.METADATA

    def __init__(self, run: Run, tenant: Tenant, number: int) -> None:
        super().__init__(run, tenant, number)
        self._connections: dict[int, LoadConnection] = {}

    async def disconnect(self) -> None:
        """See `SequentialClient`."""
        while self._connections:
            self._connections.popitem()[1].abort()

    async def handle(self, event: Event) -> None:
        """See `SequentialClient`."""
        kinds = self.tenant.requests
        kind = kinds[event.salt % len(kinds)]
        topology = self.run.topology

        def node_of(failures: int) -> int:
            nodes = sorted(topology.brokers)
            number = event.salt // len(kinds) + failures
            return topology.controller() if kind == "alter-configs" else nodes[number % len(nodes)]

        connection, node = await self.connected(self._connections, node_of)
        request = _request(kind, self.tenant.topic, event)
        await self.send_request(event, connection, node, request, _outcome, topic=self.tenant.topic)


def _request(kind: str, topic: str, event: Event) -> "messages.Request[messages.Message]":
    if kind == "describe-cluster":
        return messages.DescribeClusterRequest(include_cluster_authorized_operations=False)
    if kind == "describe-topics":
        topic_class = messages.MetadataRequest.MetadataRequestTopic
        return messages.MetadataRequest(
            topics=[topic_class(name=topic)], allow_auto_topic_creation=False
        )
    if kind == "describe-configs":
        resource = messages.DescribeConfigsRequest.DescribeConfigsResource
        return messages.DescribeConfigsRequest(
            resources=[
                resource(resource_type=_TOPIC, resource_name=topic, configuration_keys=None)
            ],
            include_synonyms=False,
            include_documentation=False,
        )
    if kind == "list-groups":
        return messages.ListGroupsRequest(states_filter=[], types_filter=[])
    changed = messages.IncrementalAlterConfigsRequest.AlterConfigsResource
    return messages.IncrementalAlterConfigsRequest(
        resources=[
            changed(
                resource_type=_TOPIC,
                resource_name=topic,
                configs=[
                    changed.AlterableConfig(
                        name=_CHANGED_KEY,
                        config_operation=_SET,
                        value=str(_RETENTION_MS + event.salt % 1000),
                    )
                ],
            )
        ],
        validate_only=False,
    )


def _outcome(response: "messages.Message") -> tuple[int, int]:
    """Return the error of a response, or the first of its parts."""
    parts = [
        part
        for field in ("topics", "results", "responses")
        for part in getattr(response, field, None) or ()
    ]
    codes = [getattr(part, "error_code", 0) for part in (response, *parts)]
    return next((code for code in codes if code), 0), 0
