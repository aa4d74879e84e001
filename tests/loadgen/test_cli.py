"""Command line: errors before the load are one line, without delay."""

import signal
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Never

import pytest

from loadgen import cli, load_run
from loadgen.cli import main, run_to_exit_status
from loadgen.load_run import OwnBroker
from loadgen.options import parser_of
from mock_kafka import MockKafka


def no_broker(
    _brokers: int, _config: dict[str, str], _has_admin_port: bool, /
) -> AbstractContextManager[OwnBroker]:
    raise AssertionError("a target was given")


def no_session(*_arguments: object) -> Never:
    raise AssertionError("the run must fail before Spark starts")


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "load_session", no_session)


def error_line(capsys: pytest.CaptureFixture[str], out: Path, *arguments: str) -> str:
    assert main([*arguments, "--out", str(out)], no_broker) == 2
    [line] = capsys.readouterr().err.splitlines()
    return line


@pytest.fixture(autouse=True)
def _default_ctrl_c() -> Iterator[None]:
    """Handle Ctrl-C as a command does; in this process a Spark session of another test may do."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


def test_an_unreachable_target_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        target = f"127.0.0.1:{unused.getsockname()[1]}"
        line = error_line(capsys, tmp_path, "steady", "--bootstrap-server", target)
    assert line.startswith(f"mock-kafka load: {target}: cannot connect to 127.0.0.1:")


def test_wrong_credentials_are_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "duration_s: 600\ntopics: [{name: t}]\ntenants: [{name: shop, behaviour: steady, rate: 1,"
        " topic: t, user: alice, password: wrong}]\n"
    )
    config: dict[str, str | int] = {
        "listeners": "SASL_PLAINTEXT://:0",
        "sasl.users": "alice:right",
        "connection.failed.authentication.delay.ms": 0,
    }
    with MockKafka(config=config) as kafka:
        servers = kafka.bootstrap_servers
        line = error_line(capsys, tmp_path, str(plan), "--bootstrap-server", servers)
    assert line.startswith("mock-kafka load: tenant shop: ")
    assert "Authentication failed" in line


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("steady", "--rate-scale", "0"), "--rate-scale and --duration must be greater than 0"),
        (("steady", "--rate-scale", "1e9"), "events are more than 4294967295"),
        (
            ("steady", "--workers", "3"),
            "3 workers need 3 free Spark slots at the same time, and there are 2",
        ),
        (("steady", "--workers", "99", "--master", "spark://x:1"), "99 workers for 24 clients"),
        (("steady", "--bootstrap-server", "x:y"), "'x:y' is not HOST:PORT"),
    ],
)
def test_invalid_options_are_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    assert expected in error_line(capsys, tmp_path, *arguments)


def test_a_missing_option_is_a_usage_error() -> None:
    with pytest.raises(SystemExit):
        parser_of("x").parse_args(["steady"])


def test_ctrl_c_and_sigterm_before_the_load_end_the_command_with_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[str] = []

    class FakeBroker:
        bootstrap_servers = "x:1"
        admin_url = "http://x:2"
        pid = 0

        def __enter__(self) -> "FakeBroker":
            return self

        def __exit__(self, *_exception: object) -> None:
            stopped.append("broker")

    previous = signal.getsignal(signal.SIGTERM)
    for number in (signal.SIGINT, signal.SIGTERM):

        def interrupted(*_arguments: object, number: int = number, **_options: object) -> Never:
            signal.raise_signal(number)
            raise AssertionError("the signal did not interrupt")

        monkeypatch.setattr(load_run, "prepare", interrupted)
        assert main(["steady", "--out", str(tmp_path)], lambda *_: FakeBroker()) == 130
        assert signal.getsignal(signal.SIGTERM) is previous
    assert capsys.readouterr().err == "mock-kafka load: interrupted\n" * 2
    assert stopped == ["broker"] * 2


def test_an_error_that_follows_from_an_interrupt_is_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted_twice() -> Never:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            raise OSError("the connection to the JVM is broken")

    assert run_to_exit_status(interrupted_twice) == 130
    assert capsys.readouterr().err == "mock-kafka load: interrupted\n"


def test_other_errors_are_raised() -> None:
    def broken() -> Never:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_to_exit_status(broken)
