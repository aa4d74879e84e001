"""ExpireDelegationToken: v1-2.

Behaviour:
    - The owner or a renewer lets a token expire after `expiry_time_period_ms`; a negative period
      removes it at once. Open connections stay.
    - Errors: DELEGATION_TOKEN_NOT_FOUND, DELEGATION_TOKEN_EXPIRED,
      DELEGATION_TOKEN_OWNER_MISMATCH.
    - A connection that is not authenticated, or by a token, gets
      DELEGATION_TOKEN_REQUEST_NOT_ALLOWED. Without `delegation.token.secret.key` others get
      DELEGATION_TOKEN_AUTH_DISABLED.
"""

from broker.administration.delegation_tokens import refusal_of, requester_of
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey


@handles(ApiKey.EXPIRE_DELEGATION_TOKEN)
def handle_expire_delegation_token(
    context: RequestContext, request: "messages.ExpireDelegationTokenRequest", cluster: Cluster
) -> "messages.ExpireDelegationTokenResponse":
    """Kafka's `KafkaApis.handleExpireTokenRequest`."""
    refusal = refusal_of(context, cluster.delegation_tokens)
    error_code, expiry_timestamp_ms = refusal or cluster.delegation_tokens.expire(
        bytes(request.hmac),
        requester_of(context),
        request.expiry_time_period_ms,
        context.now_ms,
    )
    return messages.ExpireDelegationTokenResponse(
        version=context.api_version,
        error_code=error_code,
        expiry_timestamp_ms=expiry_timestamp_ms,
        throttle_time_ms=0,
    )
