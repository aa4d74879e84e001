"""Log lines reach a reader, and a reader that does not read blocks nothing."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.server.log_output import NonBlockingOutput


@pytest.fixture
def pipe() -> Iterator[tuple[int, NonBlockingOutput]]:
    reader, writer = os.pipe()
    yield reader, NonBlockingOutput(writer)
    os.close(writer)


def test_a_line_is_written_when_it_is_complete(pipe: tuple[int, NonBlockingOutput]) -> None:
    reader, output = pipe
    output.write("a li")
    output.write("ne\nthe next")
    output.flush()
    assert os.read(reader, 1000) == b"a line\n"
    output.write("\n")
    assert os.read(reader, 1000) == b"the next\n"
    os.close(reader)


def test_lines_for_a_full_pipe_are_dropped_and_counted(
    pipe: tuple[int, NonBlockingOutput],
) -> None:
    reader, output = pipe
    line = "x" * 999
    for _ in range(1_000):  # a pipe holds 64 KiB
        output.write(f"{line}\n")
    dropped = output.dropped_lines
    assert 900 < dropped < 1_000
    received = b""
    while not received.endswith(b"now\n"):
        if received:
            output.write("now\n")
        received += os.read(reader, 1_000_000)
    lines = received.decode().splitlines()
    assert lines.count(line) == 1_000 - dropped
    assert lines[-2:] == [f"{dropped} log lines dropped: nobody read them", "now"]
    os.close(reader)


def test_a_reader_that_has_gone_is_no_error(pipe: tuple[int, NonBlockingOutput]) -> None:
    reader, output = pipe
    os.close(reader)
    output.write("a line\n")
    assert output.dropped_lines == 1


def test_a_long_line_and_a_lone_surrogate_reach_a_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        output = NonBlockingOutput(file.fileno())
        output.write("y" * 10_000 + "\ud800\n")
    assert path.read_text() == "y" * 10_000 + "\\ud800\n"
