from collections.abc import Iterator

import pytest

from atlas.delegation_token import TokenError, with_token
from atlas.situation import DelegationToken, Situation
from atlas.warm_up import plain
from client import ApiError
from mock_kafka import ConfigValue, MockKafka
from protocol import messages

CONFIG: dict[str, ConfigValue] = {
    "listeners": "SASL_PLAINTEXT://:0",
    "sasl.users": "alice:secret",
    "delegation.token.secret.key": "key",
}
USER = {"mechanism": "SCRAM-SHA-256", "username": "alice", "password": "secret"}


@pytest.fixture(scope="module")
def kafka() -> Iterator[MockKafka]:
    with MockKafka(config=CONFIG) as running:
        yield running


def situation(lifetime_ms: int = 3_000) -> Situation:
    return plain(
        "produce",
        arguments={"security": USER, "token_auth": True},
        delegation_token=DelegationToken(lifetime_ms=lifetime_ms),
    )


def test_a_new_token_takes_the_place_of_the_password(kafka: MockKafka) -> None:
    first, second = (with_token(situation(), kafka.bootstrap_servers) for _ in range(2))
    user = first.arguments["security"]
    assert user["mechanism"] == "SCRAM-SHA-256"
    assert user["username"] not in {"alice", second.arguments["security"]["username"]}
    assert len(user["password"]) == 88  # of 64 bytes in base64
    assert first.arguments["token_auth"] is True
    [created, _] = kafka.requests(api="CreateDelegationToken")
    assert created.user == "alice"
    assert created.request["max_lifetime_ms"] == 3_000


def test_a_situation_without_a_token_stays_as_it_is(kafka: MockKafka) -> None:
    given = plain("produce")
    assert with_token(given, kafka.bootstrap_servers) is given


def test_a_broker_without_a_key_creates_none() -> None:
    config = {name: value for name, value in CONFIG.items() if "token" not in name}
    with (
        MockKafka(config=config) as kafka,
        pytest.raises(ApiError, match="DELEGATION_TOKEN_AUTH_DISABLED"),
    ):
        with_token(situation(), kafka.bootstrap_servers)


def test_a_token_that_the_broker_does_not_know_is_an_error(
    kafka: MockKafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = messages.DescribeDelegationTokenRequest
    owner = request.DescribeDelegationTokenOwner
    nobody = [owner(principal_type="User", principal_name="bob")]
    monkeypatch.setattr(
        "atlas.delegation_token.messages.DescribeDelegationTokenRequest",
        lambda owners: request(owners=nobody),
    )
    monkeypatch.setattr("atlas.delegation_token._WAIT_MS", 50)
    with pytest.raises(TokenError, match="does not know its token"):
        with_token(situation(), kafka.bootstrap_servers)
