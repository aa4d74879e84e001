"""`python -m broker serve` as a process: first line, ports, signals, logs."""

import asyncio
import gc
import json
import select
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from broker import serve
from broker.clock import SystemClock
from broker.config.broker_config import BrokerConfig
from broker.request.context import RequestContext
from broker.serve import ServeOptions, StartError, start_server
from protocol import regular_expressions
from tests.broker.connection_driver import break_metadata, fetch_frame, metadata_frame
from tests.free_ports import free_port_run

TIMEOUT_S = 20


@contextmanager
def serving(
    *arguments: str, before: tuple[str, ...] = ()
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Start a broker process, with a command before its own; return it with its first line."""
    with subprocess.Popen(
        [*before, sys.executable, "-m", "broker", "serve", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert select.select([process.stdout], [], [], TIMEOUT_S)[0], "no first line"
            yield process, process.stdout.readline()
        finally:
            process.kill()


def parse_first_line(line: str) -> list[tuple[str, int]]:
    assert line.endswith("\n")
    key, _, value = line.rstrip("\n").partition("=")
    assert key == "bootstrap.servers"
    pairs = [address.rpartition(":") for address in value.split(",")]
    return [(host, int(port)) for host, _, port in pairs]


def test_the_first_line_names_an_address_that_accepts_connections() -> None:
    with serving("--port", "0") as (_, line):
        [(host, port)] = parse_first_line(line)
        assert host == "127.0.0.1"
        socket.create_connection((host, port), timeout=5).close()


@pytest.mark.slow
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_process_with_status_0_and_no_more_output(
    signal_number: signal.Signals,
) -> None:
    with serving("--port", "0") as (process, _):
        process.send_signal(signal_number)
        output, _log = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0
        assert output == ""


def test_a_signal_stops_the_process_while_clients_are_connected() -> None:
    with serving("--port", "0") as (process, line):
        [address] = parse_first_line(line)
        with socket.create_connection(address, timeout=5) as client:
            process.terminate()
            assert process.wait(TIMEOUT_S) == 0
            assert client.recv(1) == b""


def test_an_ipv6_address_is_printed_in_brackets() -> None:
    advertised = ("-o", "advertised.listeners=PLAINTEXT://[::1]:7000")
    with serving("--port", "0", *advertised) as (_, line):
        assert parse_first_line(line) == [("[::1]", 7000)]


def test_several_brokers_have_consecutive_ports() -> None:
    first = free_port_run(3)
    with serving("--port", str(first), "--brokers", "3") as (_, line):
        addresses = parse_first_line(line)
        assert addresses == [("127.0.0.1", first + index) for index in range(3)]
        for address in addresses:
            socket.create_connection(address, timeout=5).close()


@pytest.mark.slow
def test_several_brokers_on_free_ports_have_different_ones() -> None:
    with serving("--port", "0", "--brokers", "3") as (_, line):
        assert len({port for _, port in parse_first_line(line)}) == 3


@pytest.mark.slow
def test_the_admin_url_is_printed_after_the_listeners_and_the_port_closes_with_the_broker() -> None:
    with serving("--port", "0", "--admin-port", "0") as (process, line):
        parse_first_line(line)
        assert process.stdout is not None
        key, _, url = process.stdout.readline().strip().partition("=")
        assert key == "admin.url"
        with urlopen(f"{url}/healthz", timeout=TIMEOUT_S) as response:
            assert json.loads(response.read())["brokers"] == 1
        process.terminate()
        assert process.wait(TIMEOUT_S) == 0


@pytest.mark.slow
def test_the_last_lines_are_what_clients_of_tls_and_sasl_must_set() -> None:
    options = ("--port", "0", "--brokers", "2", "--admin-port", "0", "--tls", "--sasl")
    with serving(*options) as (process, line):
        assert process.stdout is not None
        assert process.stdout.readline().startswith("admin.url=")
        assert process.stdout.readline() == "security.protocol=SASL_SSL\n"
        key, _, path = process.stdout.readline().strip().partition("=")
        assert key == "ssl.ca.location"
        context = ssl.create_default_context(cafile=path)
        for host, port in parse_first_line(line):
            with (
                socket.create_connection((host, port), timeout=TIMEOUT_S) as client,
                context.wrap_socket(client, server_hostname=host) as secured,
            ):
                assert secured.version() == "TLSv1.3"
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0
        assert not Path(path).parent.exists()


def test_a_server_that_cannot_listen_deletes_its_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = ServeOptions("127.0.0.1", port, 1, BrokerConfig(), has_tls=True)
        with pytest.raises(StartError, match="cannot listen"):
            asyncio.run(start_server(options))
    assert list(tmp_path.iterdir()) == []


def test_an_admin_port_in_use_is_one_clear_line_and_status_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "broker", "serve", "--port", "0", "--admin-port", port],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"mock-kafka: cannot listen on 127.0.0.1:{port}: ")
    assert "in use" in line


def test_a_port_in_use_is_one_clear_line_and_status_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "broker", "serve", "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    assert done.returncode == 1
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert f"127.0.0.1:{port}" in line
    assert "in use" in line


@pytest.mark.slow
def test_a_config_file_and_overrides_reach_the_brokers(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("advertised.listeners=PLAINTEXT://from-file:1000\n")
    with serving("--port", "0", "--config", str(path)) as (_, line):
        assert parse_first_line(line) == [("from-file", 1000)]
    override = ("-o", "advertised.listeners=PLAINTEXT://from-override:2000")
    with serving("--port", "0", "--config", str(path), *override) as (_, line):
        assert parse_first_line(line) == [("from-override", 2000)]


@pytest.mark.slow
def test_advertised_ports_are_consecutive_and_port_0_becomes_the_bound_port() -> None:
    advertised = ("-o", "advertised.listeners=PLAINTEXT://kafka.test:9000")
    with serving("--port", "0", "--brokers", "2", *advertised) as (_, line):
        assert parse_first_line(line) == [("kafka.test", 9000), ("kafka.test", 9001)]
    first = free_port_run(1)
    advertised = ("-o", "advertised.listeners=PLAINTEXT://kafka.test:0")
    with serving("--port", str(first), *advertised) as (_, line):
        assert parse_first_line(line) == [("kafka.test", first)]


def test_json_logs_are_one_object_per_line_with_peer_and_reason() -> None:
    with serving("--port", "0", "--log-format", "json", "--log-level", "debug") as (process, line):
        [address] = parse_first_line(line)
        with socket.create_connection(address, timeout=5) as client:
            peer = "{}:{}".format(*client.getsockname())
            client.sendall(b"\xff\xff\xff\xff")  # a frame of negative length
            assert client.recv(1) == b""
        process.terminate()
        _, log = process.communicate(timeout=TIMEOUT_S)
    events = [json.loads(text) for text in log.splitlines()]
    assert all({"event", "level", "timestamp"} <= event.keys() for event in events)
    [closed] = [event for event in events if event.get("peer") == peer and "reason" in event]
    assert "-1" in closed["reason"]
    names = [event["event"] for event in events]
    assert names.index("cluster started") < names.index("cluster stops")


def test_every_listener_has_its_own_line_and_ports() -> None:
    listeners = ("-o", "listeners=PLAINTEXT://:0,SASL_PLAINTEXT://localhost:0")
    with serving("--port", "0", "--brokers", "2", *listeners) as (process, line):
        assert process.stdout is not None
        key, _, rest = process.stdout.readline().partition("=")
        assert key == "bootstrap.servers.SASL_PLAINTEXT"
        addresses = parse_first_line(line) + parse_first_line(f"bootstrap.servers={rest}")
        assert [host for host, _ in addresses] == ["127.0.0.1"] * 2 + ["localhost"] * 2
        assert len({port for _, port in addresses}) == 4
        for address in addresses:
            socket.create_connection(address, timeout=5).close()


@pytest.mark.slow
def test_a_log_that_nobody_reads_does_not_stop_the_broker() -> None:
    with serving("--port", "0") as (process, line):
        [address] = parse_first_line(line)
        for _ in range(1_000):  # a log line each, more than the pipe holds
            with socket.create_connection(address, TIMEOUT_S) as connection:
                connection.sendall(b"\xff\xff\xff\xff")
                assert connection.recv(1) == b""
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0


MOVED_WALL_CLOCK = """
import runpy, sys, time
from pathlib import Path
shift, real = Path(sys.argv[1]), time.time_ns
time.time_ns = lambda: real() + int(shift.read_text() or "0") * 1_000_000_000
time.time = lambda: time.time_ns() / 1_000_000_000
sys.argv = sys.argv[4:]
runpy.run_module("broker", run_name="__main__")
"""
"""Runs the broker's command; the seconds in a file are added to the wall clock."""


@pytest.mark.slow
def test_a_wall_clock_that_is_set_moves_neither_the_time_nor_the_timers_of_a_broker(
    tmp_path: Path,
) -> None:
    shift = tmp_path / "shift"
    shift.write_text("0")
    before = sys.executable, "-c", MOVED_WALL_CLOCK, str(shift)
    with serving("--port", "0", "--admin-port", "0", before=before) as (process, line):
        [address] = parse_first_line(line)
        assert process.stdout is not None
        url = process.stdout.readline().partition("=")[2].strip()
        with urlopen(f"{url}/v1/topics", b'{"name": "t"}', TIMEOUT_S):
            pass
        for hours in (-1, 1, -24 * 30, 24 * 30, 0):
            shift.write_text(str(hours * 3600))
            with socket.create_connection(address, 5) as client:
                # The response comes when the timer of the request rings.
                client.sendall(fetch_frame(1, "t", max_wait_ms=20))
                assert client.recv(4)
            with urlopen(f"{url}/v1/clock", timeout=TIMEOUT_S) as response:
                broker_ms = json.load(response)["now_ms"]
            assert abs(broker_ms - time.time() * 1000) < 60_000


@pytest.mark.slow
def test_clients_beyond_the_limit_of_open_files_are_closed_and_nothing_else_fails() -> None:
    limited = ("bash", "-c", 'ulimit -n 64; exec "$0" "$@"')
    with serving("--port", "0", "--admin-port", "0", before=limited) as (process, line):
        [address] = parse_first_line(line)
        assert process.stdout is not None
        clients = [socket.create_connection(address, TIMEOUT_S) for _ in range(200)]
        url = process.stdout.readline().split("=")[1].strip()
        with urlopen(f"{url}/v1/clock", timeout=TIMEOUT_S) as response:
            assert response.status == 200
        clients[0].sendall(metadata_frame(1))
        assert clients[0].recv(8)[4:] == (1).to_bytes(4, "big")
        clients[-1].settimeout(TIMEOUT_S)
        with suppress(ConnectionResetError):
            assert clients[-1].recv(1) == b""
        for client in clients:
            client.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0
        assert process.stderr is not None
        assert "limit of open files" in process.stderr.read()


@pytest.mark.slow
def test_connections_to_the_admin_port_leave_open_files_to_kafka_clients() -> None:
    limited = ("bash", "-c", 'ulimit -n 64; exec "$0" "$@"')
    with serving("--port", "0", "--admin-port", "0", before=limited) as (process, line):
        [address] = parse_first_line(line)
        assert process.stdout is not None
        url = process.stdout.readline().split("=")[1].strip()
        with urlopen(f"{url}/v1/clock", timeout=TIMEOUT_S) as response:
            assert response.status == 200
        port = urlsplit(url).port
        idle = [socket.create_connection(("127.0.0.1", port), TIMEOUT_S) for _ in range(120)]
        with suppress(ConnectionResetError):
            assert idle[-1].recv(1) == b""
        with socket.create_connection(address, TIMEOUT_S) as client:
            client.sendall(metadata_frame(1))
            assert client.recv(8)[4:] == (1).to_bytes(4, "big")
        for connection in idle:
            connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 0


@pytest.mark.slow
def test_an_admin_port_for_other_machines_without_a_token_logs_a_warning() -> None:
    for arguments, warns in ((), True), (("-o", "broker.admin.token=sesame"), False):
        admin = ("--admin-host", "0.0.0.0", "--admin-port", "0", *arguments)
        with serving("--port", "0", *admin) as (process, _):
            assert process.stdout is not None
            url = process.stdout.readline().split("=")[1].strip()
            with urlopen(f"{url}/healthz", timeout=TIMEOUT_S):
                pass
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=TIMEOUT_S)
        assert ("without a token" in errors) is warns


