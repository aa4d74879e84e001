"""Connection options of all tools, and their errors of one line."""

from argparse import Namespace
from pathlib import Path

import pytest

from client.addresses import addresses_of
from client.errors import ApiError, ClientError, ThrottlingQuotaExceededError
from client.resources import Address
from client.tools.session import (
    ToolError,
    admin_of,
    exit_status,
    one_line,
    read_properties,
    tool_parser,
)


def addresses(text: str) -> list[Address]:
    parser = tool_parser("any", "", "")
    return addresses_of(parser.parse_args(["--bootstrap-server", text]).bootstrap_server)


def arguments(path: Path) -> Namespace:
    """Return the arguments of a tool with this properties file."""
    return Namespace(bootstrap_server="h:1", command_config=path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h:1", [("h", 1)]),
        ("h", [("h", 9092)]),
        ("a:1, b:2", [("a", 1), ("b", 2)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[::1]", [("::1", 9092)]),
    ],
)
def test_servers_are_hosts_with_ports(text: str, expected: list[tuple[str, int]]) -> None:
    assert addresses(text) == expected


@pytest.mark.parametrize("text", ["", "h:x", "h:70000", "a:1,,b:2"])
def test_anything_else_is_a_usage_error(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        addresses(text)
    assert exit_info.value.code == 2
    assert "HOST:PORT" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ToolError("no"), "Oops: no\n"),
        (ApiError(36, "two\nlines"), "Oops: two lines\n"),
        (
            ThrottlingQuotaExceededError(12_000),
            "Oops: The throttling quota has been exceeded. (throttle_time_ms=12000)\n",
        ),
    ],
)
def test_an_error_is_one_line_and_status_1(
    error: Exception, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    assert exit_status(fail, "Oops: ") == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", line)


def test_a_refusal_without_a_throttle_time_prints_0() -> None:
    assert one_line(ThrottlingQuotaExceededError(0)).endswith("(throttle_time_ms=0)")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("request.timeout.ms=soon", "request.timeout.ms"),
        ("security.protocol=TLS", "SASL_SSL"),
        ("bad=\\u00zz", "line 1"),
    ],
)
def test_an_invalid_properties_file_is_refused_before_a_request_is_sent(
    text: str, word: str, tmp_path: Path
) -> None:
    path = tmp_path / "client.properties"
    path.write_text(text)
    with (
        pytest.raises((ToolError, ClientError), match=word),
        admin_of(arguments(path)),
    ):
        pass


def test_a_password_may_come_from_an_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALICE_PASSWORD", "secret")
    monkeypatch.delenv("NOBODY", raising=False)
    path = tmp_path / "client.properties"
    path.write_text("sasl.password=${env:ALICE_PASSWORD}\nclient.id=me\n")
    assert read_properties(path) == {"sasl.password": "secret", "client.id": "me"}
    path.write_text("sasl.password=${env:NOBODY}\n")
    with pytest.raises(ToolError, match=r"client.properties: sasl.password=\$\{env:NOBODY\}"):
        read_properties(path)


def test_a_missing_properties_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.properties"
    with pytest.raises(ToolError, match=r"none\.properties"), admin_of(arguments(path)):
        pass


def test_a_missing_file_of_properties_is_named_once() -> None:
    with pytest.raises(ToolError) as raised:
        read_properties(Path("/none"))
    assert str(raised.value) == "cannot read /none: No such file or directory"
