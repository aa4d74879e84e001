"""franz-go and kafkajs: topics, idempotent producers, groups that resume, answers that get lost."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mock_kafka import ConfigValue, MockKafka
from tests.interop.clients import CONFLUENT, by_partition
from tests.interop.conftest import broker_errors
from tests.interop.dropping_proxy import HOST, DroppingProxy, free_port_run
from tests.maven import CACHE, CannotRunError

KAFKAJS_VERSION = "2.2.4"
FOLDER = Path(__file__).parent
RECORD_COUNT = 3000
_RUN_TIMEOUT_S = 60
_BUILD_TIMEOUT_S = 300  # the first time all of franz-go is compiled

Run = Callable[..., list[list[str]]]
"""Runs a scenario of a client's program; what it prints."""


def build_go(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command that runs franz-go's program."""
    program = folder / "clients"
    _install("go", ["build", "-o", str(program), "."], FOLDER / "go")
    return [str(program)], {}


def install_node(_: Path) -> tuple[list[str], dict[str, str]]:
    """The command that runs kafkajs's program, and where that finds the library."""
    if shutil.which("node") is None:
        raise CannotRunError("node is not here")
    modules = CACHE / f"kafkajs-{KAFKAJS_VERSION}"
    if not (modules / "node_modules" / "kafkajs").exists():
        modules.mkdir(parents=True, exist_ok=True)
        wanted = f"kafkajs@{KAFKAJS_VERSION}"
        _install("npm", ["install", "--no-audit", "--no-fund", "--prefix", ".", wanted], modules)
    environment = {
        "NODE_PATH": str(modules / "node_modules"),
        "KAFKAJS_NO_PARTITIONER_WARNING": "1",
    }
    return ["node", str(FOLDER / "node" / "clients.js")], environment


def _install(program: str, arguments: list[str], folder: Path) -> None:
    if shutil.which(program) is None:
        raise CannotRunError(f"{program} is not here")
    try:
        subprocess.run(
            [program, *arguments],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            timeout=_BUILD_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotRunError(f"{program} took too long") from error
    except subprocess.CalledProcessError as error:
        raise CannotRunError(f"{program} got no client: {error.stderr}") from error


CLIENTS = {"franz-go": build_go, "kafkajs": install_node}


@pytest.fixture(scope="module", params=CLIENTS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A client's program; without its toolchain or its registry the skip says so."""
    try:
        command, environment = CLIENTS[request.param](tmp_path_factory.mktemp("client"))
    except CannotRunError as error:
        pytest.skip(f"{request.param}: {error}")

    def run_scenario(*arguments: object) -> list[list[str]]:
        done = subprocess.run(
            [*command, *map(str, arguments)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=_RUN_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    return run_scenario


def test_records_are_produced_and_read_by_a_group_that_resumes(
    run: Run, kafka_of_three: MockKafka, topic: str
) -> None:
    servers = kafka_of_three.bootstrap_servers
    run("produce", servers, topic, 100)
    first = run("consume", servers, topic, 40, f"{topic}.group")
    rest = run("consume", servers, topic, 60, f"{topic}.group")
    assert (len(first), len(rest)) == (40, 60)
    assert sorted(first + rest, key=lambda line: int(line[4])) == [
        [str(number % 2), str(number // 2), str(1000 + number), "key", str(number), str(number)]
        for number in range(100)
    ]


# kafkajs takes DUPLICATE_SEQUENCE_NUMBER, KIP-758's word for a duplicate, for a failure.
@pytest.mark.parametrize(
    ("run", "batches"), [("franz-go", 1), ("franz-go", 5), ("kafkajs", 5)], indirect=["run"]
)
def test_lost_answers_lose_no_record_and_double_none(run: Run, topic: str, batches: int) -> None:
    port = free_port_run(2)
    config: dict[str, ConfigValue] = {
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "log.retention.ms": -1,
        "producer.state.batches": batches,
    }
    kafka = MockKafka(config=config, port=port + 1)
    with kafka, DroppingProxy(port, [port + 1], seed=758) as proxy:
        proxy.drop_rate = 0.1
        run("produce", proxy.servers, topic, RECORD_COUNT)
        assert proxy.tally.drops > 5
        read = by_partition(CONFLUENT.read(kafka.bootstrap_servers, topic, 2, RECORD_COUNT))
        assert broker_errors(kafka) == []
    for partition in (0, 1):
        numbers = [int(record.value or b"") for record in read[partition]]
        assert numbers == list(range(partition, RECORD_COUNT, 2))
