"""The command line without serving: help, and errors before a port is bound."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509

from broker.cli import build_parser, main, serve_options
from broker.option_files import read_config


def one_error_line(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1, captured.err
    return lines[0]


def help_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as exit_info:
        main([*arguments, "--help"])
    assert exit_info.value.code == 0
    return capsys.readouterr().out


def test_certificates_are_written_and_the_settings_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certs", "--out", str(tmp_path / "new"), "--client", "alice"]) == 0
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        "ca.pem",
        "server.pem",
        "client-alice.pem",
    }
    assert "ssl.keystore.location=" in capsys.readouterr().out


def test_a_folder_that_cannot_be_created_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main(["certs", "--out", str(tmp_path / "file" / "below")]) == 1
    assert "cannot write" in capsys.readouterr().err


def test_certificates_may_have_expired(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certs", "--out", str(tmp_path), "--days", "-1"]) == 0
    certificate = x509.load_pem_x509_certificate((tmp_path / "server.pem").read_bytes())
    assert certificate.not_valid_after_utc < datetime.now(UTC)
    assert "ssl.keystore.location=" in capsys.readouterr().out


def test_an_invalid_host_is_an_error_of_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certs", "--out", str(tmp_path), "--host", "schloß.example"]) == 1
    assert "schloß.example" in one_error_line(capsys)
    assert not list(tmp_path.iterdir())


def test_help_shows_the_subcommand_and_an_example_of_each_way_to_configure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = help_of(capsys)
    assert "serve" in text
    assert "-o num.partitions=6" in text
    assert "--config server.properties" in text


def test_help_of_serve_names_every_option_its_defaults_and_the_exit_statuses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = help_of(capsys, "serve")
    for option in ("--host", "--port", "--brokers", "--config", "-o", "--log-level"):
        assert option in text
    for fact in ("127.0.0.1", "9092", "bootstrap.servers=", "Exit status", "advertised.listeners"):
        assert fact in text
    for fact in ("KIP-758", "kafkajs", "-o producer.state.batches=5"):
        assert fact in text


def test_no_subcommand_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main([])
    assert exit_info.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--port", "65536"],
        ["--port", "-1"],
        ["--port", "nine"],
        ["--host", ""],
        ["--host", "[]"],
        ["--brokers", "0"],
        ["--brokers", "101"],
        ["--log-level", "loud"],
        ["--log-format", "xml"],
    ],
)
def test_an_argument_out_of_range_is_a_usage_error(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["serve", *arguments])
    assert exit_info.value.code == 2
    message = capsys.readouterr().err
    assert arguments[0] in message
    assert "_" not in message, "a name of the code's"


@pytest.mark.parametrize("arguments", [["--prot", "1"], ["--prot=1"]])
def test_an_unknown_option_shows_the_usage_of_its_command_and_the_nearest_option(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["serve", *arguments])
    assert exit_info.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith("usage: mock-kafka serve ")
    assert message.endswith("did you mean --port?\n")


def test_a_file_that_is_missing_is_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--config", "/none.properties"]) == 1
    assert one_error_line(capsys).endswith(
        "cannot read /none.properties: No such file or directory"
    )


def test_the_defaults_of_serve_are_one_local_broker_on_kafkas_port() -> None:
    parsed = build_parser().parse_args(["serve"])
    assert (parsed.host, parsed.port, parsed.brokers) == ("127.0.0.1", 9092, 1)
    assert (parsed.log_level, parsed.log_format, parsed.overrides) == ("info", "console", [])


@pytest.mark.parametrize("option", ["--host", "--advertised-host", "--admin-host"])
def test_an_ipv6_address_may_be_in_brackets(option: str) -> None:
    parsed = build_parser().parse_args(["serve", option, "[::1]"])
    assert getattr(parsed, option.removeprefix("--").replace("-", "_")) == "::1"


def test_an_unknown_key_is_one_line_with_the_key_and_the_nearest_known_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", "-o", "num.partitons=3"]) == 1
    line = one_error_line(capsys)
    assert "num.partitons" in line
    assert "num.partitions" in line


def test_a_bad_value_is_one_line_with_the_key_and_the_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", "-o", "num.partitions=three"]) == 1
    line = one_error_line(capsys)
    assert "num.partitions" in line
    assert "three" in line


def test_a_value_out_of_range_is_one_line_with_the_key(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "-o", "num.partitions=0"]) == 1
    assert "num.partitions" in one_error_line(capsys)


@pytest.mark.parametrize("text", ["num.partitions", "=3", ""])
def test_an_override_without_a_key_or_value_is_one_line_that_shows_the_form(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "-o", text]) == 1
    assert "KEY=VALUE" in one_error_line(capsys)


def test_a_missing_file_is_one_line_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nowhere.properties"
    assert main(["serve", "--config", str(path)]) == 1
    assert str(path) in one_error_line(capsys)


def test_a_file_with_an_unknown_key_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "server.properties"
    path.write_text("num.partitons=3\n")
    assert main(["serve", "--config", str(path)]) == 1
    assert "num.partitons" in one_error_line(capsys)


@pytest.mark.parametrize(
    "word",
    [
        "background.threads=10",
        "log.cleaner.threads=1",
        "num.replica.fetchers=1",
        "queued.max.requests=500",
        "replica.fetch.max.bytes=1048576",
        "replica.lag.time.max.ms=30000",
        "sasl.mechanism.inter.broker.protocol=PLAIN",
        "security.inter.broker.protocol=SASL_PLAINTEXT",
    ],
)
def test_common_keys_of_real_brokers_are_accepted(word: str) -> None:
    key, _, text = word.partition("=")
    assert str(read_config(None, [word])[key]) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"apj": "Produce"}]', "rule 1: apj: there is no such field; did you mean api?"),
        ("[{", "Expecting property name"),
        ("{}", "the rule does nothing: it needs one of error"),
        ("3", "a rule is an object, not int"),
        ('[{"api": "Heartbeat", "partition": 1, "delay_ms": 1}]', "rule 1: partition: Heartbeat"),
    ],
)
def test_an_invalid_file_of_fault_rules_is_an_error_that_names_the_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    path = tmp_path / "faults.json"
    path.write_text(text)
    assert main(["serve", "--port", "0", "--faults", str(path)]) == 1
    line = one_error_line(capsys)
    assert reason in line
    assert str(path) in line
    assert main(["serve", "--port", "0", "--faults", str(tmp_path / "none.json")]) == 1
    assert "cannot read" in one_error_line(capsys)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"topics": [{"name": "a", "partitons": [{}]}]}', "topics[0]: Object contains unknown"),
        ('{"faults": [{"apj": "Produce"}]}', "faults: rule 1: apj: there is no such field"),
        ('{"topics": [{"name": "a b", "partitions": [{}]}]}', "topics: a b: INVALID_TOPIC_EXC"),
        ('{"faults": [{"broker": 2, "delay_ms": 1}]}', "faults: broker: there is no broker 2"),
        ('{"topics": ', "invalid JSON"),
    ],
)
def test_a_snapshot_that_cannot_be_loaded_is_one_line_that_names_its_file_and_the_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    path = tmp_path / "setup.json"
    path.write_text(text)
    assert main(["serve", "--port", "0", "--snapshot", str(path)]) == 1
    assert f"mock-kafka: {path}: {reason}" in one_error_line(capsys)


def test_a_recording_decides_what_the_command_line_leaves_open(tmp_path: Path) -> None:
    path = tmp_path / "world.mk"
    path.write_text('{"cluster": {"brokers": [{"node_id": 4}, {"node_id": 5}], "release": "3.9"}}')
    properties = tmp_path / "server.properties"
    properties.write_text("broker.api.versions=4.0\n")

    def found(*arguments: str) -> tuple[int, int, tuple[str, ...]]:
        parsed = build_parser().parse_args(["serve", "--snapshot", str(path), *arguments])
        options = serve_options(parsed)
        config = options.config
        return options.broker_count, config.first_node_id, config["broker.api.versions"]

    assert found() == (2, 4, ("3.9",))
    assert found("--brokers", "3", "--first-node-id", "1") == (3, 1, ("3.9",))
    assert found("--config", str(properties)) == (2, 4, ("4.0",))
    assert found("-o", "broker.api.versions=4.1") == (2, 4, ("4.1",))


def test_the_first_node_id_is_the_key_node_id() -> None:
    parsed = build_parser().parse_args(["serve", "--first-node-id", "0", "--brokers", "3"])

    options = serve_options(parsed)

    assert options.config.first_node_id == 0
    assert options.config.overrides == {"node.id": "0"}


@pytest.mark.parametrize("text", ["-1", "x", "1000001", ""])
def test_a_node_id_is_a_number_of_a_broker(text: str) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["serve", f"--first-node-id={text}"])
