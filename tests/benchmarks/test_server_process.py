"""The command lines of servers under test."""

from benchmarks.server_process import command, with_options


def test_further_options_are_those_of_our_broker_only() -> None:
    with with_options("a=1"), with_options("b=2"):
        assert command("ours", options=["c=3"])[-6:] == ["-o", "c=3", "-o", "a=1", "-o", "b=2"]
        assert "a=1" not in command("rdmock")
    assert command("ours")[-2:] == ["--brokers", "1"]
