"""mock-kafka as one file: it needs no Python, and does what the wheel does.

`EXECUTABLE` names a file that is built already; without it the fixture builds one.
"""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError
from kafka.net.sasl.oauth import AbstractTokenProvider

from mock_kafka import MockKafka
from scripts.executable_build import SYSTEMS, build
from tests.broker.security.provider import AUDIENCE, ISSUER, key_set, public_key, signed
from tests.executable import IS_WINDOWS, PYTHON, Executable, missing_tools
from tests.wheel import built, run, source, wheel

__all__ = ["built", "source", "wheel"]  # fixtures

pytestmark = [
    pytest.mark.interop,
    pytest.mark.long,
    pytest.mark.xdist_group("executable"),  # one worker builds it
]

BUILDER = ("cargo", "java", "mvn") if IS_WINDOWS else ("cargo", "cc", "java", "mvn")
CODECS = (None, "gzip", "snappy", "lz4", "zstd")
ONLY_STANDARD_LIBRARY = """
import sys
sys.path.insert(0, sys.argv[1])
from mock_kafka import MockKafka

with MockKafka() as kafka:
    kafka.produce("orders", b"one coffee")
    print([record.value for record in kafka.records("orders")])
"""

IMPORTS_ALL = """
import importlib, pkgutil, sys
import mock_kafka._internal

for module in pkgutil.walk_packages(mock_kafka.__path__, "mock_kafka."):
    try:
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    except ImportError as error:  # our own says what to install, and has the cause
        print((error.__cause__ or error).name.partition(".")[0])
if "mock_kafka._internal.broker.handlers.k00_produce" in sys.modules:
    print("imported")
"""
OF_EXTRAS = {
    "aiokafka",
    "confluent_kafka",
    "hdfs_native",
    "hypothesis",
    "jinja2",
    "matplotlib",
    "numpy",
    "pandas",
    "pyarrow",
    "pyspark",
    "pytest",
    "testcontainers",
    "yaml",
}


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file that EXECUTABLE names, or a new one."""
    if named := os.environ.get("EXECUTABLE"):
        return Path(named).resolve()
    if missing := missing_tools(*BUILDER):
        pytest.skip(f"to build the file, {missing} must be there")
    try:
        return build(tmp_path_factory.mktemp("executable"))
    except (SystemExit, Exception) as error:
        if "Maven Central" in str(error) or "no program for" in str(error):
            pytest.skip(str(error))
        raise


@pytest.fixture(scope="session")
def executable(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Executable:
    return Executable(program, tmp_path_factory.mktemp("user"))


@pytest.fixture
def kafka(executable: Executable) -> Iterator[MockKafka]:
    with MockKafka(brokers=2, command=[str(executable.program)]) as running:
        yield running


@pytest.fixture(autouse=True)
def _cache_of_fixtures(executable: Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `MockKafka` start the file with the cache folder of the tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(executable.cache))
    monkeypatch.setenv("LOCALAPPDATA", str(executable.cache))


def values_read(servers: str, count: int, **settings: object) -> list[bytes]:
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=servers,
        group_id="billing",
        auto_offset_reset="earliest",
        **settings,
    )
    values = [next(consumer).value for _ in range(count)]
    consumer.close()
    return values


def test_the_environment_of_another_python_changes_nothing(
    executable: Executable, tmp_path: Path
) -> None:
    (tmp_path / "broker.py").write_text("raise SystemExit('the wrong module')")
    (tmp_path / "mock_kafka.py").write_text("raise SystemExit('the wrong module')")
    foreign = {"PYTHONPATH": str(tmp_path), "PYTHONHOME": str(tmp_path), "PYTHONSTARTUP": "x"}
    environment = {**executable.environment, **foreign}
    assert executable.run("--version", environment=environment).startswith("mock-kafka ")
    with executable.serving(environment=environment) as (_, printed):
        assert printed["bootstrap.servers"]


def test_every_module_finds_what_it_imports(executable: Executable) -> None:
    executable.run("--version")
    [folder] = executable.unpacked()
    python = folder / PYTHON
    done = subprocess.run(
        [python, "-I", "-c", IMPORTS_ALL],
        env=executable.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    missing = {line for line in done.stdout.splitlines() if line not in OF_EXTRAS}
    assert missing == {"imported"}


def test_a_client_produces_and_consumes_with_every_codec(executable: Executable) -> None:
    with executable.serving() as (_, printed):
        servers = printed["bootstrap.servers"]
        for codec in CODECS:
            producer = KafkaProducer(bootstrap_servers=servers, compression_type=codec)
            producer.send("orders", str(codec).encode() * 100).get(timeout=30)
            producer.close()
        values = values_read(servers, len(CODECS))
    assert sorted(values) == sorted(str(codec).encode() * 100 for codec in CODECS)


def test_it_stops_when_stdin_closes(executable: Executable) -> None:
    with executable.serving() as (process, _):
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=30) == 0


@pytest.mark.skipif(IS_WINDOWS, reason="it has no signals")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_a_signal_stops_it(executable: Executable, number: str) -> None:
    with executable.serving() as (process, _):
        process.send_signal(signal.Signals[number])
        assert process.wait(timeout=30) == 0


def test_the_admin_port_serves_the_page_its_files_and_metrics(executable: Executable) -> None:
    with executable.serving("--admin-port", "0") as (_, printed):
        url = printed["admin.url"]
        for path, part in (("/", "<html"), ("/metrics", "# TYPE"), ("/openapi.json", '"openapi"')):
            with urllib.request.urlopen(f"{url}{path}", timeout=30) as response:
                assert part in response.read().decode(), path
        executable.run("health", "--admin-url", url)


def test_faults_and_clock_work_as_methods_of_the_fixture(kafka: MockKafka) -> None:
    kafka.fail(api="Produce", error="NOT_ENOUGH_REPLICAS", times=2)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, retry_backoff_ms=10)
    producer.send("orders", b"one coffee").get(timeout=30)
    producer.close()
    assert [record.value for record in kafka.records("orders")] == [b"one coffee"]
    assert len(kafka.requests(api="Produce")) == 3
    kafka.advance(seconds=3600)
    kafka.reset()
    assert kafka.topics() == []


def test_tls_with_scram(executable: Executable) -> None:
    settings = {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "alice",
    }
    with MockKafka(tls=True, users={"alice": "secret"}, command=[str(executable.program)]) as kafka:
        right = {**settings, "ssl_cafile": kafka.ca_path, "sasl_plain_password": "secret"}
        producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, **right)
        producer.send("orders", b"one coffee").get(timeout=30)
        producer.close()
        assert values_read(kafka.bootstrap_servers, 1, **right) == [b"one coffee"]
        wrong = {**right, "sasl_plain_password": "wrong", "bootstrap_timeout_ms": 2000}
        with pytest.raises(KafkaError):
            KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, **wrong)


def test_signed_tokens_are_verified(executable: Executable, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_bytes(key_set(public_key("one")))
    listener = "listener.name.sasl_plaintext."
    config = {
        "listeners": "SASL_PLAINTEXT://:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{listener}oauthbearer.sasl.server.callback.handler.class": (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
        ),
        f"{listener}sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": ISSUER,
    }

    class Tokens(AbstractTokenProvider):
        def token(self) -> str:
            now_s = int(time.time())
            claims = {"sub": "alice", "iat": now_s, "exp": now_s + 600}
            return signed({**claims, "iss": ISSUER, "aud": AUDIENCE}, "one")

    with MockKafka(config=config, command=[str(executable.program)]) as kafka:
        producer = KafkaProducer(
            bootstrap_servers=kafka.bootstrap_servers,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=Tokens(),  # type: ignore[no-untyped-call]
        )
        producer.send("orders", b"one coffee").get(timeout=30)
        producer.close()


def test_the_tools_work(executable: Executable, kafka: MockKafka, tmp_path: Path) -> None:
    server = ("--bootstrap-server", kafka.bootstrap_servers)
    new = ("--create", "--topic", "orders", "--partitions", 2)
    assert "Created topic orders" in executable.run("topics", *server, *new)
    assert "PartitionCount: 2" in executable.run("topics", *server, "--describe")
    entity = ("--entity-type", "topics", "--entity-name", "orders")
    executable.run("configs", *server, "--alter", "--add-config", "retention.ms=5", *entity)
    assert "retention.ms=5" in executable.run("configs", *server, "--describe", *entity)
    kafka.produce("orders", b"one coffee", partition=0)
    consumer = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers, group_id="billing", auto_offset_reset="earliest"
    )
    consumer.subscribe(["orders"])
    next(consumer)
    consumer.close()
    assert "billing" in executable.run("groups", *server, "--list")
    admin = ("--admin-url", kafka.admin_url)
    fault = json.dumps({"api": "Fetch", "error": "KAFKA_STORAGE_ERROR", "times": 1})
    executable.run("faults", *admin, "add", fault)
    assert "KAFKA_STORAGE_ERROR" in executable.run("faults", *admin, "list")
    assert "CreateTopics" in executable.run("requests", *admin, "list")
    executable.run("clock", *admin, "advance", 60)
    executable.run("brokers", *admin, "stop", 2)
    executable.run("snapshot", *admin, "save", tmp_path / "setup.json")
    executable.run("certs", "--out", tmp_path / "certs", "--client", "CN=alice")
    assert (tmp_path / "certs" / "client-alice.pem").exists()
    assert "mock-kafka" in executable.run("completion", "bash")


def test_access_control_lists_have_their_tool(executable: Executable) -> None:
    with MockKafka(acls=True, command=[str(executable.program)]) as kafka:
        kafka.allow("ANONYMOUS", "all", cluster=True)
        server = ("--bootstrap-server", kafka.bootstrap_servers)
        rule = ("--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders")
        executable.run("acls", *server, "--add", *rule)
        assert "User:alice" in executable.run("acls", *server, "--list")


def test_a_scenario_starts_clusters_of_its_own(executable: Executable) -> None:
    assert "never again" in executable.run("scenario", "steady-id")


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("load", "producer-churn"), "spark"),
        (("load", "quotas", "plan.yaml"), "analysis"),
        (("scenario", "steady-id", "--out", "pictures"), "reports"),
        (("atlas", "list"), "analysis"),
    ],
)
def test_what_is_not_in_the_file_says_how_to_get_it(
    executable: Executable, arguments: Sequence[str], extra: str
) -> None:
    status = 2 if arguments[0] == "load" else 1
    said = executable.run(*arguments, status=status)
    assert "nothing can be installed in this Python" in said
    assert f"install mock-kafka with its extra `{extra}` in a separate environment" in said
    assert "usage: mock-kafka load" in executable.run("load", "--help")


def test_a_fixture_without_packages_uses_it(
    executable: Executable, wheel: Path, tmp_path: Path
) -> None:
    said = run(
        *(sys.executable, "-I", "-S", "-c", ONLY_STANDARD_LIBRARY, wheel),
        folder=tmp_path,
        environment={"MOCK_KAFKA_COMMAND": str(executable.program)},
    )
    assert said == "[b'one coffee']\n"


def test_each_system_has_its_own_python() -> None:
    assert len({system.jar_sha256 for system in SYSTEMS.values()}) == len(SYSTEMS)
    assert len({system.name for system in SYSTEMS.values()}) == len(SYSTEMS)
