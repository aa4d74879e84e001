"""The launcher runs the broker of this environment, not packages of the same names on the path."""

import os
import subprocess
import sys
from pathlib import Path

from mock_kafka import isolated_launcher


def test_a_broker_in_the_folder_of_the_user_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "broker.py").write_text("raise SystemExit('not ours')\n")
    command = [sys.executable, "-I", isolated_launcher.__file__, "--version"]
    path = {isolated_launcher.PATH_VARIABLE: os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, **path, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith("mock-kafka "), done.stderr
