"""SaslAuthenticate: only on SASL listeners, and only after a handshake."""

import pytest

from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import call, make_cluster
from tests.broker.request.sasl_client import SaslClient
from tests.broker.security.sasl_messages import response


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_token_without_sasl_gets_illegal_sasl_state(version: int) -> None:
    request = messages.SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret")
    response = call(make_cluster(1), request, version)
    assert response.error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_a_token_without_a_handshake_closes_the_connection() -> None:
    client = SaslClient()
    assert client.authenticate(b"\0alice\0secret") is None
    assert client.close_reason == "SaslAuthenticate without SaslHandshake"


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_takes_two_requests_and_proves_the_server_too(mechanism: str, version: int) -> None:
    client = SaslClient()
    client.handshake(mechanism)
    first = "n,,n=alice,r=abc"
    challenge = bytes(client.authenticate(first.encode(), version).auth_bytes)
    assert client.session.principal == "ANONYMOUS"
    final = client.authenticate(response(challenge, first, "secret", mechanism), version)
    assert bytes(final.auth_bytes).startswith(b"v=")
    assert client.session.principal == "alice"
