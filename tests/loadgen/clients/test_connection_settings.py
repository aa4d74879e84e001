"""Client properties of tenants."""

import pytest

from client.errors import SecurityError
from client.security import Security
from loadgen.clients.connection_settings import connection_settings_of, properties_of
from loadgen.plan.plan import Target, Tenant


def test_a_tenant_connects_with_the_targets_properties_and_its_own_credentials() -> None:
    tenant = Tenant("a", "steady", "id", user="u", password="p", mechanism="PLAIN")
    for protocol, expected in (("PLAINTEXT", "SASL_PLAINTEXT"), ("SASL_SSL", "SASL_SSL")):
        target = Target(security={"security.protocol": protocol})
        assert properties_of(target, tenant)["security.protocol"] == expected
    anonymous = connection_settings_of(Target(), Tenant("a", "steady", "id"))
    assert (anonymous.client_id, anonymous.security, anonymous.tls) == ("id", Security(), None)
    with pytest.raises(SecurityError):
        connection_settings_of(Target(security={"security.protocol": "X"}), tenant)
