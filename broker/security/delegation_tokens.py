"""Delegation tokens (KIP-48): credentials that a user creates and gives to other processes.

A client authenticates with SCRAM: the token id is the name, the HMAC in base64 is the password, and
the extension `tokenauth=true` names them as such. The connection then has the owner as principal.

Sources: Kafka's `DelegationTokenControlManager`, `DelegationTokenManager` and
`DelegationTokenCache`.
"""

import base64
import hmac
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from broker.security.scram import ITERATIONS_MIN, ScramCredential, credential_of_password
from protocol.errors import ErrorCode

LONG_MAX = (1 << 63) - 1
USER_TYPE = "User"
"""The type of all principals that authenticate."""


class Principal(NamedTuple):
    """A principal, as `User:alice` in Kafka's tools."""

    type: str
    name: str


@dataclass(slots=True, eq=False)
class DelegationToken:
    """One token. Times are milliseconds since 1970; `hmac` is the secret that proves it."""

    token_id: str
    hmac: bytes = field(repr=False)
    owner: Principal
    requester: Principal
    renewers: tuple[Principal, ...]
    issue_timestamp_ms: int
    max_timestamp_ms: int
    expiry_timestamp_ms: int
    credentials: dict[str, ScramCredential] = field(default_factory=dict)
    """The SCRAM credential of each mechanism that a client has used with it."""

    def has_expired(self, now_ms: int) -> bool:
        """Return whether it can no longer be renewed."""
        return self.renewable_until_ms < now_ms

    @property
    def renewable_until_ms(self) -> int:
        """The last time at which it can be used or renewed, in ms since the epoch."""
        return min(self.max_timestamp_ms, self.expiry_timestamp_ms)

    def concerns(self, principal: Principal) -> bool:
        """Return whether a principal owns, requested or may renew it."""
        return principal in (self.owner, self.requester, *self.renewers)

    def credential(self, mechanism: str, new_salt: Callable[[], bytes]) -> ScramCredential:
        """Return its credential of a SCRAM mechanism; the first call takes some milliseconds."""
        if mechanism not in self.credentials:
            password = base64.b64encode(self.hmac).decode()
            self.credentials[mechanism] = credential_of_password(
                mechanism, password, new_salt(), ITERATIONS_MIN
            )
        return self.credentials[mechanism]


