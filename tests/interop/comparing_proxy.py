"""`mock-kafka proxy --diff` in another process, and what it has reported at its end."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Compared:
    """A proxy that compares; the other fields are set at its end."""

    bootstrap_servers: str = ""
    status: int = -1
    lines: list[str] = field(default_factory=list)
    document: Mapping[str, Any] = field(default_factory=dict)

    @property
    def differences(self) -> list[str]:
        """The lines about what differs."""
        return [line for line in self.lines if line.startswith("DIFFERENT")]


@contextmanager
def comparing(servers: str, folder: Path, *options: str) -> Iterator[Compared]:
    """Run the command until the end of the block; `options` are further ones of it."""
    report = folder / "report.json"
    command = [sys.executable, "-m", "mock_kafka", "proxy", "--to", servers, "--port", "0"]
    with subprocess.Popen(
        [*command, "--diff", "--report", str(report), *options], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            compared = Compared(line.partition("=")[2].strip())
            yield compared
        finally:
            process.send_signal(signal.SIGTERM)
            compared.lines = process.stdout.read().splitlines()
    compared.status = process.returncode
    compared.document = json.loads(report.read_text(encoding="utf-8"))
