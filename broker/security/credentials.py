"""The users of a cluster: passwords from the configuration, and SCRAM credentials."""

import hmac
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from broker.config.keys import ConfigError
from broker.security.delegation_tokens import USER_TYPE, DelegationTokens
from broker.security.oauthbearer import OauthBearerExchange
from broker.security.plain import PlainExchange
from broker.security.sasl import (
    OAUTHBEARER,
    PLAIN,
    Exchange,
    Nonce,
)
from broker.security.scram import (
    HASHES,
    ITERATIONS_MIN,
    ScramCredential,
    ScramExchange,
    TokenCredential,
    credential_of_password,
)
from broker.security.tokens import TokenValidator
from broker.security.unsecured_tokens import UnsecuredTokens

_NOBODY: Mapping[str, str] = MappingProxyType({})


def parse_users(text: str | None) -> dict[str, str]:
    """Return passwords by name from `sasl.users`: `name:password,...`, both percent-decoded.

    Raises:
        ConfigError: an entry has no name or no password; neither is repeated in the message.
    """
    users: dict[str, str] = {}
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        # The error's own message would repeat the passwords.
        raise ConfigError("sasl.users: not UTF-8") from None
    entries = [entry.strip() for entry in (text or "").split(",")]
    for number, entry in enumerate(entries, start=1):
        if not entry:
            continue
        name, _, password = entry.partition(":")
        if not name or not password:
            raise ConfigError(f"sasl.users: entry {number} is not NAME:PASSWORD")
        users[unquote(name)] = unquote(password)
    return users


class Credentials:
    """The credentials of all users, shared by the brokers of a cluster."""

    def __init__(
        self,
        users: Mapping[str, str],
        tokens: DelegationTokens,
        *,
        new_nonce: Nonce,
        new_salt: Callable[[], bytes],
    ) -> None:
        self._passwords = dict(users)
        self._tokens = tokens
        self._new_nonce = new_nonce
        self._new_salt = new_salt
        # Credentials are derived from passwords on demand, which takes milliseconds.
        self._scram: dict[tuple[str, str], ScramCredential | str] = {
            (name, mechanism): password for name, password in users.items() for mechanism in HASHES
        }

    def new_exchange(
        self,
        mechanism: str,
        of_listener: Mapping[str, str] = _NOBODY,
        tokens: TokenValidator | None = None,
    ) -> Exchange:
        """Start an exchange of a mechanism, one of MECHANISMS.

        `of_listener` are the passwords of further users of PLAIN. `tokens` checks the tokens of
        OAUTHBEARER; None is for unsecured ones.
        """
        if mechanism == PLAIN:
            return PlainExchange(partial(self.has_password, of_listener=of_listener))
        if mechanism == OAUTHBEARER:
            return OauthBearerExchange(tokens or UnsecuredTokens())
        return ScramExchange(
            mechanism,
            lambda name: self.scram(name, mechanism),
            self._new_nonce(),
            lambda token_id: self._of_token(token_id, mechanism),
        )

    def has_password(
        self, name: str, password: str, of_listener: Mapping[str, str] = _NOBODY
    ) -> bool:
        """Whether the configuration gives this user this password."""
        known = of_listener.get(name, self._passwords.get(name))
        return known is not None and hmac.compare_digest(known.encode(), password.encode())

    def scram(self, name: str, mechanism: str) -> ScramCredential | None:
        """Return a user's credential for a SCRAM mechanism, or None."""
        known = self._scram.get((name, mechanism))
        if isinstance(known, str):
            known = credential_of_password(mechanism, known, self._new_salt(), ITERATIONS_MIN)
            self._scram[name, mechanism] = known
        return known

    def altered_scram(self, name: str, mechanism: str) -> ScramCredential | None:
        """Return a credential that was set while the cluster ran, or None."""
        is_configured = name in self._passwords
        known = None if is_configured else self._scram.get((name, mechanism))
        return None if isinstance(known, str) else known

    def _of_token(self, token_id: str, mechanism: str) -> TokenCredential | None:
        token = self._tokens.find(token_id)
        # Other owners than users have no principal here: as a name that would be a user's.
        if token is None or token.owner.type != USER_TYPE:
            return None
        credential = token.credential(mechanism, self._new_salt)
        return TokenCredential(credential, token.owner.name, token.expiry_timestamp_ms)

    def scram_iterations(self, name: str, mechanism: str) -> int | None:
        """Return the iterations of a user's credential, or None."""
        known = self._scram.get((name, mechanism))
        if isinstance(known, str):
            return ITERATIONS_MIN
        return None if known is None else known.iterations

    def scram_users(self) -> list[str]:
        """Return all users with a SCRAM credential, in alphabetical order."""
        return sorted({name for name, _mechanism in self._scram})

    def set_scram(self, name: str, mechanism: str, credential: ScramCredential) -> None:
        """Set a user's credential."""
        self._scram[name, mechanism] = credential

    def delete_scram(self, name: str, mechanism: str) -> None:
        """Delete a user's credential, which must exist."""
        del self._scram[name, mechanism]


def configured_credentials(
    config: Mapping[str, Any], tokens: DelegationTokens, new_uuid: Callable[[], UUID]
) -> Credentials:
    """Return the credentials of the start; nonces and salts come from `new_uuid`.

    Raises:
        ConfigError: an entry of `sasl.users` is malformed.
    """
    return Credentials(
        parse_users(config["sasl.users"]),
        tokens,
        new_nonce=lambda: new_uuid().hex,
        new_salt=lambda: new_uuid().bytes,
    )
