"""MockKafka as its users see it."""

import asyncio
import gc
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from broker.clock import SystemClock
from broker.server.certificates import write_certificates
from mock_kafka import ControlError, MockKafka, StartError
from mock_kafka.control import Control
from tests.free_ports import free_port_run
from tests.mock_kafka.sockets import can_connect


def await_end(pid: int) -> None:
    """Wait until a process that is not our child has ended."""
    descriptor = os.pidfd_open(pid)
    try:
        assert select.select([descriptor], [], [], 10)[0], f"process {pid} still runs"
    finally:
        os.close(descriptor)


@pytest.mark.slow
def test_each_listener_has_its_own_addresses() -> None:
    config = {"listeners": "PLAINTEXT://:0,SASL_PLAINTEXT://:0", "sasl.users": "alice:secret"}
    with MockKafka(brokers=2, config=config) as kafka:
        servers = kafka.bootstrap_servers_of("SASL_PLAINTEXT").split(",")
        assert len({*kafka.bootstrap_servers_list, *servers}) == 4
        assert kafka.bootstrap_servers_of("PLAINTEXT") == kafka.bootstrap_servers
        reason = (
            "there is no listener 'SASL_PLAINTXT'; did you mean SASL_PLAINTEXT?; listeners are: PL"
        )
        with pytest.raises(KeyError, match=re.escape(reason)):
            kafka.bootstrap_servers_of("SASL_PLAINTXT")
        with pytest.raises(KeyError, match="there is no listener 9; listeners are: PLAINTEXT, "):
            kafka.bootstrap_servers_of(9)  # type: ignore[arg-type]


def test_a_with_block_starts_a_cluster_and_stops_it_at_its_end() -> None:
    with MockKafka() as kafka:
        address = kafka.bootstrap_servers
        assert can_connect(address)
        assert kafka.is_running
    assert not can_connect(address)
    assert not kafka.is_running


async def test_an_async_with_block_starts_and_stops_a_cluster() -> None:
    async with MockKafka() as kafka:
        servers = kafka.bootstrap_servers
        assert await asyncio.to_thread(can_connect, servers)
    assert not can_connect(servers)


@pytest.mark.slow
def test_every_broker_has_an_address() -> None:
    with MockKafka(brokers=3) as kafka:
        addresses = kafka.bootstrap_servers_list
        assert len(set(addresses)) == 3
        assert kafka.bootstrap_servers == ",".join(addresses)
        assert all(can_connect(address) for address in addresses)


@pytest.mark.slow
def test_a_cluster_can_be_started_again_after_stop() -> None:
    kafka = MockKafka()
    assert kafka.start() is kafka
    with pytest.raises(RuntimeError, match="started already"):
        kafka.start()
    kafka.stop()
    kafka.stop()
    kafka.start()
    assert can_connect(kafka.bootstrap_servers)
    kafka.stop()


def test_without_an_admin_port_methods_raise() -> None:
    with (
        MockKafka(admin_port=None) as kafka,
        pytest.raises(RuntimeError, match="remove admin_port=None"),
    ):
        kafka.topics()
    with pytest.raises(RuntimeError, match="not running"):
        MockKafka().topics()


def test_addresses_of_a_stopped_cluster_raise() -> None:
    kafka = MockKafka()
    with pytest.raises(RuntimeError, match="not running"):
        _ = kafka.bootstrap_servers
    with pytest.raises(RuntimeError, match="not running"):
        _ = kafka.pid


def test_an_unknown_key_is_a_start_error_with_the_brokers_message() -> None:
    with pytest.raises(StartError, match=r"num\.partition\b.*num\.partitions"):
        MockKafka(config={"num.partition": 3}).start()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "value"),
    [("num.partitions", 3), ("num.partitions", "3"), ("auto.create.topics.enable", False)],
)
def test_values_may_be_strings_numbers_and_booleans(key: str, value: str | int | bool) -> None:
    with MockKafka(config={key: value}) as kafka:
        assert kafka.is_running


