"""SaslHandshake: the choice of a mechanism, and refusals."""

import pytest

from protocol import codec, messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from tests.broker.cluster_builder import NOW_MS, call, make_cluster
from tests.broker.connection_driver import request_frame
from tests.broker.request.sasl_client import SaslClient


@pytest.mark.parametrize("version", [0, 1])
def test_a_mechanism_that_is_not_enabled_gets_the_list_of_those_that_are(version: int) -> None:
    client = SaslClient(**{"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512"})
    response = client.handshake("GSSAPI", version)
    assert response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert list(response.mechanisms) == ["PLAIN", "SCRAM-SHA-512"]
    assert client.close_reason is not None


def test_a_listener_may_have_mechanisms_of_its_own() -> None:
    key = "sasl.enabled.mechanisms"
    of_listeners = {
        f"listener.name.sasl_plaintext.{key}": "PLAIN",
        f"listener.name.x.{key}": "GSSAPI",
    }
    client = SaslClient(**{key: "SCRAM-SHA-256", **of_listeners})
    assert list(client.handshake("PLAIN").mechanisms) == ["PLAIN"]


def test_a_reauthentication_is_due_when_the_listener_and_the_mechanism_say() -> None:
    key = "connections.max.reauth.ms"
    own = {
        f"listener.name.sasl_plaintext.plain.{key}": "60000",
        f"listener.name.sasl_plaintext.{key}": "9",
    }
    client = SaslClient(**own)
    client.handshake("PLAIN")
    assert client.authenticate(b"\0alice\0secret").session_lifetime_ms == 60000


@pytest.mark.parametrize(
    ("listener", "password", "error_code"),
    [
        ("sasl_plaintext", "b", ErrorCode.NONE),
        ("sasl_plaintext", "c", ErrorCode.SASL_AUTHENTICATION_FAILED),
        ("other", "b", ErrorCode.SASL_AUTHENTICATION_FAILED),
    ],
)
def test_the_jaas_configuration_of_a_listener_has_users_of_plain(
    listener: str, password: str, error_code: ErrorCode
) -> None:
    key = f"listener.name.{listener}.plain.sasl.jaas.config"
    jaas = 'PlainLoginModule required username="admin" password="a" user_bob="b";'
    no_delay = {"connection.failed.authentication.delay.ms": "0"}
    client = SaslClient(**{key: jaas, **no_delay})
    client.handshake("PLAIN")
    assert client.authenticate(f"\0bob\0{password}".encode()).error_code == error_code


def test_a_handshake_during_an_exchange_gets_illegal_sasl_state_and_closes() -> None:
    client = SaslClient()
    client.handshake("SCRAM-SHA-256")
    request = messages.SaslHandshakeRequest(version=1, mechanism="SCRAM-SHA-256")
    client.send(request_frame(request, 1, 1))
    response = codec.decode_response(client.written, ApiKey.SASL_HANDSHAKE, 1)
    assert response.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.close_reason is not None


def test_a_reauthentication_keeps_its_mechanism() -> None:
    client = SaslClient(**{"connections.max.reauth.ms": "60000"})
    client.handshake("PLAIN")
    client.authenticate(b"\0alice\0secret")
    response = client.handshake("SCRAM-SHA-256")
    assert response.error_code == ErrorCode.NONE
    assert client.close_reason is not None


def test_a_session_without_an_end_has_no_reauthentication_and_continues() -> None:
    client = SaslClient()
    client.handshake("PLAIN")
    client.authenticate(b"\0alice\0secret")
    response = client.handshake("PLAIN")
    assert (response.error_code, response.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    assert client.expects_response()


def test_a_reauthentication_less_than_a_second_after_the_last_one_is_refused() -> None:
    client = SaslClient(**{"connections.max.reauth.ms": "60000"})
    for now_ms in (NOW_MS, NOW_MS + 1):
        client.handshake("PLAIN", now_ms=now_ms)
        client.authenticate(b"\0alice\0secret", now_ms=now_ms)
    refused = client.handshake("PLAIN", now_ms=NOW_MS + 1000)
    accepted = client.handshake("PLAIN", now_ms=NOW_MS + 1001)
    assert refused.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert accepted.error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", [0, 1])
def test_a_handshake_without_sasl_gets_illegal_sasl_state(version: int) -> None:
    request = messages.SaslHandshakeRequest(mechanism="PLAIN")
    response = call(make_cluster(1), request, version)
    assert (response.error_code, list(response.mechanisms)) == (ErrorCode.ILLEGAL_SASL_STATE, [])
