"""Very many rules of an authorizer, among them some of the user that a load is from."""

from benchmarks.request_bytes import UnmeasuredConnection
from protocol import messages

RULES = 10_000
RULES_OF_USER = 100
"""Those of the user without a name, which is the load's; the others are of other users."""
OTHER_USERS = 99
OPTIONS = ("authorizer.class.name=acl", "allow.everyone.if.no.acl.found=true")
"""Of a broker whose rules may be created by anybody, as long as there are none of the cluster."""
_VERSION = 3
_Request = messages.CreateAclsRequest


class RulesError(Exception):
    """A rule was refused."""


def create(address: tuple[str, int], topic: str) -> None:
    """Create the rules: one allows everything on topics that begin like a topic.

    Raises:
        RulesError: one of them was refused.
    """
    creations = [_rule("User:ANONYMOUS", f"{topic}-{n}") for n in range(1, RULES_OF_USER)]
    creations += [
        _rule(f"User:{n % OTHER_USERS}", f"topic-{n}", is_prefix=n % 2 == 0)
        for n in range(RULES - RULES_OF_USER)
    ]
    creations.append(_rule("User:ANONYMOUS", topic[:3], is_prefix=True))
    with UnmeasuredConnection(address) as admin:
        response = admin.ask(_Request(version=_VERSION, creations=creations))
    for result in response.results:
        if result.error_code:
            raise RulesError(f"{result}")


def _rule(principal: str, topic: str, *, is_prefix: bool = False) -> _Request.AclCreation:
    return _Request.AclCreation(
        version=_VERSION,
        resource_type=2,
        resource_name=topic,
        resource_pattern_type=4 if is_prefix else 3,
        principal=principal,
        host="*",
        operation=2,
        permission_type=3,
    )
