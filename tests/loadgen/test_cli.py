"""From the command line: what can't begin ends in one line, at once."""

import signal
import socket
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Never, cast

import pytest
from rich.console import Console

from loadgen import cli
from loadgen.cli import OwnBroker, main, main_of_job, parser_of
from loadgen.progress import Standing
from mock_kafka import MockKafka


def no_broker(
    _brokers: int, _config: dict[str, str], _has_admin_port: bool, /
) -> AbstractContextManager[OwnBroker]:
    raise AssertionError("a target was given")


def no_session(*_arguments: object) -> Never:
    raise AssertionError("it can't get so far")


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "load_session", no_session)


def told(capsys: pytest.CaptureFixture[str], out: Path, *arguments: str) -> str:
    assert main([*arguments, "--out", str(out)], no_broker) == 2
    [line] = capsys.readouterr().err.splitlines()
    return line


def test_a_target_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        target = f"127.0.0.1:{taken.getsockname()[1]}"
        line = told(capsys, tmp_path, "steady", "--bootstrap-server", target)
    assert line.startswith(f"mock-kafka load: {target}: cannot connect to 127.0.0.1:")


def test_wrong_credentials(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
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
        line = told(capsys, tmp_path, str(plan), "--bootstrap-server", kafka.bootstrap_servers)
    assert line.startswith("mock-kafka load: tenant shop: ")
    assert "Authentication failed" in line


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (("steady", "--rate-scale", "0"), "--rate-scale and --duration are above 0"),
        (("steady", "--rate-scale", "1e9"), "events are more than 10000000: run it in steps"),
        (
            ("steady", "--workers", "3"),
            "3 workers need as many free slots at once, and there are 2",
        ),
        (("steady", "--workers", "99", "--master", "spark://x:1"), "99 workers for 24 clients"),
        (("steady", "--bootstrap-server", "x:y"), "'x:y' is not HOST:PORT"),
    ],
)
def test_what_can_not_be_done(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: tuple[str, ...], wanted: str
) -> None:
    assert wanted in told(capsys, tmp_path, *arguments)


def test_below_spark_submit_a_target_is_needed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main_of_job(["steady", "--out", str(tmp_path)]) == 2
    assert "--bootstrap-server" in capsys.readouterr().err


def test_an_unknown_option_is_a_usage_error() -> None:
    with pytest.raises(SystemExit):
        parser_of("x").parse_args(["steady"])


def test_the_first_ctrl_c_has_the_workers_stop_and_the_second_is_as_always() -> None:
    told: list[str] = []

    class Listener:
        standing = Standing({0: {}})

        def stop_workers(self) -> None:
            told.append("stop")

    usual = signal.getsignal(signal.SIGINT)
    with cli._stopping_by_ctrl_c(cast("Any", Listener()), Console(quiet=True)):
        signal.raise_signal(signal.SIGINT)
        assert told == ["stop"]
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is usual


def test_the_first_ctrl_c_is_as_always_while_nothing_was_sent() -> None:
    class Listener:
        standing = Standing()

    with (
        cli._stopping_by_ctrl_c(cast("Any", Listener()), Console(quiet=True)),
        pytest.raises(KeyboardInterrupt),
    ):
        signal.raise_signal(signal.SIGINT)


def test_a_ctrl_c_and_sigterm_before_the_load_end_the_command_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []

    class OwnBroker:
        bootstrap_servers = "x:1"
        admin_url = "http://x:2"
        pid = 0

        def __enter__(self) -> "OwnBroker":
            return self

        def __exit__(self, *_exception: object) -> None:
            ended.append("broker")

    usual = signal.getsignal(signal.SIGTERM)
    for number in (signal.SIGINT, signal.SIGTERM):

        def interrupted(*_arguments: object, number: int = number, **_more: object) -> Never:
            signal.raise_signal(number)
            raise AssertionError("that was a signal")

        monkeypatch.setattr(cli, "prepare", interrupted)
        assert main(["steady", "--out", str(tmp_path)], lambda *_: OwnBroker()) == 130
        assert signal.getsignal(signal.SIGTERM) is usual
    assert capsys.readouterr().err == "mock-kafka load: interrupted\n" * 2
    assert ended == ["broker"] * 2
