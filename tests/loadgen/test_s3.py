"""A load that writes to S3: Spark with `s3a://`, the workers with Arrow, the server is moto's."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from scenarios.maven import CannotRunError, fetch_jars

pytestmark = [pytest.mark.long, pytest.mark.interop]

AWS_SDK_VERSION, ACCELERATOR_VERSION = "2.35.4", "1.3.1"
"""Those of hadoop-aws 3.5.0."""
LOAD_TIMEOUT_S = 240
PLAN = """\
duration_s: 1
topics: [{name: t, partitions: 2}]
lateness_p99_ms: 1000
tenants: [{name: a, behaviour: steady, topic: t, clients: 4, rate: 50}]
"""


@pytest.fixture(scope="module")
def jars() -> list[Path]:
    """Return hadoop-aws and the parts of the SDK that it needs: all of it has 600 MB."""
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        pytest.skip("PySpark is not here: pip install 'mock-kafka[spark]'")
    [hadoop] = (Path(pyspark.origin).parent / "jars").glob("hadoop-client-api-*.jar")
    version = hadoop.stem.rpartition("-")[2]
    sdk = ("s3", "s3-transfer-manager", "sts")
    accelerator = "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3"
    try:
        folders = (
            fetch_jars(
                f"hadoop-aws-{version}",
                [f"org.apache.hadoop:hadoop-aws:{version}"],
                only_these=True,
            ),
            fetch_jars(
                f"aws-sdk-s3-{AWS_SDK_VERSION}",
                [
                    *(f"software.amazon.awssdk:{name}:{AWS_SDK_VERSION}" for name in sdk),
                    f"{accelerator}:{ACCELERATOR_VERSION}",
                ],
            ),
        )
    except CannotRunError as error:
        pytest.skip(str(error))
    return [jar for folder in folders for jar in folder.iterdir()]


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """Return the URL of a server with a bucket `runs`."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - slow to import

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    with urlopen(Request(f"{url}/runs", method="PUT")):
        pass
    yield url
    server.stop()


def load(folder: Path, url: str, jars: list[Path], out: str) -> subprocess.CompletedProcess[str]:
    """Run a load with the settings of S3 in Spark's configuration."""
    settings = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.hadoop.fs.s3a.endpoint": url,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.access.key": "key",
        "spark.hadoop.fs.s3a.secret.key": "secret",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.attempts.maximum": "1",
        "spark.hadoop.fs.s3a.retry.limit": "1",
    }
    lines = "".join(f"{key} {value}\n" for key, value in settings.items())
    (folder / "spark-defaults.conf").write_text(lines)
    (folder / "small.yaml").write_text(PLAN)
    return subprocess.run(
        [sys.executable, "-m", "mock_kafka", "load", "small.yaml", "--out", out],
        cwd=folder,
        env={**os.environ, "SPARK_CONF_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=LOAD_TIMEOUT_S,
        check=False,
    )


def test_a_load_writes_its_rows_summary_and_report_to_s3(
    s3: str, jars: list[Path], tmp_path: Path
) -> None:
    done = load(tmp_path, s3, jars, "s3a://runs/one")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "report: s3a://runs/one/report.html" in done.stdout
    with urlopen(f"{s3}/runs/one/summary.json") as answer:
        summary = json.load(answer)
    assert summary["is_complete"]
    assert summary["totals"]["responded"] == 54  # with four producer ids
    assert {verdict["verdict"] for verdict in summary["verdicts"]} == {"passed"}
    with urlopen(f"{s3}/runs?prefix=one/results/") as answer:
        assert answer.read().count(b".parquet</Key>") >= 2  # one of each worker


def test_a_bucket_that_does_not_exist_is_one_line(
    s3: str, jars: list[Path], tmp_path: Path
) -> None:
    done = load(tmp_path, s3, jars, "s3a://missing/one")

    assert done.returncode == 2, done.stdout + done.stderr
    [line] = [line for line in done.stderr.splitlines() if "mock-kafka load: " in line]
    assert "s3a://missing/one" in line
    assert "Traceback" not in done.stderr
