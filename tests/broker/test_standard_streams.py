"""A broker that watches standard input stops when it is closed."""

import subprocess
import sys


def test_the_broker_shuts_down_when_the_parents_pipe_closes() -> None:
    command = [sys.executable, "-P", "-m", "broker", "serve", "--port", "0", "--until-stdin-closes"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"bootstrap.servers=")
        assert process.poll() is None

        process.stdin.close()

        assert process.wait(20) == 0
