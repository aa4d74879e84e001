"""Files appear complete or not at all; errors are one line."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import S3FileSystem

from loadgen import storage
from loadgen.storage import Storage, StorageError, _filesystem, checked_url, settings_of


def test_a_file_is_written_into_a_new_folder_and_replaced(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    assert storage.names("a") == []
    storage.write(b"1", "a", "b", "x")
    storage.write(b"22", "a", "b", "x")
    assert storage.read("a", "b", "x") == b"22"
    assert storage.names("a", "b") == ["x"]
    assert storage.has("a", "b", "x")
    assert storage.existing(["w", "x", "y"], "a", "b") == ["x"]
    assert storage.existing(["x"], "b") == []
    storage.remove("a", "b", "x")
    storage.remove("a", "b", "x")
    assert not storage.has("a", "b", "x")
    storage.remove("a")
    assert list(tmp_path.iterdir()) == []


def test_a_file_whose_writer_fails_does_not_appear(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))

    def write() -> None:
        with storage.stream("x") as stream:
            stream.write(b"half")
            assert storage.names() == ["_x.incomplete"]
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write()
    assert storage.names() == []


@pytest.mark.parametrize("action", ["read", "write", "create"])
def test_an_error_is_one_line_with_the_path(tmp_path: Path, action: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    storage = Storage(str(tmp_path / "file"))
    arguments = {"write": (b"", "x")}.get(action, ("x",))
    with pytest.raises(StorageError) as caught:
        getattr(storage, action)(*arguments)
    assert str(tmp_path / "file") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_rows_of_many_files_come_in_tables_of_a_bounded_size(tmp_path: Path) -> None:
    texts = pa.dictionary(pa.int32(), pa.string())
    for number, names in enumerate([["a", "b"], ["c"], ["b", "a", "d"]]):
        table = pa.table({"name": pa.array(names, pa.string()).cast(texts), "unread": names})
        pq.write_table(table, tmp_path / f"part-{number}.parquet")
    (tmp_path / "_part-9.parquet.incomplete").write_bytes(b"PAR1")
    (tmp_path / "folder").mkdir()
    storage = Storage(str(tmp_path))

    names = sorted(storage.parquet_files())
    assert names == ["part-0.parquet", "part-1.parquet", "part-2.parquet"]
    tables = list(storage.tables(names, ["name"], 3))
    assert [table.num_rows for table in tables] == [3, 3]
    assert pa.concat_tables(tables).to_pydict() == {"name": ["a", "b", "c", "b", "a", "d"]}

    file = Storage(storage.of("part-1.parquet"))
    assert file.parquet_files() == [""]
    [table] = file.tables([""], ["name"], 3)
    assert table.to_pydict() == {"name": ["c"]}


def test_a_folder_that_is_missing_or_a_file_that_is_no_parquet_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="cannot read"):
        Storage(str(tmp_path / "nowhere")).parquet_files()
    (tmp_path / "x.parquet").write_bytes(b"no rows")
    with pytest.raises(StorageError, match=r"x\.parquet"):
        list(Storage(str(tmp_path)).tables(["x.parquet"], ["name"], 3))


def test_a_url_needs_a_known_scheme_and_a_folder() -> None:
    for url in ("ftp://h/x", "s3a://", "hdfs:///"):
        with pytest.raises(StorageError):
            checked_url(url)


def test_a_url_of_hdfs_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    monkeypatch.delitem(sys.modules, "loadgen.hdfs", raising=False)
    monkeypatch.delitem(sys.modules, "hdfs_native.fsspec", raising=False)
    with pytest.raises(StorageError) as caught:
        checked_url("hdfs://name:8020/runs")
    needed = "needs a library that is not installed: pip install hdfs-native"
    assert str(caught.value) == f"'hdfs://name:8020/runs' {needed}"
    with pytest.raises(StorageError) as caught:  # a worker's packages are not the driver's
        Storage("hdfs://name:8020/runs").create()
    assert str(caught.value) == f"hdfs://name:8020/runs {needed}"


def test_settings_of_hadoop_with_the_prefix_of_spark_come_first() -> None:
    assert settings_of(
        {
            "dfs.nameservices": "other",
            "spark.hadoop.dfs.nameservices": "main",
            "spark.hadoop.dfs.ha.namenodes.main": "a,b",
            "spark.hadoop.fs.defaultFS": "hdfs://main",
            "fs.defaultFS": "hdfs://other",
            "hadoop.security.authentication": "simple",
            "spark.hadoop.fs.s3a.endpoint": "",
            "spark.hadoop.fs.other": "x",
        }
    ) == {
        "dfs.nameservices": "main",
        "dfs.ha.namenodes.main": "a,b",
        "fs.defaultFS": "hdfs://main",
        "hadoop.security.authentication": "simple",
    }


def test_workers_use_the_settings_of_hadoop_for_s3() -> None:
    settings = settings_of(
        {
            "spark.hadoop.fs.s3a.endpoint": "127.0.0.1:5000",
            "spark.hadoop.fs.s3a.access.key": "key",
            "spark.hadoop.fs.s3a.secret.key": "secret",
            "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
            "spark.app.name": "x",
        }
    )
    assert set(settings) == {
        "fs.s3a.endpoint",
        "fs.s3a.access.key",
        "fs.s3a.secret.key",
        "fs.s3a.connection.ssl.enabled",
    }
    filesystem, path = _filesystem("s3a://bucket/runs", tuple(sorted(settings.items())))
    assert isinstance(filesystem, S3FileSystem)
    assert path == "bucket/runs"
