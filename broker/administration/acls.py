"""ACL requests at a broker without an authorizer: what is malformed, and the error of the others.

Sources: Kafka's `AclApis`, `CreateAclsRequest`, `DeleteAclsRequest` and `DescribeAclsRequest`.
"""

from broker.errors import Refusal
from broker.responses import Close
from protocol.errors import ErrorCode

UNKNOWN = 0
"""The code of an unknown resource type, pattern type, operation or permission type."""

NO_AUTHORIZER = Refusal(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")


def refuse_unknown(*codes: int) -> Close | None:
    """Close the connection of a request with an unknown type or operation, as Kafka does."""
    if UNKNOWN in codes:
        return Close("ACL request with an unknown type or operation")
    return None
