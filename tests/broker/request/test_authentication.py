"""Authentication on a connection: order, delay, end, and logs."""

import asyncio
from base64 import b64encode
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from broker.config.broker_config import BrokerConfig
from broker.serve import ServeOptions, start_server
from protocol import messages
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS
from tests.broker.connection_driver import request_frame
from tests.broker.handlers.token_requests import ask_for_tokens, create_token
from tests.broker.request.sasl_client import USERS, SaslClient
from tests.broker.security.sasl_messages import initial, response


@pytest.mark.parametrize("version", [0, 1, 2])
def test_after_plain_authentication_requests_have_the_principal(version: int) -> None:
    client = SaslClient()
    assert client.handshake("PLAIN").error_code == ErrorCode.NONE
    response = client.authenticate(b"\0alice\0secret", version)
    assert (response.error_code, bytes(response.auth_bytes)) == (ErrorCode.NONE, b"")
    assert client.session.principal == "alice"
    assert client.expects_response()


def test_a_request_before_authentication_closes_the_connection() -> None:
    client = SaslClient()
    assert not client.expects_response()
    assert client.close_reason is not None
    assert "ILLEGAL_SASL_STATE" in client.close_reason


def test_a_request_in_the_middle_of_an_authentication_gets_an_error_and_closes() -> None:
    client = SaslClient()
    client.handshake("PLAIN")
    topic = messages.MetadataRequest.MetadataRequestTopic(name="t")
    request = messages.MetadataRequest(version=8, topics=[topic])
    client.send(request_frame(request, 8, 5))
    response = messages.MetadataResponse.decode(client.take()[4:], version=8)
    assert (response.brokers, response.cluster_id) == ([], None)
    assert [topic.error_code for topic in response.topics] == [ErrorCode.ILLEGAL_SASL_STATE]
    assert client.close_reason is not None


def test_a_request_with_too_many_elements_in_the_middle_of_an_authentication_is_not_decoded() -> (
    None
):
    client = SaslClient(**{"request.elements.max": "100"})
    client.handshake("PLAIN")
    topic = messages.MetadataRequest.MetadataRequestTopic(name="t" * 400)
    request = messages.MetadataRequest(version=8, topics=[topic] * 101)
    client.send(request_frame(request, 8, 5))
    assert client.take() == b""
    assert client.close_reason == "undecodable METADATA v8: more than 100 elements"


def test_an_expired_session_serves_nothing_but_a_handshake() -> None:
    client = SaslClient(**{"connections.max.reauth.ms": "1000"})
    client.handshake("PLAIN")
    client.authenticate(b"\0alice\0secret")
    client.send(request_frame(messages.ApiVersionsRequest(version=0), 0, 1), NOW_MS + 1000)
    assert (client.written, client.close_reason) == (b"", "API key 18 after the end of the session")


def test_api_versions_works_before_authentication() -> None:
    client = SaslClient()
    client.send(request_frame(messages.ApiVersionsRequest(version=0), 0, 1))
    assert client.take()
    assert client.close_reason is None


def test_wrong_credentials_are_refused_after_the_delay_and_the_connection_closes() -> None:
    client = SaslClient(**{"connection.failed.authentication.delay.ms": "300"})
    client.handshake("PLAIN")
    assert client.authenticate(b"\0alice\0top-secret") is None
    client.settle(NOW_MS + 299)
    assert client.written == b""
    client.settle(NOW_MS + 300)
    response = client.take_authenticated()
    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.close_reason == "SASL authentication failed (PLAIN)"
    assert "secret" not in response.error_message


def test_a_broker_that_stops_refuses_wrong_credentials_at_once() -> None:
    client = SaslClient()
    client.handshake("PLAIN")
    client.authenticate(b"\0alice\0wrong")
    client.connection.force_complete(NOW_MS)
    client.settle(NOW_MS)
    assert client.take_authenticated().error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_disconnect_cancels_the_delay_of_failed_authentication() -> None:
    client = SaslClient()
    client.handshake("PLAIN")
    client.authenticate(b"\0alice\0wrong")
    client.connection.lose()
    assert len(client.cluster.timers) == 0


def test_raw_tokens_follow_sasl_handshake_v0() -> None:
    client = SaslClient()
    assert client.handshake("PLAIN", version=0).error_code == ErrorCode.NONE
    client.send(pack(">i", 13) + b"\0alice\0secret")
    assert client.written == pack(">i", 0)
    client.written = b""
    assert client.session.principal == "alice"
    assert client.expects_response()


def test_invalid_raw_tokens_close_the_connection_after_the_delay() -> None:
    client = SaslClient()
    client.handshake("PLAIN", version=0)
    client.send(pack(">i", 12) + b"\0alice\0wrong")
    client.settle(NOW_MS + 100)
    assert client.written == b""
    assert client.close_reason == "SASL authentication failed (PLAIN)"


