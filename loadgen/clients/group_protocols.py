"""Choose the class of a group member by the protocol of its group."""

from loadgen.clients.consumer_member import ConsumerMember
from loadgen.clients.group_clients import ClassicMember, GroupMember
from loadgen.clients.load_client import Run
from loadgen.plan.plan import Tenant

_CLASSES: dict[str, type[GroupMember]] = {"classic": ClassicMember, "consumer": ConsumerMember}


def member_of_group(run: Run, tenant: Tenant, number: int) -> GroupMember:
    """Return a member of the tenant's group."""
    return _CLASSES[tenant.group_protocol](run, tenant, number)
