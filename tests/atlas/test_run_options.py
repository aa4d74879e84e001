import argparse
from pathlib import Path

import pytest

from atlas.run_options import LANES, MASTER, add_run_options


def parsed(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_run_options(parser)
    return parser.parse_args(arguments)


def test_only_the_folder_has_no_default(tmp_path: Path) -> None:
    options = parsed("--out", str(tmp_path / "run"))
    assert options.out == str(tmp_path / "run")
    assert (options.master, options.lanes, options.seeds) == (MASTER, LANES, 1)
    assert (options.clients, options.situations) == (None, "*")
    assert parsed().out is None


def test_a_folder_may_be_a_url() -> None:
    assert parsed("--out", "s3a://bucket/atlas/").out == "s3a://bucket/atlas"
    with pytest.raises(argparse.ArgumentError, match="ftp"):
        parsed("--out", "ftp://host/atlas")
