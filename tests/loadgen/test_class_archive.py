"""Where the archive of Spark's classes is, and what a JVM gets to know of it."""

import shlex
from pathlib import Path

import pytest

from loadgen import class_archive


@pytest.fixture
def spark_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a Java installation, one of Spark and an empty cache folder; return that of Spark."""
    home = tmp_path / "spark home"
    (home / "jars").mkdir(parents=True)
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    return home


def test_a_jvm_uses_the_archive_if_there_is_one(spark_home: Path, tmp_path: Path) -> None:
    archive = class_archive.path()
    assert archive is not None
    assert archive.parent == tmp_path / "a cache" / "mock-kafka"
    assert class_archive.options() == ""
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert shlex.split(class_archive.options())[-1] == f"-XX:SharedArchiveFile={archive}"
    assert (spark_home / "jars").is_dir()


@pytest.mark.parametrize("changed", ["jdk/bin/java", "spark home/jars"])
def test_another_java_or_spark_has_another_archive(
    spark_home: Path, tmp_path: Path, changed: str
) -> None:
    before = class_archive.path()
    if (tmp_path / changed).is_dir():
        (spark_home / "jars" / "more.jar").touch()
    else:
        (tmp_path / changed).unlink()
        (tmp_path / changed).write_text("another")
    assert class_archive.path() != before


def test_there_is_no_archive_with_a_configuration_on_the_class_path(
    spark_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert class_archive.path() is not None
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert class_archive.path() is None
    monkeypatch.delenv("SPARK_CONF_DIR")
    (spark_home / "conf").mkdir()
    assert class_archive.path() is not None
    (spark_home / "conf" / "spark-defaults.conf").touch()
    assert class_archive.path() is None


@pytest.mark.usefixtures("spark_home")
def test_there_is_no_archive_without_java_or_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert class_archive.path() is None
    monkeypatch.delenv("SPARK_HOME")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert class_archive.path() is None
    assert class_archive.options() == ""
