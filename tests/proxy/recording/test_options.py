"""The options that two commands have."""

import argparse

import pytest

from proxy.recording.options import RECORDS_MAX, add_record_options


def parsed(*arguments: str, records: int | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_record_options(parser, records)
    return parser.parse_args(arguments)


def test_defaults_depend_on_the_command() -> None:
    assert parsed().records is None
    assert parsed(records=RECORDS_MAX).records == RECORDS_MAX
    assert (parsed().topics, parsed().bytes_max) == ("*", 8 << 20)


def test_numbers_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert parsed("--records", "all").records == "all"
    assert parsed("--records", "7", "--bytes-max", "1").records == 7
    for option in ("--records", "--bytes-max"):
        with pytest.raises(SystemExit):
            parsed(option, "-1")
        assert "expected a number of at least 1" in capsys.readouterr().err