@pytest.mark.slow
@pytest.mark.parametrize("in_process", [False, True])
def test_certificates_are_made_for_tls_and_deleted_at_the_stop(in_process: bool) -> None:
    kafka = MockKafka(tls=True, in_process=in_process)
    with kafka:
        path = Path(kafka.ca_path)
        assert path.read_text().startswith("-----BEGIN CERTIFICATE-----")
        kafka.reset(ports="new")
        assert kafka.ca_path == str(path)
    assert not path.parent.exists()
    with pytest.raises(RuntimeError, match="not running"):
        _ = kafka.ca_path


@pytest.mark.slow
def test_certificates_of_the_configuration_are_used_for_tls(tmp_path: Path) -> None:
    write_certificates(tmp_path, ["localhost"], [], SystemClock().now_ms())
    config = {"ssl.keystore.location": str(tmp_path / "server.pem")}
    with MockKafka(tls=True, config=config) as kafka:
        assert "ssl.ca.location" not in kafka.client_settings("confluent")
        with pytest.raises(RuntimeError, match=r"without ssl\.keystore\.location"):
            _ = kafka.ca_path
    with MockKafka() as kafka, pytest.raises(RuntimeError, match=r"MockKafka\(tls=True\)"):
        _ = kafka.ca_path


def test_users_are_given_once() -> None:
    with pytest.raises(ValueError, match=r"twice: remove users=, or sasl\.users of config"):
        MockKafka(users={"a": "b"}, config={"sasl.users": "a:b"})


def test_ports_that_are_fixed_cannot_be_new() -> None:
    with MockKafka(port=free_port_run(1)) as kafka:
        address = kafka.bootstrap_servers
        kafka.create_topic("orders")
        with pytest.raises(ControlError, match="new ports need listeners with port 0"):
            kafka.reset(ports="new")
        assert kafka.bootstrap_servers == address
        assert len(kafka.topics()) == 1


def test_passwords_are_in_no_command_line() -> None:
    config = {"listeners": "SASL_PLAINTEXT://:0", "sasl.users": "alice:hunter2"}
    with MockKafka(config=config) as kafka:
        arguments = Path(f"/proc/{kafka.pid}/cmdline").read_text().split("\0")
        config_path = Path(arguments[arguments.index("--config") + 1])
        assert not config_path.parent.exists()
        assert not [argument for argument in arguments if "hunter2" in argument]


def test_a_bad_value_is_a_start_error() -> None:
    with pytest.raises(StartError, match=r"auto\.create\.topics\.enable"):
        MockKafka(config={"auto.create.topics.enable": "perhaps"}).start()


def test_a_port_in_use_is_a_start_error_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match=f"127.0.0.1:{port}"):
            MockKafka(port=port).start()


def test_log_lines_are_available_after_stop() -> None:
    with MockKafka(log_level="debug") as kafka:
        host, _, port = kafka.bootstrap_servers.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=5) as client:
            client.sendall(b"\xff\xff\xff\xff")  # a frame of negative length
            assert client.recv(1) == b""
    assert any("127.0.0.1" in line for line in kafka.log_lines())


def test_stop_cleans_up_a_broker_that_was_killed() -> None:
    with MockKafka() as kafka:
        os.kill(kafka.pid, signal.SIGKILL)
        await_end(kafka.pid)
        assert not kafka.is_running


