"""Brokers learn one after the other of what a client has changed."""

import pytest

from proxy.diff.recent_changes import CHANGED_MS, CHANGED_SETTING
from proxy.diff.report import SAME
from tests.proxy.diff.real_cluster import BothClusters, Connection


def quota_of(user: str, rate: float) -> dict[str, object]:
    entity = [{"entity_type": "user", "entity_name": user}]
    return {"entity": entity, "ops": [{"key": "producer_byte_rate", "value": rate}]}


@pytest.mark.parametrize("waited_ms", [0, CHANGED_MS])
def test_a_changed_quota_may_be_described_as_before_for_a_while(waited_ms: int) -> None:
    both = BothClusters()
    client, real = both.client(), Connection(both.real)
    client.ask("AlterClientQuotas", 1, entries=[quota_of("alice", 1024.0)], validate_only=False)
    # The broker that is asked next has not learned of the new value.
    real.ask("AlterClientQuotas", 1, entries=[quota_of("alice", 512.0)], validate_only=False)
    both.run(waited_ms)
    client.ask("DescribeClientQuotas", 1, components=[], strict=False)
    report = both.end()
    assert (report.verdict == SAME) is (waited_ms == 0)
    assert report.of("DescribeClientQuotas").timing == ({} if waited_ms else {CHANGED_SETTING: 1})


def test_the_quota_of_another_user_may_not_differ() -> None:
    both = BothClusters()
    client, real = both.client(), Connection(both.real)
    client.ask("AlterClientQuotas", 1, entries=[quota_of("alice", 1024.0)], validate_only=False)
    real.ask("AlterClientQuotas", 1, entries=[quota_of("bob", 512.0)], validate_only=False)
    client.ask("DescribeClientQuotas", 1, components=[], strict=False)
    (found,) = both.end().of("DescribeClientQuotas").differences.values()
    assert found.difference.place == "entries[user=bob]"


def test_a_changed_configuration_may_be_described_as_before() -> None:
    both = BothClusters()
    client, real = both.client(), Connection(both.real)
    topics = [{"name": "t", "num_partitions": 1, "replication_factor": 1}]
    client.ask("CreateTopics", 7, topics=topics, timeout_ms=1000)
    resource = {"resource_type": 2, "resource_name": "t"}
    for asking, value in ((client, "1000"), (real, "2000")):
        configs = [{"name": "retention.ms", "config_operation": 0, "value": value}]
        asking.ask(
            "IncrementalAlterConfigs",
            1,
            resources=[{**resource, "configs": configs}],
            validate_only=False,
        )
    described = [{**resource, "configuration_keys": ["retention.ms"]}]
    client.ask("DescribeConfigs", 4, resources=described)
    report = both.end()
    assert report.verdict == SAME
    assert CHANGED_SETTING in report.of("DescribeConfigs").timing
