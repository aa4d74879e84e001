"""A run without a cluster, for tests of single clients."""

from typing import Any

from client.resources import Address
from loadgen.clients.connection_settings import ConnectionSettings
from loadgen.clients.load_client import Run
from loadgen.plan.plan import Plan, Tenant, Topic
from loadgen.plan.run_spec import RunSpec, Topology
from loadgen.row_encoder import RowEncoder, batches
from loadgen.rows import Rows


def run_of(tenant: Tenant, port: int = 1, **plan_fields: Any) -> Run:
    """Return a run of this tenant with one broker on this loopback port."""
    plan = Plan(
        name="p", duration_s=10, tenants=(tenant,), topics=(Topic(tenant.topic, 1),), **plan_fields
    )
    topology = Topology({1: Address("127.0.0.1", port)}, 1, {tenant.topic: [1]})
    return Run(
        RunSpec("r", plan, topology), Rows(), [ConnectionSettings(tenant.client_id)], topology
    )


def rows_of(run: Run) -> list[dict[str, Any]]:
    """Return all rows so far."""
    encoder = RowEncoder(0, 0, run.plan.tenants, run.spec.tenant_of_clients())
    return [row for batch in batches(run.rows, encoder) for row in batch.to_pylist()]