@pytest.mark.slow
def test_a_list_that_repeats_elements_logs_a_warning() -> None:
    for release, warns in ("4.1", False), ("4.2", True):
        settings = ("-o", f"broker.api.versions={release}", "-o", "broker.2.log.dirs=/a,/a")
        with serving("--port", "0", "--brokers", "2", *settings) as (process, _):
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=TIMEOUT_S)
        assert ("given=" in errors) is warns


@pytest.mark.slow
def test_contradictory_listeners_are_one_clear_line_and_status_1() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "broker", "serve", "-o", "listeners=OTHER://:0"],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert "OTHER" in line


async def test_ports_are_known_before_the_first_client_connects() -> None:
    options = ServeOptions("127.0.0.1", 0, 2, BrokerConfig.from_overrides({}))
    server = await start_server(options)
    ports = [broker.port for broker in server.cluster.brokers.values()]
    await server.stop()
    assert len(set(ports)) == 2
    assert all(port > 0 for port in ports)


async def test_who_starts_a_server_may_receive_the_bugs_of_its_handlers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_metadata(monkeypatch)
    bugs: list[tuple[str, int]] = []

    def report(error: BaseException, context: RequestContext) -> None:
        bugs.append((str(error), context.correlation_id))

    server = await start_server(ServeOptions("127.0.0.1", 0, 1, BrokerConfig()), report)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.cluster.brokers[1].port)
    writer.write(metadata_frame(7))
    assert await reader.read() == b""
    writer.close()
    await server.stop()
    assert bugs == [("boom", 7)]


