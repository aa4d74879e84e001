"""Put the program `mock-kafka` of this environment on the PATH of other programs."""

import os
import sys
from pathlib import Path


def with_mock_kafka(environment: dict[str, str]) -> dict[str, str]:
    """Return an environment with `mock-kafka` on its PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, **environment}
