"""`load archive-classes` writes a complete archive or none."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loadgen import archive_classes, class_archive
from loadgen.archive_classes import PLANS, ArchiveError, main, make, use_what_a_run_uses

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def fake_session(*, writes: bool) -> Any:
    @contextmanager
    def session(*_arguments: Any, jvm_options: str, **_options: Any) -> Iterator[None]:
        yield None
        if writes:
            Path(jvm_options.rpartition("=")[2]).write_text("classes")

    return session


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_classes, "use_what_a_run_uses", lambda *_: None)


def test_an_archive_has_its_name_when_it_is_complete(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "cache" / "a.jsa"
    monkeypatch.setattr(class_archive, "path", lambda: archive)
    monkeypatch.setattr(archive_classes, "load_session", fake_session(writes=True))
    assert main([]) == 0
    assert archive.read_text() == "classes"
    assert list(archive.parent.iterdir()) == [archive]
    assert str(archive) in capsys.readouterr().out


def test_a_java_that_writes_no_archive_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(archive_classes, "load_session", fake_session(writes=False))
    with pytest.raises(ArchiveError, match="does not write an archive"):
        make(tmp_path / "a.jsa")
    (tmp_path / "file").touch()
    with pytest.raises(ArchiveError, match=r"cannot write .*/file/a\.jsa: "):
        make(tmp_path / "file" / "a.jsa")


def test_where_there_can_be_no_archive_the_command_says_what_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(class_archive, "path", lambda: None)
    with pytest.raises(ArchiveError, match="no SPARK_CONF_DIR"):
        main([])


def test_a_session_can_do_what_is_recorded(spark: "SparkSession", tmp_path: Path) -> None:
    use_what_a_run_uses(spark, tmp_path)
    assert (tmp_path / f"results-{PLANS[0]}").is_dir()
