"""The command line of a load."""

from pathlib import Path

import pytest

from loadgen.options import parser_of


def test_help_describes_the_built_in_plans_and_names_the_program() -> None:
    text = parser_of("a-program").format_help()
    assert text.startswith("usage: a-program ")
    assert "topic-storm      " in text


def test_an_unknown_scheme_is_no_output_directory(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser_of("test").parse_args(["steady", "--out", "gs://bucket/runs"])
    error = capsys.readouterr().err
    assert "'gs://bucket/runs' has the scheme 'gs'" in error
    assert "file://, s3a://, hdfs://" in error


def test_an_archive_that_does_not_exist_is_an_error_before_the_target_is_prepared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "environment.tar.gz"
    arguments = ["steady", "--out", "x", "--environment", str(archive)]
    with pytest.raises(SystemExit):
        parser_of("test").parse_args(arguments)
    error = capsys.readouterr().err
    assert f"there is no archive {archive}; `mock-kafka load pack` makes one" in error
    archive.touch()
    assert parser_of("test").parse_args(arguments).environment == archive


def test_an_output_directory_is_absolute_or_a_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for given, expected in {
        "x/../runs": f"{tmp_path}/runs",
        f"file://{tmp_path}/runs": f"{tmp_path}/runs",
        "s3a://bucket/runs/": "s3a://bucket/runs",
        "hdfs://name:8020/runs": "hdfs://name:8020/runs",
    }.items():
        assert parser_of("test").parse_args(["steady", "--out", given]).out == expected