class DelegationTokens:
    """The tokens of a cluster, shared by its brokers.

    `renew` and `expire` return an error code, and the new expiry timestamp; 0 with an error.
    """

    def __init__(
        self,
        *,
        secret_key: str | None,
        lifetime_ms: int,
        renew_period_ms: int,
        new_token_id: Callable[[], str],
    ) -> None:
        """Without a `secret_key` there are no tokens.

        `lifetime_ms` and `renew_period_ms` are the longest that a client can ask for.
        """
        self._secret_key = (secret_key or "").encode()
        self._lifetime_ms = lifetime_ms
        self._renew_period_ms = renew_period_ms
        self._new_token_id = new_token_id
        self._by_id: dict[str, DelegationToken] = {}
        self._by_hmac: dict[bytes, DelegationToken] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    @property
    def is_enabled(self) -> bool:
        """Whether the brokers have a secret key."""
        return bool(self._secret_key)

    def create(
        self,
        requester: Principal,
        owner: Principal,
        renewers: tuple[Principal, ...],
        lifetime_ms: int,
        now_ms: int,
    ) -> DelegationToken:
        """Create a token; a `lifetime_ms` of 0 or less asks for the longest."""
        max_timestamp_ms = _later(now_ms, _bounded(lifetime_ms, self._lifetime_ms))
        return self.restore(
            self._new_token_id(),
            owner,
            requester,
            renewers,
            issue_timestamp_ms=now_ms,
            max_timestamp_ms=max_timestamp_ms,
            expiry_timestamp_ms=min(max_timestamp_ms, _later(now_ms, self._renew_period_ms)),
        )

    def restore(
        self,
        token_id: str,
        owner: Principal,
        requester: Principal,
        renewers: tuple[Principal, ...],
        *,
        issue_timestamp_ms: int,
        max_timestamp_ms: int,
        expiry_timestamp_ms: int,
    ) -> DelegationToken:
        """Add a token; its HMAC follows from its id and the secret key."""
        token = DelegationToken(
            token_id,
            hmac.digest(self._secret_key, token_id.encode(), "sha512"),
            owner,
            requester,
            renewers,
            issue_timestamp_ms,
            max_timestamp_ms,
            expiry_timestamp_ms,
        )
        self._by_id[token_id] = self._by_hmac[token.hmac] = token
        return token

    def find(self, token_id: str) -> DelegationToken | None:
        """Return a token that was not removed; it may have expired."""
        return self._by_id.get(token_id)

    def described(self, owners: Collection[Principal] | None) -> list[DelegationToken]:
        """Return the tokens that concern one of these principals; all tokens for None.

        Which of them a client may describe is for the handler of DescribeDelegationToken to check.
        """
        return [
            token
            for token in self._by_id.values()
            if owners is None or any(map(token.concerns, owners))
        ]

    def renew(
        self, token_hmac: bytes, renewer: Principal, period_ms: int, now_ms: int
    ) -> tuple[ErrorCode, int]:
        """Renew a token for `period_ms`; 0 or less asks for the longest period."""
        token = self._by_hmac.get(token_hmac)
        if token is None:
            return ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0
        if token.has_expired(now_ms):
            return ErrorCode.DELEGATION_TOKEN_EXPIRED, 0
        if renewer not in (token.owner, *token.renewers):
            return ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0
        renewed_until_ms = _later(now_ms, _bounded(period_ms, self._renew_period_ms))
        token.expiry_timestamp_ms = min(token.max_timestamp_ms, renewed_until_ms)
        return ErrorCode.NONE, token.expiry_timestamp_ms

    def expire(
        self, token_hmac: bytes, renewer: Principal, period_ms: int, now_ms: int
    ) -> tuple[ErrorCode, int]:
        """Let a token expire `period_ms` from now; a negative period removes it at once."""
        token = self._by_hmac.get(token_hmac)
        if token is None:
            return ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0
        if renewer not in (token.owner, *token.renewers):
            return ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0
        if period_ms < 0:
            self._remove(token)
            return ErrorCode.NONE, now_ms
        if token.has_expired(now_ms):
            return ErrorCode.DELEGATION_TOKEN_EXPIRED, 0
        token.expiry_timestamp_ms = min(token.max_timestamp_ms, _later(now_ms, period_ms))
        return ErrorCode.NONE, token.expiry_timestamp_ms

    def remove_expired(self, now_ms: int) -> None:
        """Remove all tokens that have expired."""
        for token in [token for token in self._by_id.values() if token.has_expired(now_ms)]:
            self._remove(token)

    def next_expiry_ms(self) -> int | None:
        """Return when the next token will have expired; None without tokens."""
        times = (token.renewable_until_ms + 1 for token in self._by_id.values())
        return min(times, default=None)

    def _remove(self, token: DelegationToken) -> None:
        del self._by_id[token.token_id]
        del self._by_hmac[token.hmac]


def _bounded(requested_ms: int, longest_ms: int) -> int:
    return min(requested_ms, longest_ms) if requested_ms > 0 else longest_ms


def _later(now_ms: int, duration_ms: int) -> int:
    return min(now_ms + duration_ms, LONG_MAX)


def configured_delegation_tokens(
    config: Mapping[str, Any], new_uuid: Callable[[], UUID]
) -> DelegationTokens:
    """Return the tokens of the start, of which there are none; ids come from `new_uuid`."""
    return DelegationTokens(
        secret_key=config["delegation.token.secret.key"],
        lifetime_ms=config["delegation.token.max.lifetime.ms"],
        renew_period_ms=config["delegation.token.expiry.time.ms"],
        new_token_id=lambda: base64.urlsafe_b64encode(new_uuid().bytes).decode().rstrip("="),
    )