@pytest.mark.slow
def test_a_stopped_cluster_leaves_no_process_and_no_open_pipe() -> None:
    gc.collect()  # objects of other tests
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with MockKafka() as kafka:
            pid = kafka.pid
        del kafka
        gc.collect()
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["broker", "protocol", "quotas", "json"])
def test_a_module_of_the_user_with_the_same_name_does_not_run(tmp_path: Path, name: str) -> None:
    """The module is in the current folder, beside the script, and on PYTHONPATH."""
    program = tmp_path / "program.py"
    program.write_text("""
from mock_kafka import MockKafka
with MockKafka() as kafka:
    print(kafka.create_topic("orders").name)
""")
    trap = tmp_path / ("trap" if name == "json" else "")
    trap.mkdir(exist_ok=True)
    (trap / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=trap,
        env={**os.environ, "PYTHONPATH": "" if name == "json" else str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "orders\n"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["pass", "import os; os.kill(os.getpid(), 9)", "1 / 0"])
def test_a_program_that_does_not_call_stop_or_is_killed_leaves_no_broker(ending: str) -> None:
    program = f"""
from mock_kafka import MockKafka
kafka = MockKafka().start()
print(kafka.pid, flush=True)
input()
{ending}
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as user:
        assert user.stdin is not None
        assert user.stdout is not None
        broker_pid = int(user.stdout.readline())
        descriptor = os.pidfd_open(broker_pid)
        user.communicate("\n", timeout=30)
    try:
        assert select.select([descriptor], [], [], 10)[0], "the broker still runs"
    finally:
        os.close(descriptor)


RULES: list[dict[str, Any]] = [
    {"api": "Produce", "topic": "orders", "drop": "before_response", "times": 1},
    {"api": "Metadata", "delay_ms": 20, "jitter_ms": 10, "seed": 7},
    {"broker": 1, "refuse_connection": True, "nth": 99},
]


@pytest.fixture
def rules_path(tmp_path: Path) -> Path:
    path = tmp_path / "faults.json"
    path.write_text(json.dumps(RULES))
    return path


def listed(kafka: MockKafka) -> list[object]:
    return [dict(fault.rule) for fault in kafka.faults()]


@pytest.mark.slow
def test_a_rules_file_has_the_same_effect_through_every_interface(rules_path: Path) -> None:
    program = "import sys; from mock_kafka.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "serve", "--port", "0", "--admin-port", "0"]
    command += ["--faults", str(rules_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        _bootstrap, admin = process.stdout.readline(), process.stdout.readline()
        control = Control(admin.partition("=")[2].strip())
        by_command_line = [fault["rule"] for fault in control.ask("GET", "/v1/faults")]
        control.close()
        process.terminate()
    assert by_command_line == RULES

    with MockKafka() as kafka:
        request = Request(f"{kafka.admin_url}/v1/faults", rules_path.read_bytes(), method="POST")
        with urlopen(request, timeout=10) as response:
            added = json.load(response)
        assert [fault["rule"] for fault in added] == listed(kafka) == RULES
        kafka.reset()
        assert [fault.id for fault in kafka.add_faults(rules_path)] == [1, 2, 3]
        assert listed(kafka) == RULES
        kafka.reset()

        async def add() -> None:
            await kafka.aio.add_faults(RULES)

        asyncio.run(add())
        assert listed(kafka) == RULES
        with pytest.raises(ControlError, match=r"rule 2: tpoic: .* did you mean topic"):
            kafka.add_faults([RULES[0], {"tpoic": "t", "delay_ms": 1}])
        assert len(kafka.faults()) == len(RULES)


@pytest.mark.slow
@pytest.mark.parametrize("in_process", [False, True])
def test_reset_restores_the_rules_of_the_start(rules_path: Path, in_process: bool) -> None:
    for faults in (rules_path, str(rules_path), RULES):
        with MockKafka(faults=faults, in_process=in_process) as kafka:
            assert listed(kafka) == RULES
            kafka.clear_faults()
            kafka.reset()
            assert listed(kafka) == RULES


@pytest.mark.slow
@pytest.mark.parametrize("in_process", [False, True])
def test_an_invalid_rule_is_a_start_error_of_one_line_with_its_number(in_process: bool) -> None:
    for faults in ([{"drop": "x"}], [{"delay_ms": 1}, {"delay_ms": 1, "broker": 7}]):
        with pytest.raises(StartError, match=r"rule \d: (drop: must be one of|broker: there is)"):
            MockKafka(faults=faults, in_process=in_process).start()
