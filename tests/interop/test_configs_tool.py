"""kafka-configs.sh of Kafka 4.4 and `mock-kafka configs`: the same lines and effects."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from mock_kafka import cli
from scenarios.maven import CannotRunError
from tests.differential.clusters import Setup, our_cluster
from tests.differential.tools import Session, ToolProcess, compile_tools

pytestmark = pytest.mark.xdist_group("jvm")

RESET = "share.auto.offset.reset"
COMMANDS = (
    "--describe --entity-type groups",
    "--describe --group ~g",
    f"--alter --group ~g --add-config {RESET}=earliest,consumer.session.timeout.ms=50000",
    "--describe --entity-type groups --entity-name ~g",
    "--describe --group ~g --all",
    "--describe --entity-type groups",
    f"--alter --entity-type groups --entity-name ~g --delete-config {RESET},share.isolation.level",
    "--describe --group ~g",
    "--describe --entity-type client-metrics",
    "--describe --client-metrics ~m",
    "--alter --client-metrics ~m --add-config metrics=[a.,b.],interval.ms=1000",
    "--describe --entity-type client-metrics --entity-name ~m",
    "--describe --entity-type client-metrics",
    "--alter --client-metrics ~m --delete-config metrics,interval.ms,match",
    "--describe --client-metrics ~m",
    "--describe --entity-type broker-loggers --entity-name 1",
    "--describe --broker-logger 9",
    "--describe --broker 9",
    "--alter --ip 10.1.2.3 --add-config connection_creation_rate=10",
    "--describe --ip 10.1.2.3",
    "--describe --entity-type ips",
    "--alter --entity-type ips --entity-name 10.1.2.3 --delete-config connection_creation_rate",
    "--describe --entity-type ips",
    "--alter --ip-defaults --add-config connection_creation_rate=1000",
    "--describe --ip-defaults",
    "--alter --ip-defaults --delete-config connection_creation_rate",
    "--alter --broker-defaults --delete-config message.max.bytes",
    "--alter --group ~g --delete-config consumer.session.timeout.ms",
    "--alter --user ~u --add-config SCRAM-SHA-256=[iterations=8192,password=a]",
    "--alter --user ~u --add-config SCRAM-SHA-512=[password=b]",
    "--describe --user ~u",
    "--describe --entity-type users",
    "--alter --user ~u --delete-config SCRAM-SHA-512",
    "--alter --user ~u --add-config SCRAM-SHA-256=[iterations=-1,password=c]",
    "--describe --entity-type users --entity-name ~u",
    "--alter --user ~u --delete-config SCRAM-SHA-256",
    "--describe --user ~u",
)
"""They leave nothing for the other tool."""
ERRORS = (
    "--alter --broker-logger 1 --add-config no.such.logger=INFO",
    "--alter --broker-logger x --add-config root=INFO",
    "--describe --broker-logger x",
    "--alter --user-defaults --add-config SCRAM-SHA-256=[password=a]",
    "--alter --user u --add-config SCRAM-SHA-256=[iterations=9,password=a]",
    "--alter --user nobody --delete-config SCRAM-SHA-256",
    "--alter --user u --add-config SCRAM-SHA-256=[password=a],SCRAM-SHA-512=[password=b]",
)


@pytest.fixture
def kafkas(tmp_path: Path) -> Iterator[tuple[ToolProcess, str]]:
    """Kafka's tools on a cluster of ours, and its bootstrap servers."""
    try:
        tools = compile_tools(tmp_path, "4.4")
    except CannotRunError as error:
        pytest.skip(str(error))
    with our_cluster(Setup("4.4")) as cluster, ToolProcess(tools, cluster, tmp_path) as process:
        host, port = cluster.address(1, "PLAINTEXT")
        yield process, f"{host}:{port}"


def run_ours(servers: str, words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    capsys.readouterr()
    status = cli.main(["configs", "--bootstrap-server", servers, *shlex.split(words)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_both_tools_print_the_same(
    kafkas: tuple[ToolProcess, str], capsys: pytest.CaptureFixture[str]
) -> None:
    process, servers = kafkas
    session = Session("configs", tuple(f"configs {words}" for words in COMMANDS))
    expected = [result.output for result in process.run(session, "kafkas-")]
    found = []
    for words in COMMANDS:
        status, output, errors = run_ours(servers, words.replace("~", "ours-"), capsys)
        assert (status, errors) == (0, ""), words
        found.append(output.replace("ours-", "~"))
    for words, ours, kafka in zip(COMMANDS, found, expected, strict=True):
        assert sorted(ours.splitlines()) == sorted(kafka.splitlines()), words


def test_both_tools_refuse_the_same(
    kafkas: tuple[ToolProcess, str], capsys: pytest.CaptureFixture[str]
) -> None:
    process, servers = kafkas
    session = Session("configs", tuple(f"configs {words}" for words in ERRORS))
    for words, result in zip(ERRORS, process.run(session, "kafkas-"), strict=True):
        status, _, errors = run_ours(servers, words, capsys)
        assert (status, result.status) == (1, "1"), words
        message = errors.removeprefix("Error while executing config command : ")
        assert message.strip() in result.errors, words
