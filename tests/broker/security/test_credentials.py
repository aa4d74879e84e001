"""Users from the configuration, and their credentials for each mechanism."""

import base64
import hmac

import pytest

from broker.config.keys import ConfigError
from broker.security.credentials import Credentials, parse_users
from broker.security.delegation_tokens import DelegationTokens, Principal
from broker.security.oauthbearer import OauthBearerExchange
from broker.security.plain import PlainExchange
from broker.security.sasl import MECHANISMS, Authenticated, Challenge, Refused
from broker.security.scram import ScramExchange, credential_of_password
from tests.broker.security.sasl_messages import response


def make(owner_type: str = "User", **users: str) -> Credentials:
    tokens = DelegationTokens(
        secret_key="key", lifetime_ms=1000, renew_period_ms=1000, new_token_id=lambda: "token"
    )
    alice = Principal(owner_type, "alice")
    tokens.create(alice, alice, (), -1, 0)
    return Credentials(users, tokens, new_nonce=lambda: "nonce", new_salt=lambda: b"salt")


def test_users_are_percent_encoded_names_and_passwords() -> None:
    assert parse_users("alice:a:b, bob:x%2Cy%25%3a ,,") == {"alice": "a:b", "bob": "x,y%:"}
    assert parse_users(None) == parse_users("") == {}


@pytest.mark.parametrize("text", ["alice", "alice:", ":secret", "a:b,top-secret", "a:secret\udcff"])
def test_an_incomplete_entry_is_refused_and_not_repeated_in_the_message(text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_users(text)
    assert "secret" not in str(raised.value)


def test_a_configured_user_has_a_password_and_both_scram_credentials() -> None:
    credentials = make(alice="secret")
    assert credentials.has_password("alice", "secret")
    assert not credentials.has_password("alice", "wrong")
    assert not credentials.has_password("bob", "secret")
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        expected = credential_of_password(mechanism, "secret", b"salt", 4096)
        assert credentials.scram("alice", mechanism) == expected
        assert credentials.scram("alice", mechanism) is credentials.scram("alice", mechanism)
        assert credentials.scram("bob", mechanism) is None


def test_every_mechanism_has_its_exchange() -> None:
    kinds = [type(make().new_exchange(mechanism)) for mechanism in MECHANISMS]
    assert kinds == [PlainExchange, ScramExchange, ScramExchange, OauthBearerExchange]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("extension", ["tokenauth=true", "other=1,tokenauth=TRUE"])
def test_a_delegation_token_authenticates_its_owner(mechanism: str, extension: str) -> None:
    exchange = make(alice="secret").new_exchange(mechanism)
    first = f"n,,n=token,r=client,{extension}"
    challenge = exchange.step(first.encode(), 0)
    assert isinstance(challenge, Challenge)
    password = base64.b64encode(hmac.digest(b"key", b"token", "sha512")).decode()
    outcome = exchange.step(response(challenge.token, first, password, mechanism), 0)
    assert isinstance(outcome, Authenticated)
    assert (outcome.principal, outcome.expires_at_ms) == ("alice", 1000)
    assert outcome.by_delegation_token


def test_the_token_of_a_group_authenticates_no_user() -> None:
    exchange = make("Group").new_exchange("SCRAM-SHA-256")
    outcome = exchange.step(b"n,,n=token,r=client,tokenauth=true", 0)
    assert isinstance(outcome, Refused)


@pytest.mark.parametrize(
    ("name", "extension"),
    [("alice", ",tokenauth=true"), ("token", ",tokenauth=false"), ("token", "")],
)
def test_users_and_delegation_tokens_have_separate_names(name: str, extension: str) -> None:
    exchange = make(alice="secret").new_exchange("SCRAM-SHA-256")
    outcome = exchange.step(f"n,,n={name},r=client{extension}".encode(), 0)
    assert isinstance(outcome, Refused)
