"""kafka-configs.sh of Kafka 4.4 and `mock-kafka configs`: the same lines and effects."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential.clusters import Setup
from tests.interop.both_tools import BothTools, both_tools

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
def tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[BothTools]:
    with both_tools("configs", Setup("4.4"), tmp_path, capsys) as running:
        yield running


def test_both_tools_print_the_same(tools: BothTools) -> None:
    tools.check_lines(COMMANDS)


def test_both_tools_refuse_the_same(tools: BothTools) -> None:
    for words, result in zip(ERRORS, tools.run_kafkas(ERRORS), strict=True):
        status, _, errors = tools.run_ours(words)
        assert (status, result.status) == (1, "1"), words
        message = errors.removeprefix("Error while executing config command : ")
        assert message.strip() in result.errors, words
