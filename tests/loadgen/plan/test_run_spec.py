"""Values that workers derive from the run spec."""

from client.resources import Address
from loadgen.plan.plan import Plan, Tenant
from loadgen.plan.run_spec import RunSpec, Topology

PLAN = Plan(
    name="p",
    duration_s=1,
    tenants=(Tenant("a", "steady", "a", clients=2), Tenant("b", "steady", "b", clients=3)),
)
BROKERS = {2: Address("h", 1), 5: Address("h", 2)}


def test_clients_are_numbered_across_all_tenants() -> None:
    spec = RunSpec("r", PLAN, Topology(BROKERS, 5, {}))
    assert spec.tenant_of_clients() == [0, 0, 1, 1, 1]
    assert [spec.ordinal(client) for client in range(5)] == [0, 1, 0, 1, 2]


def test_topic_names_of_events_differ_between_runs() -> None:
    spec = RunSpec("r", PLAN, Topology(BROKERS, 5, {}))
    assert spec.topic_name(PLAN.tenants[1], 7, 3) == "r.b.7.3"


def test_without_a_known_controller_any_broker_is_used() -> None:
    assert Topology(BROKERS, 5, {}).controller() == 5
    assert Topology(BROKERS, -1, {}).controller() == 2
