import tarfile
from pathlib import Path

import pytest

from atlas import pack
from atlas.cli import main
from loadgen import pack as load_pack
from loadgen.pack import PackError


def test_the_archive_has_the_broker_the_clients_and_the_adapters() -> None:
    files = pack.files_for_executors()
    folders = {name.partition("/")[0] for name in files}
    assert {"aiohttp", "aiokafka", "confluent_kafka", "kafka", "pyarrow", "yaml"} <= folders
    assert {"atlas", "broker", "mock_kafka", "scenarios"} <= folders
    assert not {"pyspark", "py4j", "matplotlib", "tests"} & folders
    assert "atlas/situations/BROKER-1.yaml" in files
    assert "atlas/adapters/go/franz/go.mod" in files
    assert "broker/py.typed" in files  # by it the broker's process finds our packages


def test_a_library_that_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack, "LIBRARIES", ("not-an-installed-package",))
    assert not [name for name in pack.files_for_executors() if name.startswith("aiokafka/")]
    monkeypatch.setattr(load_pack, "DISTRIBUTION", "not-an-installed-package")
    with pytest.raises(PackError, match="not-an-installed-package is not installed here"):
        pack.files_for_executors()


def test_the_command_says_how_the_archive_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pack, "files_for_executors", lambda: {"atlas/rows.py": Path(__file__)})
    archive = tmp_path / "environment.tar.gz"
    assert main(["pack", str(archive)]) == 0
    with tarfile.open(archive) as packed:
        assert packed.getnames() == ["atlas/rows.py"]
    assert f"--master spark://HOST:PORT --environment {archive}" in capsys.readouterr().out
