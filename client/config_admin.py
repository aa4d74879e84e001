"""The part of the admin client for configurations: of topics, brokers, groups and others."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from client.admin_messages import config_entry, config_resource
from client.errors import ApiError, error_of
from client.group_admin import ResponseT
from client.resources import (
    Address,
    ClusterDescription,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
)
from protocol import messages
from protocol.configs import ResourceType

_OF_ONE_BROKER = frozenset({ResourceType.BROKER, ResourceType.BROKER_LOGGER})


class ConfigAdmin(ABC):
    """The methods of `Admin` for configurations."""

    @abstractmethod
    def describe_cluster(self) -> ClusterDescription:
        """Return the brokers."""

    @abstractmethod
    def _ask(
        self, request: "messages.Request[ResponseT]", address: Address | None = None
    ) -> ResponseT: ...

    def describe_configs(
        self, resources: Iterable[ConfigResource]
    ) -> dict[ConfigResource, list[ConfigEntry] | ApiError]:
        """Describe all keys of each resource, with their synonyms."""
        described: dict[ConfigResource, list[ConfigEntry] | ApiError] = {}
        for address, group in self._by_address(resources).items():
            request = messages.DescribeConfigsRequest(
                resources=[
                    messages.DescribeConfigsRequest.DescribeConfigsResource(
                        resource_type=resource.resource_type,
                        resource_name=resource.name,
                        configuration_keys=None,
                    )
                    for resource in group
                ],
                include_synonyms=True,
            )
            for result in self._ask(request, address).results:
                resource = config_resource(result)
                described[resource] = error_of(result.error_code, result.error_message) or [
                    config_entry(config) for config in result.configs
                ]
        return described

    def incremental_alter_configs(
        self, changes: Mapping[ConfigResource, Sequence[ConfigChange]]
    ) -> dict[ConfigResource, ApiError | None]:
        """Change single keys (KIP-339); all keys of a resource change, or none."""
        resource_class = messages.IncrementalAlterConfigsRequest.AlterConfigsResource
        outcomes: dict[ConfigResource, ApiError | None] = {}
        for address, group in self._by_address(changes).items():
            request = messages.IncrementalAlterConfigsRequest(
                resources=[
                    resource_class(
                        resource_type=resource.resource_type,
                        resource_name=resource.name,
                        configs=[
                            resource_class.AlterableConfig(
                                name=change.name,
                                config_operation=change.operation,
                                value=change.value,
                            )
                            for change in changes[resource]
                        ],
                    )
                    for resource in group
                ],
                validate_only=False,
            )
            for result in self._ask(request, address).responses:
                outcomes[config_resource(result)] = error_of(
                    result.error_code, result.error_message
                )
        return outcomes

    def list_config_resources(self, resource_types: Iterable[ResourceType]) -> list[ConfigResource]:
        """Return the resources of these types that have a configuration (KIP-1142).

        Brokers before Kafka 4.1 list client metrics only, and refuse other types.
        """
        request = messages.ListConfigResourcesRequest(resource_types=list(resource_types))
        response = self._ask(request)
        error = error_of(response.error_code, None)
        if error is not None:
            raise error
        return [
            ConfigResource(ResourceType(resource.resource_type), resource.resource_name)
            for resource in response.config_resources
        ]

    def _by_address(
        self, resources: Iterable[ConfigResource]
    ) -> dict[Address | None, list[ConfigResource]]:
        """Group resources by broker: only a broker itself knows its configuration."""
        resources = list(resources)
        groups: dict[Address | None, list[ConfigResource]] = {}
        brokers: Mapping[int, Address] = {}
        if any(_broker_id(candidate) is not None for candidate in resources):
            brokers = self.describe_cluster().brokers
        for resource in resources:
            node_id = _broker_id(resource)
            # Any broker responds with the error for an unknown node.
            address = None if node_id is None else brokers.get(node_id)
            groups.setdefault(address, []).append(resource)
        return groups


def _broker_id(resource: ConfigResource) -> int | None:
    is_of_broker = resource.resource_type in _OF_ONE_BROKER and resource.name.isdecimal()
    return int(resource.name) if is_of_broker else None
