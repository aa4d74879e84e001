"""The launcher stops the broker when its standard input closes."""

import subprocess
import sys

from mock_kafka import isolated_launcher


def test_the_broker_shuts_down_when_the_parents_pipe_closes() -> None:
    command = [sys.executable, "-I", isolated_launcher.__file__, "serve", "--port", "0"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"bootstrap.servers=")
        assert process.poll() is None

        process.stdin.close()

        assert process.wait(20) == 0
