"""A broker's process from its first line to its exit status."""

import pytest

from mock_kafka.broker_process import BrokerProcess, StartError


def test_it_is_up_when_it_is_constructed_and_gone_when_it_was_ended() -> None:
    process = BrokerProcess(["serve", "--port", "0", "--brokers", "2"], 20)
    assert process.poll() is None
    assert len(process.bootstrap_servers.split(",")) == 2

    assert process.end(20) == 0
    assert process.poll() == 0


def test_a_first_line_that_says_something_else_is_a_start_error() -> None:
    with pytest.raises(StartError, match="after 'mock-kafka "):
        BrokerProcess(["--version"], 20)


def test_a_process_that_ends_without_a_word_is_a_start_error_with_its_log() -> None:
    with pytest.raises(StartError, match=r"exit status 2(.|\n)*invalid choice"):
        BrokerProcess(["no-such-command"], 20)
