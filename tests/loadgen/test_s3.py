"""A load that writes to S3: Spark with `s3a://`, the workers with Arrow, the server is moto's."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from loadgen.storage import Storage
from scenarios.maven import CannotRunError, fetch_jars
from tests.loadgen.small_load import RESPONSES, hadoop_version, load

pytestmark = [pytest.mark.long, pytest.mark.interop]

AWS_SDK_VERSION, ACCELERATOR_VERSION = "2.35.4", "1.3.1"
"""Those of hadoop-aws 3.5.0."""


@pytest.fixture(scope="module")
def jars() -> list[Path]:
    """Return hadoop-aws and the parts of the SDK that it needs: all of it has 600 MB."""
    sdk = ("s3", "s3-transfer-manager", "sts")
    accelerator = "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3"
    try:
        version = hadoop_version()
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


def load_to_s3(
    folder: Path, url: str, jars: list[Path], out: str
) -> subprocess.CompletedProcess[str]:
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
    return load(folder, out, settings)


def test_a_load_writes_its_rows_summary_and_report_to_s3(
    s3: str, jars: list[Path], tmp_path: Path
) -> None:
    done = load_to_s3(tmp_path, s3, jars, "s3a://runs/one")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "report: s3a://runs/one/report.html" in done.stdout
    assert "the live page stopped" not in done.stderr
    with urlopen(f"{s3}/runs/one/summary.json") as answer:
        summary = json.load(answer)
    assert summary["is_complete"]
    assert summary["totals"]["responded"] == RESPONSES
    assert {verdict["verdict"] for verdict in summary["verdicts"]} == {"passed"}
    with urlopen(f"{s3}/runs?prefix=one/results/") as answer:
        assert answer.read().count(b".parquet</Key>") >= 2  # one of each worker


def test_those_of_some_files_are_found_that_are_in_a_folder(s3: str) -> None:
    settings = {
        "fs.s3a.endpoint": s3,
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.access.key": "key",
        "fs.s3a.secret.key": "secret",
        "fs.s3a.connection.ssl.enabled": "false",
    }
    storage = Storage("s3a://runs/files", settings)
    storage.write(b"1", "a", "x")
    assert storage.existing(["w", "x", "y"], "a") == ["x"]
    assert storage.existing(["x"], "b") == []


def test_a_bucket_that_does_not_exist_is_one_line(
    s3: str, jars: list[Path], tmp_path: Path
) -> None:
    done = load_to_s3(tmp_path, s3, jars, "s3a://missing/one")

    assert done.returncode == 2, done.stdout + done.stderr
    [line] = [line for line in done.stderr.splitlines() if "mock-kafka load: " in line]
    assert "s3a://missing/one" in line
    assert "Traceback" not in done.stderr
