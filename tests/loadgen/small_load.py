"""Run a small load with a live page in a subprocess, with `--out` on a file system of Hadoop."""

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from scenarios.maven import CannotRunError

RESPONSES = 54
"""Those of the load: its events, and a producer id for each client."""
LOAD_TIMEOUT_S = 240
_PLAN = """\
duration_s: 1
topics: [{name: t, partitions: 2}]
lateness_p99_ms: 1000
tenants: [{name: a, behaviour: steady, topic: t, clients: 4, rate: 50}]
"""


def load(
    folder: Path, out: str, settings: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a load in `folder`, with settings in Spark's configuration."""
    lines = "".join(f"{key} {value}\n" for key, value in (settings or {}).items())
    (folder / "spark-defaults.conf").write_text(lines)
    (folder / "small.yaml").write_text(_PLAN)
    words = [sys.executable, "-m", "mock_kafka", "load"]
    return subprocess.run(
        [*words, "small.yaml", "--live-port", "0", "--out", out],
        cwd=folder,
        env={**os.environ, "SPARK_CONF_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=LOAD_TIMEOUT_S,
        check=False,
    )


def jars_of_pyspark() -> Path:
    """Return the folder of PySpark's jars.

    Raises:
        CannotRunError: PySpark is missing.
    """
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise CannotRunError("PySpark is not here: install the extra spark")
    return Path(pyspark.origin).parent / "jars"


def hadoop_version() -> str:
    """Return the version of Hadoop's client among PySpark's jars.

    Raises:
        CannotRunError: PySpark is missing.
    """
    [client] = jars_of_pyspark().glob("hadoop-client-api-*.jar")
    return client.stem.rpartition("-")[2]
