"""SCRAM credentials with the options of `mock-kafka configs`."""

import pytest

from client.errors import ApiError
from client.sasl import salted_password
from client.tools import configs, scram_configs
from client.tools.session import ToolError
from mock_kafka import MockKafka
from protocol import messages
from tests.client.scripted import admin_of, credentials


def altered(user: str, error_code: int = 0) -> object:
    result = messages.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
    return messages.AlterUserScramCredentialsResponse(
        results=[result(user=user, error_code=error_code, error_message=None)]
    )


@pytest.mark.parametrize(
    ("text", "iterations"),
    [
        ("iterations=8192,password=a,b=c", 8192),
        ("password=a,b=c", 4096),
        ("iterations=-1,password=a,b=c", 4096),
    ],
)
def test_a_credential_is_sent_with_its_iterations_and_without_its_password(
    text: str, iterations: int
) -> None:
    admin, peer = admin_of(altered("u"))
    scram_configs.alter(admin, "u", {"SCRAM-SHA-512": text}, ["SCRAM-SHA-256"])
    [upsertion], [deletion] = peer.requests[0].upsertions, peer.requests[0].deletions
    assert (upsertion.name, upsertion.mechanism, upsertion.iterations) == ("u", 2, iterations)
    assert upsertion.salted_password == salted_password(
        "SCRAM-SHA-512", b"a,b=c", upsertion.salt, iterations
    )
    assert (deletion.name, deletion.mechanism) == ("u", 1)


@pytest.mark.parametrize(
    ("user", "added", "problem"),
    [
        (None, {"SCRAM-SHA-256": "password=a"}, "--user-defaults is not allowed"),
        ("u", {"SCRAM-SHA-256": "secret"}, "Invalid credential property SCRAM-SHA-256; it must"),
        ("u", {"SCRAM-SHA-256": "iterations=,password=a"}, "Invalid iterations of SCRAM-SHA-256"),
        ("u", {"SCRAM-SHA-256": "iterations=9,password=a"}, "9 is less than the minimum 4096"),
        ("u", {"SCRAM-SHA-256": "password=a", "producer_byte_rate": "1"}, "Cannot alter both"),
    ],
)
def test_what_cannot_be_sent_is_an_error_without_the_password(
    user: str | None, added: dict[str, str], problem: str
) -> None:
    admin, peer = admin_of()
    with pytest.raises(ToolError, match=problem) as caught:
        scram_configs.alter(admin, user, added, [])
    assert "secret" not in str(caught.value)
    assert peer.asked == []


def test_the_refusal_of_the_broker_is_raised() -> None:
    admin, _ = admin_of(altered("u", 91))
    with pytest.raises(ApiError, match="RESOURCE_NOT_FOUND"):
        scram_configs.alter(admin, "u", {}, ["SCRAM-SHA-256"])


def test_users_are_described_in_lines() -> None:
    admin, _ = admin_of(credentials(("u", 0), ("v", 92)))
    beginning = "SCRAM credential configs for user-principal"
    assert scram_configs.describe(admin, []) == [
        f"{beginning} 'u' are SCRAM-SHA-256=iterations=8192",
        f"Error retrieving {beginning} 'v': DUPLICATE_RESOURCE",
    ]


def test_the_tool_sets_describes_and_deletes_credentials(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with MockKafka(in_process=True) as kafka:
        for words in (
            ("--alter", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=a]"),
            ("--describe",),
            ("--alter", "--delete-config", "SCRAM-SHA-256"),
            ("--describe",),
        ):
            arguments = ["--bootstrap-server", kafka.bootstrap_servers, *words, "--user", "alice"]
            assert configs.main(arguments) == 0
    assert capfd.readouterr().out.splitlines() == [
        "Completed updating config for user alice.",
        "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-256=iterations=8192",
        "Completed updating config for user alice.",
    ]
