"""The protocol of a tenant's group chooses the class of its members."""

from loadgen.clients.consumer_member import ConsumerMember
from loadgen.clients.group_clients import ClassicMember
from loadgen.clients.group_protocols import member_of_group
from loadgen.plan.plan import Tenant
from tests.loadgen.stubs import run_of


def test_the_protocol_chooses_the_class() -> None:
    for protocol, expected in (("classic", ClassicMember), ("consumer", ConsumerMember)):
        tenant = Tenant("a", "consumer-group", group_protocol=protocol)  # type: ignore[arg-type]
        assert type(member_of_group(run_of(tenant), tenant, 0)) is expected
