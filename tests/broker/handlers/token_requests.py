"""Requests for delegation tokens on connections with and without a principal."""

from typing import Any

from broker.request.session import ANONYMOUS, Session
from broker.routes import ROUTES
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import make_cluster, make_context

ERRORS = [
    (None, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
    ("alice", ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED),
]
"""Principals of a SASL connection, or None without SASL, and the error of their requests."""


def ask_for_tokens(request: Any, version: int, principal: str | None) -> Any:
    """Send a request; return its response after encoding and decoding."""
    api_key = ApiKey(request.API_KEY)
    name = principal or ANONYMOUS
    session = Session(is_sasl=principal is not None, principal=name)
    context = make_context(api_key, version, session=session, principal=name)
    response = ROUTES[api_key].handler(context, request, make_cluster(1))
    return type(response).decode(bytes(response.encode(version=version)), version=version)
