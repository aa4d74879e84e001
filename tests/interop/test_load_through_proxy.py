"""Loads with faults through a proxy, in front of our brokers and of Apache Kafka's."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mock_kafka import KafkaProxy, MockKafka
from scenarios.maven import CannotRunError
from tests.interop.proxied_apache_cluster import serving_proxied
from tests.loadgen import disturbed_runs
from tests.loadgen.disturbed_runs import recovery_verdicts, stored_verdicts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.long

PLAN = f"""\
duration_s: 21
{disturbed_runs.HEAD}
faults:
  - name: leader moves
    at: 3s
    for: 1s
    move_leader: {{topic: t, partition: 0, to: 2}}
    expect: {{recovered_within: 2s}}
  - name: broker 3 out of reach
    at: 7s
    for: 1s
    stop_broker: {{broker: 3}}
    expect: {{recovered_within: 2s}}
{disturbed_runs.throttles_and_losses(12)}"""


@pytest.fixture(params=["mock-kafka", "Apache Kafka"])
def proxy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[KafkaProxy]:
    """A proxy in front of three brokers."""
    if request.param == "mock-kafka":
        with MockKafka(3) as kafka, KafkaProxy(kafka.bootstrap_servers) as proxy:
            yield proxy
        return
    folder = tmp_path / "cluster"
    folder.mkdir()
    try:
        with serving_proxied(folder, is_looked_at=True) as proxied:
            yield proxied.proxy
    except CannotRunError as error:
        pytest.skip(str(error))


def test_a_load_behind_a_proxy_has_faults_and_loses_nothing(
    spark: "SparkSession", proxy: KafkaProxy, tmp_path: Path
) -> None:
    addresses = ("--bootstrap-server", proxy.bootstrap_servers, "--admin", proxy.admin_url)
    status, summary = disturbed_runs.run(spark, tmp_path, PLAN, *addresses)
    assert summary["is_complete"], summary["abort_reasons"]
    moved, away, throttled, lost = summary["faults"]
    assert [fault["error"] for fault in summary["faults"]] == [None] * 4
    for fault in (moved, away):
        assert fault["ended_us"] - fault["begun_us"] > 500_000
    assert throttled["fired"] > 5
    assert lost["fired"] > 3

    recovered, stored = recovery_verdicts(summary), stored_verdicts(summary)
    assert {word for word, _ in recovered.values()} == {"passed"}, recovered
    assert {word for word, _ in stored.values()} == {"passed"}, stored
    assert (len(recovered), len(stored)) == (4, 4)
    assert status == 0, summary["verdicts"]
    assert summary["totals"]["lost"] > 3
