import pytest

from atlas import cli
from atlas.clients import CLIENTS


def test_the_list_has_clients_and_situations(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list", "KIP-091-*"]) == 0
    output = capsys.readouterr().out
    assert all(f"  {name} " in output for name in CLIENTS)
    assert "  KIP-091-1 " in output
    assert "PRODUCE-" not in output


def test_unknown_names_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["try", "librdkafka", "KIP-091-1"]) == cli.USAGE_ERROR
    assert "no client 'librdkafka'; known: kafka-python, " in capsys.readouterr().err
    assert cli.main(["try", "kafka-python", "KIP-091-1000"]) == 1
    assert "no situation has the id 'KIP-091-1000'" in capsys.readouterr().err
    assert cli.main([]) == cli.USAGE_ERROR


@pytest.mark.interop
def test_one_experiment_is_run_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["try", "kafka-python", "PRODUCE-LOST-1", "--repeat", "2", "--log"]) == 0
    output = capsys.readouterr().out
    assert output.count("cell      as_expected") == 2
    assert "[#1 drop before_" in output
    assert "kafka.producer.kafka" in output
