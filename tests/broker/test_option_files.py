"""Files that options of the command line name."""

from pathlib import Path

import pytest

from broker.config.keys import ConfigError
from broker.faults import fault_rule
from broker.option_files import read_config, read_faults, read_snapshot


def test_overrides_win_over_the_file_and_the_file_over_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("# ours\nnum.partitions = 4\nmessage.max.bytes=2000\n")
    config = read_config(path, ["num.partitions=6"])
    assert config["num.partitions"] == 6
    assert config["message.max.bytes"] == 2000
    assert config["auto.create.topics.enable"] is True


def test_the_last_of_several_overrides_of_a_key_wins() -> None:
    assert read_config(None, ["num.partitions=2", "num.partitions = 5"])["num.partitions"] == 5


def test_a_value_may_come_from_an_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALICE_PASSWORD", "pa=ss")
    path = tmp_path / "server.properties"
    path.write_text("delegation.token.secret.key=${env:ALICE_PASSWORD}\n")
    config = read_config(path, ["sasl.users=alice:${env:ALICE_PASSWORD}"])
    assert config["sasl.users"] == "alice:pa=ss"
    assert config["delegation.token.secret.key"] == "pa=ss"
    with pytest.raises(ConfigError, match=r"sasl\.users=\$\{env:NOBODY\}: there is no such"):
        read_config(None, ["sasl.users=${env:NOBODY}"])


def test_a_provider_that_is_named_env_leaves_unknown_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ALICE_PASSWORD", "pass")
    monkeypatch.delenv("NOBODY", raising=False)
    config = read_config(
        None,
        [
            "config.providers=env",
            "config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider",
            "sasl.users=alice:${env:ALICE_PASSWORD},bob:${env:NOBODY}",
        ],
    )
    assert config["sasl.users"] == "alice:pass,bob:${env:NOBODY}"


def test_a_value_may_contain_an_equals_sign() -> None:
    with pytest.raises(ConfigError, match="a=b"):
        read_config(None, ["num.partitions=a=b"])


def test_fault_rules_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "faults.json"
    path.write_text('[{"api": "Produce", "drop": "before_response", "times": 1}]')
    assert read_faults(path) == (fault_rule(api="Produce", drop="before_response", times=1),)
    assert read_faults(None) == ()


def test_keys_that_neither_the_file_nor_an_override_has_get_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("num.partitions=4\n")
    defaults = {"num.partitions": "1", "message.max.bytes": "2000", "node.id": "7"}
    config = read_config(path, ["node.id=9"], defaults)
    assert (config["num.partitions"], config["message.max.bytes"]) == (4, 2000)
    assert config.first_node_id == 9


def test_a_snapshot_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "setup.json"
    path.write_text('{"next_producer_id": 5}')
    found = read_snapshot(path)
    assert found is not None
    assert (found.path, found.document.next_producer_id) == (path, 5)
    assert read_snapshot(None) is None