def test_a_token_ends_the_session_when_it_expires() -> None:
    client = SaslClient()
    client.handshake("OAUTHBEARER")
    token = initial({"sub": "carol", "exp": NOW_MS // 1000 + 60})
    assert client.authenticate(token).session_lifetime_ms == 60_000
    assert client.expects_response(NOW_MS + 59_999)
    assert not client.expects_response(NOW_MS + 60_000)
    assert client.close_reason is not None


@pytest.mark.parametrize(("mechanism", "lifetime_ms"), [("PLAIN", 30_000), ("OAUTHBEARER", 20_000)])
def test_the_shorter_of_two_session_lifetimes_applies(mechanism: str, lifetime_ms: int) -> None:
    client = SaslClient(**{"connections.max.reauth.ms": "30000"})
    client.handshake(mechanism)
    bearer = initial({"sub": "alice", "exp": NOW_MS // 1000 + 20})
    token = b"\0alice\0secret" if mechanism == "PLAIN" else bearer
    assert client.authenticate(token).session_lifetime_ms == lifetime_ms


def test_an_expired_session_can_be_renewed_by_the_same_principal() -> None:
    client = SaslClient(**{"connections.max.reauth.ms": "1000"})
    client.handshake("PLAIN")
    client.authenticate(b"\0alice\0secret")
    later_ms = NOW_MS + 5000
    assert client.handshake("PLAIN", now_ms=later_ms).error_code == ErrorCode.NONE
    assert client.authenticate(b"\0alice\0secret", now_ms=later_ms).error_code == ErrorCode.NONE
    assert client.expects_response(later_ms + 999)


def test_a_reauthentication_may_not_change_the_principal() -> None:
    client = SaslClient(**{"connections.max.reauth.ms": "60000"})
    client.handshake("PLAIN")
    client.authenticate(b"\0alice\0secret")
    client.handshake("PLAIN")
    client.authenticate(b"\0bob\0hidden")
    client.settle(NOW_MS + 100)
    response = client.take_authenticated()
    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert "principal" in response.error_message
    assert client.session.principal == "alice"
    assert client.close_reason is not None


def test_a_delegation_token_ends_the_session_when_it_expires() -> None:
    client = SaslClient(
        **{"delegation.token.secret.key": "key", "delegation.token.expiry.time.ms": "3000"}
    )
    created = create_token(client.cluster, "carol")
    assert _log_in_with(client, created, NOW_MS + 1000).session_lifetime_ms == 2000
    assert client.session.principal == "carol"
    assert client.expects_response(NOW_MS + 2999)
    renewal = messages.RenewDelegationTokenRequest(
        version=1, hmac=created.hmac, renew_period_ms=3000
    )
    ask_for_tokens(renewal, 1, "carol", client.cluster, NOW_MS + 2000)
    assert _log_in_with(client, created, NOW_MS + 3000).session_lifetime_ms == 2000
    assert not client.expects_response(NOW_MS + 5000)


def test_an_expired_delegation_token_gives_a_session_that_has_ended() -> None:
    client = SaslClient(
        **{"delegation.token.secret.key": "key", "delegation.token.expiry.time.ms": "3000"}
    )
    created = create_token(client.cluster)
    result = _log_in_with(client, created, NOW_MS + 4000)
    assert (result.error_code, result.session_lifetime_ms) == (ErrorCode.NONE, 0)
    assert not client.expects_response(NOW_MS + 4000)


def test_a_client_with_a_delegation_token_gets_no_other_token() -> None:
    client = SaslClient(**{"delegation.token.secret.key": "key"})
    _log_in_with(client, create_token(client.cluster), NOW_MS)
    request = messages.CreateDelegationTokenRequest(version=1, renewers=[], max_lifetime_ms=-1)
    client.send(request_frame(request, 1, 5))
    response = messages.CreateDelegationTokenResponse.decode(client.take()[4:], version=1)
    assert response.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def _log_in_with(client: SaslClient, created: Any, now_ms: int) -> Any:
    """Authenticate with a token; return the last response."""
    mechanism = "SCRAM-SHA-512"
    first = f"n,,n={created.token_id},r=abc,tokenauth=true"
    client.handshake(mechanism, now_ms=now_ms)
    challenge = bytes(client.authenticate(first.encode(), now_ms=now_ms).auth_bytes)
    password = b64encode(created.hmac).decode()
    final = response(challenge, first, password, mechanism)
    return client.authenticate(final, now_ms=now_ms)


@given(st.integers(0, 60), st.integers(0, 255))
def test_close_reasons_do_not_contain_bytes_from_the_client(cut: int, byte: int) -> None:
    request = messages.SaslAuthenticateRequest(version=1, auth_bytes=b"\0alice\0top-secret\xff")
    frame = bytearray(request_frame(request, 1, 2))
    frame[4 + cut % (len(frame) - 4)] = byte
    client = SaslClient()
    client.handshake("PLAIN")
    client.send(bytes(frame))
    client.settle(NOW_MS + 100)
    assert "secret" not in (client.close_reason or "")
    assert client.bugs == []


async def test_no_secret_is_logged() -> None:
    config = BrokerConfig.from_overrides({"listeners": "SASL_PLAINTEXT://:0", **USERS})

    with capture_logs() as logs:
        server = await start_server(ServeOptions("127.0.0.1", 0, 1, config))
        try:
            port = server.cluster.brokers[1].port
            for password in ("top-secret", "secret"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(
                    request_frame(messages.SaslHandshakeRequest(version=1, mechanism="PLAIN"), 1, 1)
                )
                token = f"\0alice\0{password}".encode()
                authenticate = messages.SaslAuthenticateRequest(version=1, auth_bytes=token)
                writer.write(request_frame(authenticate, 1, 2))
                if password == "secret":
                    writer.write(b"\xff\xff\xff\xff")
                await reader.read()
                writer.close()
        finally:
            await server.stop()
    assert [entry["event"] for entry in logs] == ["connection closed"] * 2
    assert "secret" not in str(logs)
