"""What passes through the proxy is counted, whether somebody looks at it or not."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from broker.http_admin.prometheus import prometheus_text
from proxy.mirror import MirrorCluster
from tests.proxy.served_proxy import Served, serving, until


def counts(cluster: MirrorCluster) -> dict[str, float]:
    text = prometheus_text(cluster.quotas.metrics, 0)
    return {
        sample.labels.get("api", sample.name.removeprefix("mock_kafka_proxy_")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def asked(served: Served, count: int) -> tuple[int, int]:
    """Ask for metadata, and close; return the bytes of the requests and responses."""
    client = await served.connect()
    for _ in range(count):
        await client.metadata()
    await client.close()
    found = counts(served.proxy.mirror)
    await until(lambda: not served.proxy.mirror.traffic.connection_count)
    return int(found["request_bytes"]), int(found["response_bytes"])


@pytest.mark.parametrize("journal", ["true", "false"])
async def test_requests_bytes_and_connections_are_counted(journal: str) -> None:
    async with serving(journal_enable=journal) as served:
        first = await asked(served, 1)
        second = await asked(served, 2)
        assert second == (3 * first[0], 3 * first[1])
        served.proxy.reset()
        found = counts(served.proxy.mirror)
        assert (found["Metadata"], found["connections_total"]) == (3, 2)
        assert found["connection_count"] == 0
