"""Some quotas are the proxy's, the others the cluster's; a tool sees and sets both."""

from typing import Any

from protocol import messages
from protocol.errors import ErrorCode
from tests.proxy.proxied_client import ProxiedClient


def alter(**values: float | None) -> Any:
    entry = messages.AlterClientQuotasRequest.EntryData
    return messages.AlterClientQuotasRequest(
        version=1,
        entries=[
            entry(
                version=1,
                entity=[entry.EntityData(version=1, entity_type="user", entity_name="alice")],
                ops=[
                    entry.OpData(version=1, key=key, value=value or 0.0, remove=value is None)
                    for key, value in values.items()
                ],
            )
        ],
        validate_only=False,
    )


def described(client: ProxiedClient) -> dict[str, float]:
    request = messages.DescribeClientQuotasRequest(version=1, components=[], strict=False)
    entries = client.ask(request, 1).entries
    return {value.key: value.value for entry in entries for value in entry.values}


def test_the_proxy_keeps_its_keys_and_the_cluster_the_others() -> None:
    client = ProxiedClient()
    response = client.ask(alter(producer_ids_rate=7, producer_byte_rate=1000), 1)
    assert [entry.error_code for entry in response.entries] == [0]
    assert described(client) == {"producer_ids_rate": 7, "producer_byte_rate": 1000}
    clusters = client.cluster.quotas.clients.describe((), strict=False)
    assert [values for _, values in clusters] == [{"producer_byte_rate": 1000}]  # type: ignore[union-attr]
    client.ask(alter(producer_ids_rate=None), 1)
    assert described(client) == {"producer_byte_rate": 1000}


def test_a_value_that_is_invalid_for_the_proxy_is_refused() -> None:
    client = ProxiedClient()
    (entry,) = client.ask(alter(controller_mutation_rate=-1), 1).entries
    assert entry.error_code == ErrorCode.INVALID_REQUEST
    assert described(client) == {}
