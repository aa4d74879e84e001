"""Delegation tokens with Kafka's own tools and the Java clients."""

from pathlib import Path

import pytest

from mock_kafka import ConfigValue, MockKafka
from scenarios.maven import CannotRunError
from tests.differential.clusters import compared
from tests.differential.tools import Command, Session, ToolProcess, compile_tools

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("jvm")]

_LOGIN = """security.protocol=SASL_PLAINTEXT
sasl.mechanism=SCRAM-SHA-512
request.timeout.ms=10000
default.api.timeout.ms=10000
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required {};
"""
FILES = {
    "alice.properties": _LOGIN.format('username="alice" password="secret"'),
    "token.properties": _LOGIN.format('username="{token}" password="{hmac}" tokenauth="true"'),
}
SECRETS = {"token": r"tokenId : (\S+)", "hmac": r"\n\S+ +(\S{88}) "}
CONFIG: dict[str, ConfigValue] = {
    "listeners": "PLAINTEXT://:0,SASL_PLAINTEXT://:0",
    "sasl.users": "alice:secret",
    "delegation.token.secret.key": "key",
    "delegation.token.expiry.time.ms": 3_600_000,
    "journal.enable": True,
}


def test_a_client_with_a_token_is_its_owner_until_the_token_expires(tmp_path: Path) -> None:
    try:
        compiled = compile_tools(tmp_path, "4.4")
    except CannotRunError as error:
        pytest.skip(str(error))
    produce = "console-producer --topic orders --bootstrap-server {sasl} --producer.config "
    session = Session(
        "a token",
        (
            Command(
                "delegation-tokens --create --max-life-time-period -1 --bootstrap-server {sasl}"
                " --command-config {file:alice.properties}",
                keep=SECRETS,
            ),
            Command(produce + "{file:token.properties}", input="with a token\n"),
            Command(
                "delegation-tokens --describe --bootstrap-server {sasl}"
                " --command-config {file:token.properties}"
            ),
        ),
        FILES,
    )
    with (
        MockKafka(config=CONFIG) as kafka,
        ToolProcess(compiled, compared(kafka), tmp_path) as tools,
    ):
        kafka.create_topic("orders", 1)
        created, produced, refused = tools.run(session)
        assert (created.status, produced.status) == ("0", "0"), created.errors
        assert [record.value for record in kafka.records("orders")] == [b"with a token"]
        assert kafka.wait_for(api="Produce").user == "alice"
        assert "Delegation Token requests are not allowed" in refused.errors

        kafka.advance(seconds=7200)
        listing = "topics --list --bootstrap-server {sasl} --command-config "
        (expired,) = tools.run(Session("", (listing + str(tmp_path / "token.properties"),)))
        assert expired.status == "1"
        assert "invalid credentials with SASL mechanism SCRAM-SHA-512" in expired.output
