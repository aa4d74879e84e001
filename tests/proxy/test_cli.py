from pathlib import Path

import pytest

from broker.addresses import Address
from broker.config.keys import ConfigError
from proxy.cli import build_parser, main, read_client_properties


def test_the_addresses_of_the_cluster_may_be_several() -> None:
    parsed = build_parser().parse_args(["--to", "kafka:9092,[::1]:9093"])
    assert parsed.to == (Address("kafka", 9092), Address("::1", 9093))
    assert (parsed.port, parsed.host) == (9092, "127.0.0.1")


def test_variables_are_defaults_of_the_options() -> None:
    parsed = build_parser({"MOCK_KAFKA_ADMIN_PORT": "7"}).parse_args(["--to", "kafka"])
    assert (parsed.admin_port, parsed.to) == (7, (Address("kafka", 9092),))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "--to"),
        (["--to", "kafka:x"], "'kafka:x' is not HOST:PORT"),
        (["--to", "kafka", "--brokerz"], "unrecognized arguments: --brokerz"),
        (["--to", "kafka", "--tsl"], "did you mean --tls?"),
    ],
)
def test_wrong_arguments_are_usage_errors(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    assert exited.value.code == 2
    assert reason in capsys.readouterr().err


def test_an_error_of_the_start_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("security.protocol=TLS", "sasl.password=${env:NOT_THERE}"):
        path = tmp_path / "client.properties"
        path.write_text(text)
        assert main(["--to", "kafka", "--to-config", str(path)]) == 1
        assert capsys.readouterr().err.count("\n") == 1
    assert main(["--to", "kafka", "-o", "no.such.key=1"]) == 1
    assert "no.such.key" in capsys.readouterr().err


def test_properties_of_a_client_are_read_with_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "client.properties"
    path.write_text("sasl.username=alice\nsasl.password=${env:PASSWORD}\n")
    monkeypatch.setenv("PASSWORD", "secret")
    assert read_client_properties(path) == {"sasl.username": "alice", "sasl.password": "secret"}
    assert read_client_properties(None) == {}
    with pytest.raises(ConfigError, match=r"cannot read .*missing"):
        read_client_properties(tmp_path / "missing")
