"""A load that writes to HDFS: the cluster is Hadoop's own for tests, in one process."""

import io
import json
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pytest

from loadgen import cli
from loadgen.storage import Storage, StorageError, settings_of
from scenarios.clients.java import java_command
from scenarios.maven import CannotRunError, fetch_jars
from tests.loadgen.small_load import RESPONSES, hadoop_version, jars_of_pyspark, load

SOURCE = Path(__file__).with_name("java") / "HdfsCluster.java"
needs_client = pytest.mark.skipif(find_spec("hdfs_native") is None, reason="needs the extra hdfs")
needs_cluster = [
    pytest.mark.long,
    pytest.mark.interop,
    pytest.mark.xdist_group("hdfs"),
    needs_client,
]


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the URL of a cluster with one name node and one data node."""
    try:
        version = hadoop_version()
        jars = fetch_jars(
            f"hadoop-minicluster-{version}",
            [f"org.apache.hadoop:hadoop-client-minicluster:{version}"],
            only_these=True,
        )
    except CannotRunError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("hdfs")
    command = java_command(f"{jars}/*:{jars_of_pyspark()}/*", str(SOURCE), str(folder / "data"))
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("hdfs://"), (folder / "log").read_text()
        yield url
        process.kill()


class TestCluster:
    """What needs a cluster."""

    pytestmark = needs_cluster

    def test_a_load_writes_its_rows_summary_and_report(self, hdfs: str, tmp_path: Path) -> None:
        out = f"{hdfs}/runs/one"
        done = load(tmp_path, out)

        assert done.returncode == 0, done.stdout + done.stderr
        assert f"report: {out}/report.html" in done.stdout
        assert "the live page stopped" not in done.stderr
        storage = Storage(out)
        summary = json.loads(storage.read("summary.json"))
        assert summary["is_complete"]
        assert summary["totals"]["responded"] == RESPONSES
        assert {verdict["verdict"] for verdict in summary["verdicts"]} == {"passed"}
        [run] = storage.names("results")
        names = storage.names("results", run)
        assert len([name for name in names if name.endswith(".parquet")]) >= 2  # each worker's
        assert not [name for name in names if name.endswith(".incomplete")]

        copy = Storage(str(tmp_path / "copy"))
        copy.write(storage.read("summary.json"), "summary.json")
        for name in names:
            if name.endswith(".parquet"):
                copy.write(storage.read("results", run, name), "results", run, name)
        page = tmp_path / "comparison.html"
        assert cli.main(["compare", out, copy.url, "--out", str(page)], _no_broker) == 0
        assert page.stat().st_size > 0

    def test_a_file_is_replaced_and_removed(self, hdfs: str) -> None:
        storage = Storage(f"{hdfs}/files/a #1?")
        assert storage.names("a") == []
        storage.write(b"1", "a", "b", "x")
        storage.write(b"22", "a", "b", "x")
        assert storage.read("a", "b", "x") == b"22"
        assert storage.names("a", "b") == ["x"]
        assert storage.existing(["w", "x", "y"], "a", "b") == ["x"]
        assert storage.existing(["x"], "b") == []
        storage.remove("a", "b", "x")
        storage.remove("a", "b", "x")
        assert not storage.has("a", "b", "x")
        storage.remove("a")
        assert storage.names() == []

    def test_a_file_whose_writer_fails_does_not_appear(self, hdfs: str) -> None:
        storage = Storage(f"{hdfs}/half")

        def write() -> None:
            with storage.stream("x") as stream:
                stream.write(b"half")
                assert storage.names() == ["_x.incomplete"]
                raise RuntimeError

        storage.create()
        with pytest.raises(RuntimeError):
            write()
        assert storage.names() == []

    @pytest.mark.parametrize("action", ["read", "write", "create", "names"])
    def test_an_error_is_one_line_with_the_path(self, hdfs: str, action: str) -> None:
        Storage(hdfs).write(b"", "file")
        storage = Storage(f"{hdfs}/file")
        arguments = {"write": (b"", "x"), "names": ()}.get(action, ("x",))
        with pytest.raises(StorageError) as caught:
            getattr(storage, action)(*arguments)
        assert f"{hdfs}/file" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_a_folder_of_somebody_else_is_one_line(
        self, hdfs: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Storage(hdfs).create("mine")
        monkeypatch.setenv("HADOOP_USER_NAME", "somebody-else")
        with pytest.raises(
            StorageError,
            match=r"cannot create \S+/mine/x: Permission denied: user=somebody-else, access=WRITE,"
            r" inode='/mine':\w+:supergroup:drwxr-xr-x$",
        ):
            Storage(hdfs, {"dfs.not-the-one-of-before": "true"}).create("mine", "x")

    def test_a_url_without_a_host_means_the_default_of_hadoop(self, hdfs: str) -> None:
        settings = settings_of({"spark.hadoop.fs.defaultFS": hdfs})
        Storage("hdfs:///default", settings).write(b"1", "x")
        assert Storage(f"{hdfs}/default").read("x") == b"1"


@needs_client
class TestErrors:
    """What needs no cluster."""

    @pytest.mark.parametrize(
        ("url", "reason"),
        [
            ("hdfs://127.0.0.1:1/runs", "Connection refused (os error 111)"),
            ("hdfs://no-such-service/runs", "No NameNode hosts found"),
            ("hdfs:///runs", "No fs.defaultFS setting found"),
        ],
    )
    def test_a_name_node_that_cannot_be_asked_is_one_line(
        self, url: str, reason: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
        monkeypatch.delenv("HADOOP_HOME", raising=False)
        storage = Storage(url, {"dfs.client.failover.max.attempts": "0"})
        with pytest.raises(StorageError) as caught:
            storage.create("x")
        assert str(caught.value) == f"cannot create {url}/x: {reason}"

    def test_the_client_gets_bytes_which_it_copies_at_once(self) -> None:
        from loadgen.hdfs import ClientFile  # noqa: PLC0415 - not everybody has the client

        written: list[object] = []

        class Written(io.RawIOBase):
            def write(self, data: Any) -> int:
                written.append(data)
                return len(data)

        file = ClientFile(Written())
        assert file.write(pa.py_buffer(b"abc")) == 3
        file.close()
        file.close()
        assert written == [b"abc"]
        assert isinstance(written[0], bytes)


def _no_broker(*_: object) -> NoReturn:
    raise NotImplementedError
