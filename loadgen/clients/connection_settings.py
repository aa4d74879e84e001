"""Name, security and TLS of a tenant's connections."""

import ssl
from dataclasses import dataclass, field

from client.security import Security, security_of
from client.transport import tls_context
from loadgen.plan.plan import Target, Tenant

REQUEST_TIMEOUT_MS = 10_000
"""For requests that prepare a run or read its topics back."""


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """What a connection needs besides an address."""

    client_id: str
    security: Security = field(default_factory=Security)
    tls: ssl.SSLContext | None = None
    """Made of `security.tls`; None without TLS."""


def properties_of(target: Target, tenant: Tenant) -> dict[str, str]:
    """Return a tenant's client properties: those of the target, with the tenant's credentials."""
    properties = dict(target.security)
    if tenant.user is not None and tenant.password is not None:
        protocol = properties.get("security.protocol", "PLAINTEXT").removeprefix("SASL_")
        properties["security.protocol"] = f"SASL_{protocol}"
        properties["sasl.mechanism"] = tenant.mechanism
        properties["sasl.username"] = tenant.user
        properties["sasl.password"] = tenant.password
    return properties


def security_of_tenant(target: Target, tenant: Tenant) -> Security:
    """Return the security settings of a tenant.

    Raises:
        SecurityError: the properties are invalid.
    """
    return security_of(properties_of(target, tenant))


def connection_settings_of(target: Target, tenant: Tenant) -> ConnectionSettings:
    """Return the settings of a tenant's connections.

    Raises:
        SecurityError: the properties are invalid.
    """
    security = security_of_tenant(target, tenant)
    tls = None if security.tls is None else tls_context(security.tls)
    return ConnectionSettings(tenant.client_id, security, tls)
