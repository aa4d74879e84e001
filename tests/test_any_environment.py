"""The commands, the fixture and real clients work in environments that others have.

IPv6, Windows (by its missing modules), a read-only system, a user without an entry, folders with
other characters, closed standard streams, few open files.
"""

import os
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaConsumer, KafkaProducer

from mock_kafka import ControlError, MockKafka
from mock_kafka.control import Control
from tests.free_ports import free_port_run
from tests.without_posix import interpreter

CHECKOUT = Path(__file__).resolve().parent.parent
TIMEOUT_S = 60
IPV6 = "::1"


def has_ipv6() -> bool:
    try:
        socket.create_server((IPV6, 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")


def write_with_each_client(servers: str) -> None:
    """Send one record by kafka-python and one by confluent-kafka."""
    producer = KafkaProducer(bootstrap_servers=servers)
    producer.send("orders", b"kafka-python").get(timeout=TIMEOUT_S)
    producer.close()
    confluent = Producer({"bootstrap.servers": servers})
    confluent.produce("orders", b"confluent-kafka")
    assert confluent.flush(TIMEOUT_S) == 0


@needs_ipv6
@pytest.mark.interop
async def test_real_clients_use_a_cluster_on_ipv6() -> None:
    with MockKafka(brokers=2, host=IPV6, config={"num.partitions": 4}) as kafka:
        servers = kafka.bootstrap_servers
        assert all(server.startswith("[::1]:") for server in kafka.bootstrap_servers_list)
        assert kafka.admin_url.startswith("http://[::1]:")
        write_with_each_client(servers)
        async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
            await producer.send_and_wait("orders", b"aiokafka")
        consumer = KafkaConsumer(
            "orders", bootstrap_servers=servers, group_id="billing", auto_offset_reset="earliest"
        )
        values = sorted(next(consumer).value for _ in range(3))
        consumer.close()
        assert values == [b"aiokafka", b"confluent-kafka", b"kafka-python"]
        assert {request.client_host for request in kafka.requests(api="Produce")} == {IPV6}
        kafka.stop_broker(2)
        kafka.start_broker(2)
        write_with_each_client(servers)
        assert kafka.control.ask("GET", "/v1/requests/pcap")
        run_command("topics", "--bootstrap-server", servers, "--describe", "--topic", "orders")
        run_command("health", "--admin-url", kafka.admin_url)


@needs_ipv6
@pytest.mark.interop
def test_listeners_access_rules_and_connection_limits_have_ipv6_addresses() -> None:
    config = {
        "listeners": "PLAINTEXT://[::1]:0,ALL://[::]:0",
        "advertised.listeners": "ALL://[::1]:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ALL:PLAINTEXT",
        "max.connections.per.ip.overrides": "::1:3",
        "super.users": "",
    }
    with MockKafka(config=config, acls=True) as kafka:
        assert kafka.bootstrap_servers.startswith("[::1]:")
        every = kafka.bootstrap_servers_of("ALL")
        assert every.startswith("[::1]:")
        kafka.allow("ANONYMOUS", "all", topic="orders", host="0:0:0:0:0:0:0:1")
        kafka.allow("ANONYMOUS", "all", topic="returns", host="::/64")
        for topic in ("orders", "returns"):
            producer = Producer({"bootstrap.servers": every})
            producer.produce(topic, b"allowed")
            assert producer.flush(TIMEOUT_S) == 0
            del producer
        port = int(every.rpartition(":")[2])
        # Of an address of IPv4, `::` has the port as well, and the limit is for ::1 alone.
        socket.create_connection(("127.0.0.1", port), TIMEOUT_S).close()
        clients = [socket.create_connection((IPV6, port), TIMEOUT_S) for _ in range(4)]
        clients[-1].settimeout(TIMEOUT_S)
        assert clients[-1].recv(1) == b""
        for client in clients:
            client.close()


@needs_ipv6
def test_the_admin_port_takes_ipv6_addresses_as_names_of_its_own() -> None:
    with MockKafka(host=IPV6) as kafka:
        port = kafka.admin_url.rpartition(":")[2]
        for host in (f"[::1]:{port}", "[::1]", "[fd00::2]:80"):
            assert status_of_get(int(port), host) == 200
        assert status_of_get(int(port), "[evil.example]") == 403


def status_of_get(port: int, host: str) -> int:
    with socket.create_connection((IPV6, port), TIMEOUT_S) as client:
        client.sendall(f"GET /v1/topics HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        return int(client.recv(100).split()[1])


def run_command(*arguments: str) -> str:
    command = [sys.executable, "-m", "mock_kafka", *arguments]
    done = subprocess.run(
        command, cwd=CHECKOUT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


USERS_PROGRAM = """
import os, sys
from confluent_kafka import Producer
from mock_kafka import MockKafka

options = eval(sys.argv[1])
with MockKafka(brokers=2, **options) as kafka:
    producer = Producer(kafka.client_settings("confluent"))
    producer.produce("orders", b"coffee")
    assert producer.flush(60) == 0
    assert [record.value for record in kafka.records("orders")] == [b"coffee"]
    kafka.advance(seconds=60)
    assert not [line for line in kafka.log_lines() if "error" in line.lower()], kafka.log_lines()
print("served")
"""


def users_program(
    *python: object, folder: Path, environment: dict[str, str], options: str = "{}"
) -> None:
    """Run it with all that is on the path of this interpreter; no other variable is set."""
    words = [*map(str, python), "-c", USERS_PROGRAM, options]
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "served\n"), done.stderr


@pytest.mark.interop
@pytest.mark.parametrize("flags", [[], ["-B"], ["-I"]], ids=["plain", "-B", "-I"])
def test_a_program_in_a_folder_with_other_characters_without_home(
    flags: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "späces and ünïcode 雪 'quotes'"
    folder.mkdir()
    if "-I" not in flags:  # the installed packages are found else
        for package in CHECKOUT.glob("*/py.typed"):
            name = package.parent.name
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(package.parent, folder / name, ignore=ignore)
    variables = {"LANG": "C", "TMPDIR": str(folder), "PATH": "/usr/bin:/bin"}
    options = "{'tls': True, 'config': {'num.partitions': 3}}"
    users_program(sys.executable, *flags, folder=folder, environment=variables, options=options)
    left = [path.name for path in folder.iterdir() if path.name.startswith("mock-kafka-")]
    assert left == []
    if "-B" in flags:
        assert not list(folder.rglob("__pycache__"))


READ_ONLY = """
set -e
mount --make-rprivate / && mount -o remount,ro,bind /
mount -o remount,ro,bind /dev/shm 2>/dev/null || true
cd /
exec setpriv --reuid 54321 --regid 54321 --clear-groups --inh-caps=+dac_read_search \
  --ambient-caps=+dac_read_search "$@"
"""


@pytest.mark.interop
def test_a_user_without_an_entry_in_a_system_that_is_read_only() -> None:
    """Without HOME, TMPDIR and a locale; the user may read all files, as those of root here."""
    system = ("unshare", "--mount", "bash", "-c", READ_ONLY, "bash")
    try:
        subprocess.run([*system, "true"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"there is no system that is read-only: {getattr(error, 'stderr', error)}")
    start = f"import os, sys\nsys.path.insert(0, {str(CHECKOUT)!r})\nassert os.getuid() == 54321\n"
    words = [*system, sys.executable, "-P", "-c", start + USERS_PROGRAM]
    for options, reason in (
        ("{}", None),
        ("{'config': {'num.partitions': 3}}", "config=, faults= and snapshot= "),
        ("{'tls': True}", "TLS needs a temporary folder"),
    ):
        done = subprocess.run(
            [*words, options],
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        if reason is None:
            assert (done.returncode, done.stdout) == (0, "served\n"), done.stderr
        else:
            last = done.stderr.splitlines()[-1]
            assert reason in last
            assert "set TMPDIR" in last


def shell(script: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run a script; `$@` is the command line of mock-kafka."""
    words = [sys.executable, "-P", "-m", "mock_kafka", *map(str, arguments)]
    return subprocess.run(
        ["bash", "-c", script, "bash", *words],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_broker_with_closed_standard_streams_serves_and_stops(
    closed: str, tmp_path: Path
) -> None:
    """A connection must not get their numbers: lines of the log would go there."""
    port = free_port_run(2)
    said = tmp_path / "said"
    url = f"http://127.0.0.1:{port + 1}"
    done = shell(
        f"""
        "$@" serve --port {port} --admin-port {port + 1} --log-level debug {closed} &
        "$@" health --wait 30 --admin-url {url} >{shlex.quote(str(said))} 2>&1
        echo "health $?"; kill $!; wait $!; echo "status $?"
        """
    )
    assert done.stdout.endswith("health 0\nstatus 0\n"), (done, said.read_text())


def test_a_broker_that_ends_with_standard_input_ends_at_once_if_that_is_closed() -> None:
    done = shell('exec "$@" 0<&-', "serve", "--port", 0, "--until-stdin-closes")
    assert done.returncode != 1, done.stderr


def test_few_open_files_are_refused_in_one_line() -> None:
    done = shell('ulimit -n 24; exec "$@"', "serve", "--port", 0, "--admin-port", 0)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("mock-kafka: the limit of open files is 24, ")


def test_a_reader_of_the_addresses_that_has_gone_is_a_warning() -> None:
    command = [sys.executable, "-P", "-m", "mock_kafka", "serve", "--port", "0"]
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen(
        command, cwd=CHECKOUT, stdout=writer, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(writer)
        assert process.stderr is not None
        assert "the addresses can't be printed" in process.stderr.readline()
        process.terminate()
        assert process.wait(TIMEOUT_S) == 0


WITHOUT_POSIX = """
import subprocess, sys, time
import pytest
from confluent_kafka import Producer
from mock_kafka import MockKafka
from mock_kafka.cli import main
from mock_kafka.commands import COMMANDS

for option in ({}, {"in_process": True}, {"tls": True, "config": {"num.partitions": 3}}):
    with MockKafka(brokers=2, **option) as kafka:
        producer = Producer(kafka.client_settings("confluent"))
        producer.produce("orders", b"coffee")
        assert producer.flush(60) == 0
        kafka.stop_broker(2)
        kafka.start_broker(2)
        kafka.reset(ports="new")
        kafka.produce("orders", b"tea")
        assert [record.value for record in kafka.records("orders")] == [b"tea"]
        assert not [line for line in kafka.log_lines() if "rror" in line], kafka.log_lines()

with MockKafka() as kafka:
    server = ("--bootstrap-server", kafka.bootstrap_servers)
    admin = ("--admin-url", kafka.admin_url)
    lines = [
        ("certs", "--out", "certs"),
        ("topics", *server, "--create", "--topic", "orders"),
        ("topics", *server, "--describe"),
        ("configs", *server, "--describe", "--entity-type", "brokers", "--entity-name", "1"),
        ("groups", *server, "--list"),
        ("acls", *server, "--list"),
        ("faults", *admin, "list"),
        ("requests", *admin, "list"),
        ("requests", *admin, "pcap", "requests.pcap"),
        ("clock", *admin, "advance", "60"),
        ("brokers", *admin, "list"),
        ("snapshot", *admin, "save", "setup.json"),
        ("snapshot", *admin, "load", "setup.json"),
        ("health", *admin),
        ("completion", "bash"),
        ("scenario", "--list"),
        ("explore", "--command", "exit 0", "--runs", "2", "--out", "findings"),
    ]
    for line in lines:
        status = main(line)
        # Without an authorizer Kafka's tool fails, too.
        assert status == (1 if line[0] == "acls" else 0), (line, status)
    # The atlas imports numpy, which asks an operating system that is not Windows for its name.
    # A proxy and a recording end by a signal only.
    not_run = {"serve", "load", "atlas", "proxy", "record"}
    assert {line[0] for line in lines} == COMMANDS.keys() - not_run

served = subprocess.Popen(
    [sys.executable, "-m", "mock_kafka", "serve", "--port", "0", "--admin-port", "0", "--tls",
     "--until-stdin-closes"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
)
assert served.stdout.readline().startswith("bootstrap.servers=127.0.0.1:")
served.stdin.close()
assert served.wait(60) == 0

refused = subprocess.run([sys.executable, "-m", "mock_kafka", "load", "--help"], text=True,
    capture_output=True)
assert refused.returncode == 0, refused.stderr

with open("test_orders.py", "w") as file:
    file.write("def test_orders(mock_kafka):\\n    assert mock_kafka.topics() == []\\n")
plugins = ["-p", "mock_kafka.pytest_plugin", "-p", "no:cacheprovider"]
assert pytest.main(["-q", *plugins, "test_orders.py"]) == 0
print("all served")
"""


@pytest.mark.interop
@pytest.mark.slow
def test_all_but_load_works_without_what_windows_lacks(tmp_path: Path) -> None:
    python = interpreter(tmp_path)
    environment = {
        **os.environ,
        "PYTHON_WITHOUT_POSIX": str(python),
        "PYTHONPATH": str(CHECKOUT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # anyio's brings trio, which has no fallback here
    }
    words = [str(python), "-c", WITHOUT_POSIX]
    done = subprocess.run(
        words,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S * 2,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.endswith("all served\n")


def test_the_control_of_an_ipv6_url_names_it_in_errors() -> None:
    with pytest.raises(ConnectionError, match=r"http://\[::1\]:1 "):
        Control("http://[::1]:1").ask("GET", "/healthz")
    assert issubclass(ControlError, RuntimeError)
