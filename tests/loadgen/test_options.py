"""The options of `mock-kafka load`."""

import pytest

from loadgen.options import parser_of


def test_help_describes_the_built_in_plans_and_names_the_program() -> None:
    text = parser_of("a-program").format_help()
    assert text.startswith("usage: a-program ")
    assert "topic-storm      " in text


def test_a_url_is_no_output_directory(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser_of("x").parse_args(["steady", "--out", "hdfs://namenode/out"])
    assert "'hdfs://namenode/out' is a URL" in capsys.readouterr().err
