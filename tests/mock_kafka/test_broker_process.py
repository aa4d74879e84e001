"""The process of a broker, from its first line of output to its exit status."""

import pytest

from mock_kafka.broker_process import BrokerProcess, StartError


@pytest.mark.slow
def test_the_process_serves_after_construction_and_is_gone_after_end() -> None:
    process = BrokerProcess(["serve", "--port", "0", "--brokers", "2"], 20)
    assert process.poll() is None
    assert len(process.bootstrap_servers.split(",")) == 2

    assert process.end(20) == 0
    assert process.poll() == 0


@pytest.mark.slow
def test_an_unexpected_first_line_is_a_start_error() -> None:
    with pytest.raises(StartError, match="after 'mock-kafka "):
        BrokerProcess(["--version"], 20)


@pytest.mark.slow
def test_a_process_without_output_is_a_start_error_with_its_log() -> None:
    with pytest.raises(StartError, match=r"exit status 2(.|\n)*invalid choice"):
        BrokerProcess(["no-such-command"], 20)


@pytest.mark.slow
def test_a_refused_argument_is_a_start_error_without_the_usage_of_the_command() -> None:
    with pytest.raises(StartError, match="'0' is not a number from 1 to 100") as raised:
        BrokerProcess(["serve", "--brokers", "0"], 20)
    assert "usage" not in str(raised.value)
