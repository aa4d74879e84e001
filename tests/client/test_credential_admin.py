"""SCRAM credentials with the admin client."""

import pytest

from client.blocking_admin import open_admin
from client.errors import ApiError, SecurityError
from client.resources import ScramUpsertion
from client.security import SaslSettings, Security
from mock_kafka import MockKafka
from protocol import messages
from protocol.errors import ErrorCode
from tests.client.scripted import admin_of, credentials


def test_users_are_described_without_those_that_have_no_credential() -> None:
    admin, peer = admin_of(credentials(("a", 0), ("b", 91), ("c", 92)))
    described = admin.describe_user_scram_credentials(["a", "b", "c"])
    assert described.keys() == {"a", "c"}
    assert described["a"] == {"SCRAM-SHA-256": 8192}
    assert isinstance(described["c"], ApiError)
    assert [user.name for user in peer.requests[0].users] == ["a", "b", "c"]


def test_an_error_of_the_whole_response_is_raised() -> None:
    admin, _ = admin_of(
        messages.DescribeUserScramCredentialsResponse(error_code=31, error_message="no", results=[])
    )
    with pytest.raises(ApiError, match="no"):
        admin.describe_user_scram_credentials()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_user_logs_in_with_the_password_that_was_set_until_it_is_deleted(mechanism: str) -> None:
    with MockKafka(users={"admin": "secret"}, in_process=True) as kafka:

        def login(user: str, password: str) -> Security:
            return Security(sasl=SaslSettings(mechanism, user, password))

        with open_admin(kafka.bootstrap_servers, security=login("admin", "secret")) as admin:
            change = ScramUpsertion("alice", mechanism, 5000, "pass,word")
            assert "pass,word" not in repr(change)
            assert admin.alter_user_scram_credentials([change]) == {"alice": None}
            assert admin.describe_user_scram_credentials(["alice"]) == {"alice": {mechanism: 5000}}
            alice = login("alice", "pass,word")
            with open_admin(kafka.bootstrap_servers, security=alice) as other:
                assert other.describe_cluster().brokers
            deletion = [("alice", mechanism)]
            assert admin.alter_user_scram_credentials([], deletion) == {"alice": None}
            [missing] = admin.alter_user_scram_credentials([], deletion).values()
            assert missing is not None
            assert missing.error_code == ErrorCode.RESOURCE_NOT_FOUND
            with (
                pytest.raises(SecurityError),
                open_admin(kafka.bootstrap_servers, security=alice) as other,
            ):
                other.describe_cluster()
