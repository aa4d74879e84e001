"""Users from the configuration, and their credentials for each mechanism."""

import pytest

from broker.config.keys import ConfigError
from broker.security.credentials import Credentials, parse_users
from broker.security.oauthbearer import OauthBearerExchange
from broker.security.plain import PlainExchange
from broker.security.sasl import MECHANISMS
from broker.security.scram import ScramExchange, credential_of_password


def make(**users: str) -> Credentials:
    return Credentials(users, new_nonce=lambda: "nonce", new_salt=lambda: b"salt")


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
