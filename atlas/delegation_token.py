"""A delegation token with which the client of a situation authenticates (KIP-48)."""

import base64
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from atlas.situation import Situation
from client import clock
from client.addresses import addresses_of
from client.errors import error_of
from client.security import SaslSettings, Security
from client.transport import SocketTransport
from loadgen.command_error import CommandError
from protocol import messages

_WAIT_MS = 10_000
_PAUSE_MS = 20


class TokenError(CommandError):
    """The broker does not know the token that it has created."""


def with_token(situation: Situation, sasl_servers: str) -> Situation:
    """Return the situation with a new token in place of its user's password, if it has one.

    The token is created by that user, and the broker at `sasl_servers` knows it.

    Raises:
        ApiError: the broker creates no token.
        TokenError: the broker does not know it in ten seconds.
    """
    if situation.delegation_token is None:
        return situation
    user = situation.arguments["security"]
    token = _create(sasl_servers, user, situation.delegation_token.lifetime_ms)
    return replace(situation, arguments={**situation.arguments, "security": {**user, **token}})


def _create(servers: str, user: Mapping[str, Any], lifetime_ms: int) -> dict[str, str]:
    """Return the user name and password of a client with a new token of the user."""
    [address, *_] = addresses_of(servers)
    sasl = SaslSettings(user["mechanism"], user["username"], user["password"])
    with SocketTransport("mock-kafka", Security(sasl=sasl)) as transport:
        creation = messages.CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=lifetime_ms)
        created = transport.ask(address, creation)
        error = error_of(created.error_code, None)
        if error is not None:
            raise error
        # The controller has created it, and a broker of Kafka learns of it a little later.
        deadline_ms = clock.now_ms() + _WAIT_MS
        while clock.now_ms() < deadline_ms:
            described = transport.ask(address, messages.DescribeDelegationTokenRequest(owners=None))
            if any(token.token_id == created.token_id for token in described.tokens):
                password = base64.b64encode(created.hmac).decode()
                return {"username": created.token_id, "password": password}
            clock.sleep_ms(_PAUSE_MS)
    raise TokenError(f"the broker at {servers} does not know its token in {_WAIT_MS} ms")
