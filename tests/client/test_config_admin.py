"""Configurations with the admin client; `test_admin` has those of topics and brokers."""

from typing import Any

import pytest

from client.errors import ApiError
from client.resources import ConfigResource
from protocol import messages
from protocol.configs import ResourceType
from tests.client.scripted import admin_of, configs, metadata


def listed(error_code: int = 0) -> Any:
    response = messages.ListConfigResourcesResponse
    resource = response.ConfigResource(resource_type=16, resource_name="m")
    return response(error_code=error_code, config_resources=[resource])


def test_resources_with_a_configuration_are_listed_by_type() -> None:
    admin, peer = admin_of(listed())
    found = admin.list_config_resources([ResourceType.CLIENT_METRICS])
    assert found == [ConfigResource(ResourceType.CLIENT_METRICS, "m")]
    assert peer.requests[0].resource_types == [16]


def test_an_error_of_the_list_is_raised() -> None:
    admin, _ = admin_of(listed(35))
    with pytest.raises(ApiError, match="UNSUPPORTED_VERSION"):
        admin.list_config_resources([ResourceType.GROUP])


def test_loggers_are_described_by_their_broker() -> None:
    admin, peer = admin_of(
        metadata(brokers=((1, "one", 9092), (2, "two", 9093))), configs(8, "2", ("root", "INFO", 6))
    )
    described = admin.describe_configs([ConfigResource(ResourceType.BROKER_LOGGER, "2")])
    assert [address.host for address, _ in peer.asked] == ["one", "two"]
    assert len(described) == 1
