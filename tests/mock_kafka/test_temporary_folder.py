"""The folder for files of the broker."""

import tempfile
from pathlib import Path

import pytest

from mock_kafka import MockKafka, StartError
from mock_kafka.temporary_folder import temporary_folder


def test_it_is_there_during_a_block_for_its_owner_alone() -> None:
    with temporary_folder() as name:
        assert Path(name).stat().st_mode & 0o077 == 0
    assert not Path(name).exists()


def test_without_a_writable_folder_the_error_says_what_needs_it_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    for kafka in MockKafka(config={"num.partitions": 3}), MockKafka(faults=[{"drop": "both"}]):
        with pytest.raises(StartError, match=r"config=, faults= and snapshot= .*: set TMPDIR"):
            kafka.start()
        assert not kafka.is_running
