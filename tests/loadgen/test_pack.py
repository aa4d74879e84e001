"""The archive has what the workers of a cluster import, and nothing that Spark has."""

import tarfile
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

from loadgen import pack
from loadgen.pack import PackError


def test_the_archive_has_our_packages_and_their_requirements() -> None:
    names = pack.files_for_workers()
    folders = {name.partition("/")[0] for name in names}
    assert {"client", "loadgen", "protocol", "kafka", "numpy", "pandas", "pyarrow"} <= folders
    assert not {"pyspark", "py4j", "matplotlib", "aiohttp", "broker", "tests"} & folders
    assert not [name for name in names if name.endswith((".pyc", ".pth"))]
    assert "loadgen/log4j2.properties" in names


def test_the_archive_is_written_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"loadgen/worker.py": Path(__file__)}
    monkeypatch.setattr(pack, "files_for_workers", lambda: files)
    archive = tmp_path / "environment.tar.gz"
    assert pack.main([str(archive)]) == 0
    with tarfile.open(archive) as packed:
        assert packed.getnames() == ["loadgen/worker.py"]
    assert f"--archives {archive}#mock_kafka_environment" in capsys.readouterr().err

    files["loadgen/missing.py"] = tmp_path / "missing.py"
    with pytest.raises(PackError, match="cannot be written: No such file"):
        pack.main([str(tmp_path / "other.tgz")])
    assert list(tmp_path.iterdir()) == [archive]


def test_a_requirement_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(missing: str) -> None:
        def found(name: str) -> object:
            if name == missing:
                raise PackageNotFoundError(name)
            return distribution(name)

        monkeypatch.setattr(pack, "distribution", found)

    without("pyarrow")
    with pytest.raises(PackError, match="pyarrow is not installed here"):
        pack.files_for_workers()
    without("uvloop")  # a requirement with a condition
    assert not [name for name in pack.files_for_workers() if name.startswith("uvloop/")]


def test_the_archive_has_the_client_for_hdfs_if_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if find_spec("hdfs_native") is not None:
        folders = {name.partition("/")[0] for name in pack.files_for_workers()}
        assert {"hdfs_native", "fsspec"} <= folders
        assert "argcomplete" not in folders
    monkeypatch.setattr(pack, "FOR_HDFS", "not-an-installed-package")
    assert not [name for name in pack.files_for_workers() if name.startswith("hdfs_native/")]


def test_a_session_needs_an_archive_that_exists(tmp_path: Path) -> None:
    assert pack.session_settings(None) == {}
    with pytest.raises(PackError, match="`mock-kafka load pack` makes one"):
        pack.session_settings(tmp_path / "environment.tar.gz")


def test_another_file_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        pack.main(["environment.zip"])
    assert "'environment.zip' does not end in .tar.gz or .tgz" in capsys.readouterr().err
