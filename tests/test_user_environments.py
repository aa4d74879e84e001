"""The wheel is installed beside the clients of a user, whose versions stay, and works with them."""

import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

from tests.wheel import built, run, source, wheel

__all__ = ["built", "source", "wheel"]  # fixtures

pytestmark = pytest.mark.long

PYTEST = "pytest==8.3.5"
OTHERS = ("aiokafka==0.12.0", "confluent-kafka==2.6.1", PYTEST)
# kafka-python 2.0.2 needs `six.moves` in its own folder, which Python 3.12 does not find.
KAFKA_PYTHONS = (*(["2.0.2"] if sys.version_info < (3, 12) else []), "2.2.10", "3.0.12")
TOOLS = ("pip", "uv")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

USERS_TEST = """
import asyncio
import sys

import aiokafka
import confluent_kafka
import kafka
import pytest


async def written_by_aiokafka(servers):
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=servers) as producer:
        await producer.send_and_wait("orders", b"aiokafka")


def test_each_client_of_the_user_writes_and_reads(mock_kafka):
    servers = mock_kafka.bootstrap_servers
    mock_kafka.fail(api="Produce", error="NOT_LEADER_OR_FOLLOWER", times=1)
    producer = kafka.KafkaProducer(bootstrap_servers=servers, retries=3)
    producer.send("orders", b"kafka-python").get(timeout=30)
    producer.close()
    asyncio.run(written_by_aiokafka(servers))
    producer = confluent_kafka.Producer({"bootstrap.servers": servers})
    producer.produce("orders", b"confluent-kafka")
    assert producer.flush(30) == 0

    consumer = kafka.KafkaConsumer(
        "orders", bootstrap_servers=servers, group_id="billing", auto_offset_reset="earliest"
    )
    values = [next(consumer).value for _ in range(3)]
    consumer.close()
    assert sorted(values) == [b"aiokafka", b"confluent-kafka", b"kafka-python"]
    assert mock_kafka.committed("billing") == {("orders", 0): 3}
    assert len(mock_kafka.requests(api="Produce", topic="orders")) == 4
"""

OWN_USE = f"""
import asyncio
import subprocess
import sys
import urllib.request
from pathlib import Path

from mock_kafka import MockKafka, NewTopic, Producer, ProducerSettings, open_admin, security_of

async def send(servers):
    for codec in {CODECS!r}:
        async with Producer(servers, ProducerSettings(compression_type=codec)) as producer:
            await (await producer.send("orders", codec.encode() * 1000))

program = str(Path(sys.executable).with_name("mock-kafka"))
subprocess.run([program, "certs", "--out", "certs"], check=True, capture_output=True)
tls = {{"ssl.keystore.location": "certs/server.pem", "listeners": "SSL://:0"}}
for in_process in (False, True):
    with MockKafka(in_process=in_process) as kafka:
        asyncio.run(send(kafka.bootstrap_servers))
        values = [each.value for each in kafka.records("orders")]
        assert values == [codec.encode() * 1000 for codec in {CODECS!r}]
        with urllib.request.urlopen(kafka.admin_url + "/metrics") as response:
            assert b"# HELP" in response.read()
    with MockKafka(config=tls, in_process=in_process) as kafka:
        settings = {{"security.protocol": "SSL", "ssl.truststore.location": "certs/ca.pem"}}
        with open_admin(kafka.bootstrap_servers, security=security_of(settings)) as admin:
            assert admin.create_topics([NewTopic("t", partition_count=1)]) == {{"t": None}}
assert not [name for name in sys.modules if name.partition(".")[0] == "kafka"]
"""


class UserEnvironment:
    """A new virtual environment, and pip or uv to install into it."""

    def __init__(self, tool: str, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "venv" / "bin" / "python"
        run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", folder=folder)
        uv = Path(sysconfig.get_path("scripts")) / "uv"
        self._words: dict[str, list[object]] = {
            "pip": [sys.executable, "-m", "pip", "--python", self.python],
            "uv": [uv, "pip"],
        }
        self._tool = tool

    def packages(self, command: str, *words: object) -> None:
        """Run a command of the tool, such as `install`."""
        options = ["--python", self.python] if self._tool == "uv" else []
        if command == "install" and self._tool == "pip":
            options = ["--no-compile"]  # most of the time, for modules that no test imports
        command_line = (*self._words[self._tool], command, *options, *words)
        run(*command_line, folder=self.folder, timeout_s=600)

    def versions(self) -> set[str]:
        folders = map(str, self.folder.glob("venv/lib/python*/site-packages"))
        installed = metadata.distributions(path=list(folders))
        return {f"{distribution.name}=={distribution.version}" for distribution in installed}

    def run_the_users_test(self) -> None:
        (self.folder / "test_orders.py").write_text(USERS_TEST)
        words = (self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_orders.py")
        assert "1 passed" in run(*words, folder=self.folder, environment={"PATH": "/usr/bin:/bin"})


@pytest.fixture(scope="module")
def _pypi(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip the tests if PyPI can't be reached."""
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest")
    words = [*map(str, pip), str(tmp_path_factory.mktemp("pypi")), PYTEST]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip(f"PyPI can't be reached: {done.stderr.splitlines()[-1]}")


@pytest.fixture(params=TOOLS)
def environment(_pypi: None, request: pytest.FixtureRequest, tmp_path: Path) -> UserEnvironment:
    return UserEnvironment(request.param, tmp_path)


@pytest.mark.parametrize("kafka_python", KAFKA_PYTHONS)
def test_the_wheel_changes_no_version_that_is_there(
    environment: UserEnvironment, wheel: Path, kafka_python: str
) -> None:
    environment.packages("install", f"kafka-python=={kafka_python}", *OTHERS)
    before = environment.versions()
    environment.packages("install", wheel)
    assert f"kafka-python=={kafka_python}" in before
    assert before <= environment.versions()
    environment.packages("check")
    environment.run_the_users_test()


def test_the_wheel_and_pinned_clients_are_in_one_requirements_file(
    environment: UserEnvironment, wheel: Path
) -> None:
    pins = {"kafka-python==2.2.10", *OTHERS}
    file = environment.folder / "requirements.txt"
    file.write_text("\n".join((*pins, str(wheel))))
    environment.packages("install", "-r", file)
    assert pins <= environment.versions()
    environment.packages("check")
    environment.run_the_users_test()


@pytest.mark.parametrize("environment", ["uv"], indirect=True)
def test_the_oldest_packages_that_the_wheel_allows_are_enough(
    environment: UserEnvironment, wheel: Path
) -> None:
    """Without kafka-python; every codec, TLS and the admin port, in both kinds of process."""
    environment.packages("install", "--only-binary", ":all:", "--resolution=lowest-direct", wheel)
    run(environment.python, "-c", OWN_USE, folder=environment.folder)
