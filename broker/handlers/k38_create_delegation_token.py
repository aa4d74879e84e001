"""CreateDelegationToken: v1-3.

Behaviour:
    - A connection that is not authenticated gets DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
    - Others get DELEGATION_TOKEN_AUTH_DISABLED, as from Kafka without
      `delegation.token.secret.key`.
    - A renewer that is no user gets INVALID_PRINCIPAL_TYPE, an owner with a name and no type
      UNKNOWN_SERVER_ERROR.

Gaps:
    - There are no delegation tokens.
"""

from typing import Any

from broker.administration.delegation_tokens import (
    NO_TIMESTAMP,
    USER_TYPE,
    is_allowed,
    refusal_of,
)
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.request.session import ANONYMOUS
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode

OWNER_VERSION_MIN = 3


@handles(ApiKey.CREATE_DELEGATION_TOKEN, versions=(1, 3))
def handle_create_delegation_token(context: RequestContext, request: Any, _cluster: Cluster) -> Any:
    """Kafka's `KafkaApis.handleCreateTokenRequest`."""
    error_code, timestamp_ms = refusal_of(context)
    is_for_other = context.api_version >= OWNER_VERSION_MIN and request.owner_principal_name
    owner_type = request.owner_principal_type if is_for_other else USER_TYPE
    owner_name = request.owner_principal_name if is_for_other else context.principal
    requester_name = context.principal
    if owner_type is None:
        # Kafka fails to make a principal of it, and its error response names nobody.
        error_code, timestamp_ms = ErrorCode.UNKNOWN_SERVER_ERROR, NO_TIMESTAMP
        owner_type, owner_name, requester_name = USER_TYPE, ANONYMOUS, ANONYMOUS
    elif is_allowed(context) and any(
        renewer.principal_type != USER_TYPE for renewer in request.renewers
    ):
        error_code, timestamp_ms = ErrorCode.INVALID_PRINCIPAL_TYPE, NO_TIMESTAMP
    return messages.CreateDelegationTokenResponse(
        version=context.api_version,
        error_code=error_code,
        principal_type=owner_type,
        principal_name=owner_name,
        token_requester_principal_type=USER_TYPE,
        token_requester_principal_name=requester_name,
        issue_timestamp_ms=timestamp_ms,
        expiry_timestamp_ms=timestamp_ms,
        max_timestamp_ms=timestamp_ms,
        token_id="",
        hmac=b"",
        throttle_time_ms=0,
    )
