"""Clusters that the whole run shares, and a separate topic name for every test."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mock_kafka import MockKafka
from scenarios.clients.interface import Client
from scenarios.clients.python_clients import CLIENTS
from scenarios.maven import CannotRunError
from tests.interop import proxied_clusters
from tests.interop.apache_kafka import ApacheKafka
from tests.interop.spark_connector import Connector
from tests.interop.started_kafka import started
from tests.spark_session import connector_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The tests' records carry the same timestamps for ever, and those lie in the past.
CONFIG = {"log.retention.ms": -1, "group.min.session.timeout.ms": 200}
_numbers = itertools.count(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is interop."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.interop)
            # A client that reconnects may leave a socket to the garbage collector; its own affair.
            item.add_marker(
                pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
            )


def broker_errors(kafka: MockKafka) -> list[str]:
    """What the broker itself calls an error: a bug of ours, whatever the client made of it."""
    return [line for line in kafka.log_lines() if re.search(r"\berror\b|Traceback", line)]


@pytest.fixture(scope="session", autouse=True)
def proxied() -> Iterator[None]:
    """With PROXIED set all clients of plain clusters go through a proxy."""
    with pytest.MonkeyPatch.context() as patch:
        if proxied_clusters.PROXIED:
            proxied_clusters.install(patch)
        yield


@pytest.fixture(scope="session")
def shared_kafka() -> Iterator[MockKafka]:
    with MockKafka(config=CONFIG) as kafka:
        yield kafka


@pytest.fixture(scope="session")
def shared_kafka_of_three() -> Iterator[MockKafka]:
    with MockKafka(brokers=3, config=CONFIG) as kafka:
        yield kafka


@pytest.fixture
def kafka(shared_kafka: MockKafka) -> Iterator[MockKafka]:
    """One broker; the test fails when the broker reports one of its bugs during the test."""
    before = len(broker_errors(shared_kafka))
    yield shared_kafka
    assert broker_errors(shared_kafka)[before:] == []


@pytest.fixture
def kafka_of_three(shared_kafka_of_three: MockKafka) -> Iterator[MockKafka]:
    """Three brokers; else as `kafka`."""
    before = len(broker_errors(shared_kafka_of_three))
    yield shared_kafka_of_three
    assert broker_errors(shared_kafka_of_three)[before:] == []


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses."""
    name = re.sub(r"[^a-zA-Z0-9._-]", "-", request.node.name.removeprefix("test_"))
    return f"{name[:80]}.{next(_numbers)}"


@pytest.fixture(params=CLIENTS, ids=lambda client: client.name)
def client(request: pytest.FixtureRequest) -> Client:
    """Each of the client libraries in turn."""
    param: Client = request.param
    return param


@pytest.fixture(scope="session")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """A real broker; where java, mvn or Maven Central is missing, the skip says so."""
    with started(ApacheKafka(tmp_path_factory.mktemp("apache-kafka"), features={})) as kafka:
        yield kafka


@pytest.fixture(scope="session")
def untouched_kafka() -> Iterator[MockKafka]:
    """A broker of ours without a configuration, like the real one."""
    with MockKafka() as kafka:
        yield kafka


@pytest.fixture(params=("mock", "apache"))
def servers(request: pytest.FixtureRequest) -> str:
    """Our broker and the real one in turn, for what both must answer alike."""
    name = {"mock": "untouched_kafka", "apache": "apache_kafka"}[request.param]
    kafka: MockKafka | ApacheKafka = request.getfixturevalue(name)
    return kafka.bootstrap_servers


@pytest.fixture(scope="session")
def spark_with_kafka(spark: "SparkSession") -> "SparkSession":
    """Spark with its Kafka source and sink; the skip says what is missing."""
    try:
        connector_jars()
    except CannotRunError as error:
        pytest.skip(str(error))
    return spark


@pytest.fixture
def connector(spark_with_kafka: "SparkSession", kafka_of_three: MockKafka) -> Connector:
    """Spark's Kafka source and sink on three brokers."""
    return Connector(spark_with_kafka, kafka_of_three.bootstrap_servers)
