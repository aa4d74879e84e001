"""The offsets that consuming tenants have committed when the run is over."""

from typing import NamedTuple

from client import clock
from client.errors import ClientError
from client.resources import Address
from client.transport import SocketTransport
from loadgen.clients.connection_settings import REQUEST_TIMEOUT_MS, security_of_tenant
from loadgen.clients.fetch_responses import NO_TOPIC_ID
from loadgen.clients.group_requests import (
    find_coordinator_request,
    first_error,
    found_coordinator,
    offset_fetch_request,
    offsets_in,
)
from loadgen.plan.plan import Tenant
from loadgen.plan.run_spec import RunSpec

PAUSE_MS = 100
GIVE_UP_MS = 20_000


class CommittedOffset(NamedTuple):
    """The offset up to which a tenant has consumed a partition of its source."""

    tenant: str
    partition: int
    offset: int


def committed_offsets(spec: RunSpec) -> list[CommittedOffset]:
    """Return the offsets of all tenants that consume a source; 0 records give no offset.

    Transactions that are still open have until their timeout to end.

    Raises:
        ClientError: a group's offsets cannot be read.
    """
    return [
        CommittedOffset(tenant.name, partition, offset)
        for tenant in spec.plan.tenants
        if tenant.source
        for partition, offset in _offsets_of(spec, tenant).items()
        if offset >= 0
    ]


def _offsets_of(spec: RunSpec, tenant: Tenant) -> dict[int, int]:
    # Only these tenants need it, and it imports the clients with transactions.
    from loadgen.clients.consume_transform_produce import group_of  # noqa: PLC0415

    topology, group = spec.topology, group_of(spec, tenant)
    topic_id = topology.topic_ids.get(tenant.source, NO_TOPIC_ID)
    partitions = range(len(topology.leaders[tenant.source]))
    security = security_of_tenant(spec.plan.target, tenant)
    give_up_ms = clock.now_ms() + GIVE_UP_MS + spec.plan.transaction_timeout_ms
    with SocketTransport("mock-kafka-load", security, REQUEST_TIMEOUT_MS) as transport:
        while True:
            any_broker = next(iter(topology.brokers.values()))
            found = found_coordinator(transport.ask(any_broker, find_coordinator_request(group)))
            error_code = found.error_code
            if not error_code:
                response = transport.ask(
                    Address(found.host, found.port),
                    offset_fetch_request(
                        group, tenant.source, topic_id, partitions, require_stable=True
                    ),
                )
                error_code = first_error(response)
                if not error_code:
                    return offsets_in(response)
            if clock.now_ms() > give_up_ms:
                raise ClientError(f"offsets of group {group}: error code {error_code}")
            clock.sleep_ms(PAUSE_MS)
