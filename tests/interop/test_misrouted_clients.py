"""A client of Kafka 4.4 that reaches another node than it asked for (KIP-1242)."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mock_kafka import MockKafka
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from scenarios.maven import CannotRunError
from tests.interop.java_clients import compile_java_clients
from tests.interop.raw_client import RawClient

CONFIG = {"broker.api.versions": "4.4", "cluster.id": "orders-cluster"}
RECORD_COUNT = 3


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "error_code"),
    [
        ("orders-cluster", 1, ErrorCode.NONE),
        ("orders-cluster", 2, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("another", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        (None, 1, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_broker_refuses_a_connection_that_was_meant_for_another(
    cluster_id: str | None, node_id: int, error_code: ErrorCode
) -> None:
    request = messages.ApiVersionsRequest(
        version=5,
        client_software_name="raw",
        client_software_version="1",
        cluster_id=cluster_id,
        node_id=node_id,
    )
    response_class = messages.response_class(ApiKey.API_VERSIONS)
    with (
        MockKafka(config=CONFIG) as kafka,
        RawClient(kafka.bootstrap_servers) as client,
    ):
        response = client.ask(request, response_class, ApiKey.API_VERSIONS, 5)
    assert response.error_code == error_code
    assert bool(response.api_keys) is (error_code is ErrorCode.NONE)


@pytest.mark.xdist_group("jvm")
def test_a_java_producer_bootstraps_again_until_the_address_is_right(topic: str) -> None:
    try:
        java = compile_java_clients("4.4.0")
    except CannotRunError as error:
        pytest.skip(str(error))
    with MockKafka(brokers=2, config=CONFIG) as kafka, ThreadPoolExecutor(1) as pool:
        addresses = [address.split(":") for address in kafka.bootstrap_servers.split(",")]
        leader = kafka.create_topic(topic, partitions=1).partitions[0].leader
        assert leader is not None
        host, port = addresses[2 - leader]
        kafka.advertise(leader, host, int(port))
        done = pool.submit(
            java.run, "produce", kafka.bootstrap_servers, topic, RECORD_COUNT, linger_ms=0
        )
        refused = kafka.wait_for(api="ApiVersions", error="REBOOTSTRAP_REQUIRED", timeout_s=30)
        host, port = addresses[leader - 1]
        kafka.advertise(leader, host, int(port))
        lines = done.result()
        assert refused.broker == 3 - leader
        assert [line[0] for line in lines[:RECORD_COUNT]] == ["sent"] * RECORD_COUNT
        assert len(kafka.records(topic)) == RECORD_COUNT
