"""The start of a recorded world."""

import gzip
from pathlib import Path

import pytest

from broker.config.broker_config import BrokerConfig
from broker.serve import ServeOptions, StartError
from proxy.simulate.serve import read_world, simulating_options

WORLD = b"""{"version": VERSION,
 "cluster": {"brokers": [{"node_id": 3}, {"node_id": 4}], "release": "4.1"},
 "requests": [{"api": "Metadata", "version": 12}]}"""


def world_file(folder: Path, data: bytes) -> Path:
    path = folder / "world.mk"
    path.write_bytes(data.replace(b"VERSION", b"1"))
    return path


@pytest.mark.parametrize("is_compressed", [False, True])
def test_our_broker_is_like_the_recorded_cluster(tmp_path: Path, is_compressed: bool) -> None:
    path = world_file(tmp_path, WORLD)
    if is_compressed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    given = ServeOptions("127.0.0.1", 0, 1, BrokerConfig.from_overrides({"num.partitions": "7"}))
    options = simulating_options(given, read_world(path))
    assert (options.broker_count, options.config["node.id"]) == (2, 3)
    assert options.config["num.partitions"] == 7


@pytest.mark.parametrize("data", [b"{}", b"no json", gzip.compress(b"x", mtime=0)[:9]])
def test_a_file_without_recorded_requests_is_an_error(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(StartError, match="--simulate"):
        read_world(world_file(tmp_path, data))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot read"):
        read_world(tmp_path / "none")
