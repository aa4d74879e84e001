import sys

import pytest

from atlas.adapter_process import LOG_BYTES_MAX, AdapterError, AdapterProcess

ECHO = """
import json, sys
print(json.dumps({"event": "ready", "version": sys.argv[1]}), flush=True)
for line in sys.stdin:
    command = json.loads(line)
    if command["command"] == "end":
        break
    print("not an event", flush=True)
    sys.stderr.write("x" * command.get("noise", 0))
    sys.stderr.flush()
    print(json.dumps({"event": "done", "n": command["n"]}), flush=True)
"""


def start(program: str, *arguments: str) -> AdapterProcess:
    return AdapterProcess((sys.executable, "-c", program, *arguments), {"ATLAS": "1"})


def test_commands_go_in_and_events_come_out() -> None:
    adapter = start(ECHO, "1.2")
    try:
        assert adapter.ready["version"] == "1.2"
        adapter.write({"n": 1, "command": "begin"})
        assert adapter.next_event(10) == {"event": "done", "n": 1}
        assert adapter.next_event(0) is None
        assert adapter.is_running
        assert not adapter.has_ended(0)
        assert adapter.exit_status is None
    finally:
        adapter.end()
    assert not adapter.is_running
    assert adapter.has_ended(0)
    assert adapter.exit_status == 0


def test_the_end_of_the_log_is_kept_with_lines_that_are_no_events() -> None:
    adapter = start(ECHO, "1")
    try:
        adapter.write({"n": 1, "command": "begin", "noise": 5 * LOG_BYTES_MAX})
        assert adapter.next_event(10) is not None
        assert len(adapter.log()) <= LOG_BYTES_MAX
        adapter.clear_log()
        adapter.write({"n": 2, "command": "begin"})
        assert adapter.next_event(10) is not None
        assert "not an event" in adapter.log()
    finally:
        adapter.kill()


def test_an_adapter_that_ends_gives_no_event() -> None:
    adapter = start(ECHO, "1")
    adapter.end()
    adapter.write({"n": 1, "command": "begin"})
    assert adapter.next_event(1) is None


@pytest.mark.parametrize(
    "program", ["raise SystemExit('no such library')", 'print(\'{"event": "other"}\')']
)
def test_an_adapter_that_is_not_ready_is_an_error(program: str) -> None:
    with pytest.raises(AdapterError, match="was not ready"):
        start(program)


def test_a_program_that_is_missing_is_an_error() -> None:
    with pytest.raises(AdapterError, match="/no/such/program can't be started"):
        AdapterProcess(("/no/such/program",))
