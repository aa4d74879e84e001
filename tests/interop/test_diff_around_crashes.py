"""Brokers of Apache Kafka are killed while their answers are compared with ours."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.diff.report import SAME
from scenarios.clients.confluent_kafka import create_topic
from tests.interop.apache_cluster import ApacheCluster
from tests.interop.comparing_proxy import comparing
from tests.interop.proxied_apache_cluster import PROPERTIES
from tests.interop.started_kafka import started
from tests.soak.log_numbers import read_numbers
from tests.soak.programs import RunningClient, drain, python_starters
from tests.soak.run import report_of, violations_of

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("jvm")]
RATE = 50
RUN_S = 5
DOWN_S = 12
"""Longer than `broker.session.timeout.ms`, after which a broker that was killed is fenced."""
PARTITIONS = 3


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheCluster]:
    """Three brokers of Apache Kafka."""
    with started(ApacheCluster(tmp_path_factory.mktemp("cluster"), 3, PROPERTIES)) as running:
        yield running


def crash(cluster: ApacheCluster, node_id: int) -> None:
    """Kill a broker, and start it again when others lead its partitions."""
    cluster.brokers[node_id].kill()
    time.sleep(DOWN_S)
    cluster.brokers[node_id].start()


def test_only_what_a_crash_causes_differs_and_nothing_acknowledged_is_lost(
    cluster: ApacheCluster, tmp_path: Path
) -> None:
    started = python_starters(tmp_path)
    clients: list[RunningClient] = []
    try:
        with comparing(cluster.bootstrap_servers, tmp_path) as compared:
            servers = compared.bootstrap_servers
            for name, start in started.items():
                create_topic(servers, f"crashes-{name}", PARTITIONS, 3)
                clients.append(start(servers, f"crashes-{name}", RATE))
            time.sleep(RUN_S)
            for node_id in (3, 2):
                crash(cluster, node_id)
                time.sleep(RUN_S)
            drain(clients)
            stored = {c.name: read_numbers(cluster.bootstrap_servers, c.topic) for c in clients}
            reports = [report_of(client, client.end(), stored[client.name]) for client in clients]
    finally:
        for client in clients:
            client.kill()
    assert [violation for report in reports for violation in violations_of(report)] == []
    assert all(report.acked > 10 * RATE for report in reports), reports
    assert compared.differences == []
    assert compared.lines[-1] == SAME
