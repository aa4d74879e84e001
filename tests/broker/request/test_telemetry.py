"""The attributes of a client that client metrics can match."""

from uuid import UUID

from broker.request.client_software import ClientSoftware
from broker.request.telemetry import client_attributes
from protocol.api_keys import ApiKey
from tests.broker.cluster_builder import make_context


def test_attributes_are_those_of_the_request_and_the_connection() -> None:
    context = make_context(ApiKey.PUSH_TELEMETRY, 0)
    assert client_attributes(context, UUID(int=5))["client_software_name"] == "unknown"
    context.session.client_software = ClientSoftware("librdkafka", "2.6.0")
    assert client_attributes(context, UUID(int=5)) == {
        "client_instance_id": "AAAAAAAAAAAAAAAAAAAABQ",
        "client_id": "test-client",
        "client_software_name": "librdkafka",
        "client_software_version": "2.6.0",
        "client_source_address": "127.0.0.1",
        "client_source_port": None,
    }
    context.session.client_port = 40123
    assert client_attributes(context, UUID(int=5))["client_source_port"] == "40123"
