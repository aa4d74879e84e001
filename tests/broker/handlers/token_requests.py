"""Requests for delegation tokens on connections with and without a principal."""

from typing import Any

from broker.cluster.cluster import Cluster
from broker.request.session import ANONYMOUS, Session
from broker.routes import ROUTES
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, make_cluster, make_context

ERRORS = [
    (None, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
    ("alice", ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED),
]
"""Principals of a SASL connection, or None without SASL, and the error without a secret key."""


def cluster_with_tokens(**overrides: str) -> Cluster:
    """Return a cluster with a secret key; tokens live for 10 s and are renewed within 3 s."""
    return make_cluster(
        1,
        **{
            "delegation.token.secret.key": "key",
            "delegation.token.max.lifetime.ms": "10000",
            "delegation.token.expiry.time.ms": "3000",
        },
        **overrides,
    )


def ask_for_tokens(
    request: Any,
    version: int,
    principal: str | None,
    cluster: Cluster | None = None,
    now_ms: int = NOW_MS,
) -> Any:
    """Send a request; return its response after encoding and decoding."""
    api_key = ApiKey(request.API_KEY)
    name = principal or ANONYMOUS
    session = Session(is_sasl=principal is not None, principal=name)
    context = make_context(api_key, version, session=session, principal=name, now_ms=now_ms)
    response = ROUTES[api_key].handler(context, request, cluster or make_cluster(1))
    return type(response).decode(bytes(response.encode(version=version)), version=version)


def create_token(
    cluster: Cluster,
    principal: str = "alice",
    *,
    owner: str | None = None,
    renewers: tuple[str, ...] = (),
    version: int = 3,
) -> Any:
    """Create a token with the longest lifetime; return the response."""
    renewer_type = messages.CreateDelegationTokenRequest.CreatableRenewers
    request = messages.CreateDelegationTokenRequest(
        version=version,
        renewers=[renewer_type(principal_type="User", principal_name=name) for name in renewers],
        max_lifetime_ms=-1,
        owner_principal_type=None if owner is None else "User",
        owner_principal_name=owner,
    )
    return ask_for_tokens(request, version, principal, cluster)
