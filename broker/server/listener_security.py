"""Security of a listener: the session that its clients begin with."""

import ssl
from dataclasses import dataclass
from typing import Any

from broker.request.session import ANONYMOUS, Session
from broker.security.principal_mapping import NameMapper, certificate_name
from broker.security.tokens import TokenValidator


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """The name of a listener, whether it requires SASL, and its TLS context.

    `to_principal` makes a principal of a client certificate's distinguished name. `tokens` checks
    the tokens of OAUTHBEARER; None is for unsecured ones.
    """

    name: str = "PLAINTEXT"
    is_sasl: bool = False
    tls: ssl.SSLContext | None = None
    to_principal: NameMapper = str
    tokens: TokenValidator | None = None

    def new_session(self, transport: Any) -> Session | None:
        """Return the session of a new client; None if no rule maps its name to a principal."""
        peer = transport.get_extra_info("peername")
        name = None
        if self.tls is not None and not self.is_sasl:
            name = certificate_name(transport.get_extra_info("peercert"))
        principal = ANONYMOUS if name is None else self.to_principal(name)
        if principal is None:
            return None
        return Session(
            self.name,
            is_sasl=self.is_sasl,
            principal=principal,
            tokens=self.tokens,
            client_port=peer[1] if peer else None,
        )


PLAINTEXT = ListenerSecurity()
