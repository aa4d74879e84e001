"""Which requests the quotas of the proxy look at."""

from tests.proxy.proxied_client import ProxiedClient
from tests.proxy.quota_requests import IDS, codes, create, produce


def test_shadow_mode_counts_and_refuses_nothing() -> None:
    client = ProxiedClient(
        **{"client.quotas": f"{IDS},controller_mutation_rate=1", "client.quota.shadow": "true"}
    )
    client.cluster.create_topic("t", [(1,)] * 3, {})
    for producer_id in range(1, 6):
        assert codes(client.ask(produce((0, producer_id, 0)), 9)) == [0]
    for name in ("u", "v", "w"):
        assert not client.ask(create((name, 30)), 7).topics[0].error_code
    assert client.muted_ms == 0
    counted = client.mirror.quotas.shadow.rows(client.now_ms)
    assert {key.quota for key, _ in counted} == {
        "producer_ids_rate",
        "controller_mutation_rate",
    }
