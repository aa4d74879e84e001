"""The commands and figures of the README are right."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import speed_figures
from tests.mock_kafka.process_container import image_environment

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.slow
def test_the_command_of_the_container_starts_a_cluster() -> None:
    [command] = re.findall(r"^CMD (.*)$", (README.parent / "Dockerfile").read_text(), re.MULTILINE)
    command_line = [sys.executable, "-P", "-m", "mock_kafka", *json.loads(command)]
    with subprocess.Popen(
        [*command_line, "--port", "0", "--admin-port", "0", "--brokers", "2"],
        env={**os.environ, **image_environment()},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert re.fullmatch(r"bootstrap\.servers=localhost:\d+,localhost:\d+\n", line)
        assert process.stdout.readline().startswith("admin.url=http://0.0.0.0:")
        process.terminate()
        assert process.wait(30) == 0


def test_the_commands_of_the_readme_exist() -> None:
    commands = re.findall(r"^\$ \./(\S+)", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert commands == ["scripts/demo", "scripts/test"]
    for command in commands:
        assert (README.parent / command).stat().st_mode & 0o111


def test_the_figures_of_speed_are_those_that_were_kept() -> None:
    for path, page in speed_figures.rendered().items():
        assert path.read_text(encoding="utf-8") == page, "run: python -m benchmarks.speed_figures"