def test_the_system_clock_is_in_milliseconds_since_1970() -> None:
    assert SystemClock().now_ms() > 1_700_000_000_000


@pytest.mark.slow
def test_fault_rules_apply_from_the_start_and_must_name_existing_brokers(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    path.write_text('[{"refuse_connection": true}]')
    with serving("--port", "0", "--faults", str(path)) as (_, line):
        [address] = parse_first_line(line)
        with socket.create_connection(address, timeout=5) as client:
            assert client.recv(1) == b""
    path.write_text('[{"broker": 2, "delay_ms": 1}]')
    with serving("--port", "0", "--faults", str(path)) as (process, line):
        _, log = process.communicate(timeout=TIMEOUT_S)
        assert (line, process.returncode) == ("", 1)
        assert "--faults: broker: there is no broker 2, only 1" in log


FIRST_RESPONSE = """
import asyncio, sys
from broker.__main__ import main
from broker.cli import build_parser, serve_options
from broker.serve import start_server

async def respond():
    server = await start_server(serve_options(build_parser().parse_args(["serve", "--port", "0"])))
    address = next(iter(server.cluster.brokers.values()))
    reader, writer = await asyncio.open_connection(address.host, address.port)
    writer.write(bytes.fromhex(sys.argv[1]))
    await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
    writer.close()
    await server.stop()

asyncio.run(respond())
print(*sys.modules)
"""


def test_the_garbage_collector_does_not_look_at_what_the_start_imports() -> None:
    program = "import broker.__main__, gc; print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def test_the_first_response_needs_no_groups_no_clients_and_no_other_handler() -> None:
    frame = metadata_frame(1)
    words = [sys.executable, "-c", FIRST_RESPONSE, frame.hex()]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    modules = set(done.stdout.split())
    assert {name for name in modules if name.startswith("broker.handlers.")} == {
        "broker.handlers.k03_metadata"
    }
    late = {
        "aiohttp.web",
        "broker.faults.actions",
        "broker.groups",
        "broker.http_admin",
        "broker.share_groups",
        "kafka.admin",
        "kafka.consumer",
        "kafka.producer",
        "kafka.record",
    }
    late |= {"lz4", "prometheus_client", "rich", "structlog", "zstandard"}
    late |= {"kafka.protocol.admin", "kafka.protocol.consumer", "kafka.protocol.producer"}
    assert not modules & late


async def test_re2_is_imported_after_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = Mock(side_effect=ImportError)
    monkeypatch.setattr(regular_expressions, "load", loaded)
    monkeypatch.setattr(serve, "IMPORT_DELAY_S", 0)
    monkeypatch.setattr(gc, "freeze", Mock())
    await serve.import_handlers()
    loaded.assert_called_once_with()
