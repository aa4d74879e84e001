"""DescribeDelegationToken: v1-3.

Behaviour:
    - A connection that is not authenticated gets DELEGATION_TOKEN_REQUEST_NOT_ALLOWED.
    - Others get DELEGATION_TOKEN_AUTH_DISABLED, as from Kafka without
      `delegation.token.secret.key`.

Gaps:
    - There are no delegation tokens.
"""

from typing import Any

from broker.administration.delegation_tokens import refusal_of
from broker.cluster.cluster import Cluster
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey


@handles(ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=(1, 3))
def handle_describe_delegation_token(
    context: RequestContext, _request: Any, _cluster: Cluster
) -> Any:
    """Kafka's `KafkaApis.handleDescribeTokensRequest`."""
    error_code, _timestamp_ms = refusal_of(context)
    return messages.DescribeDelegationTokenResponse(
        version=context.api_version, error_code=error_code, tokens=[], throttle_time_ms=0
    )
