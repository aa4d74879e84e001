from pathlib import Path

import pytest

from broker.config.broker_config import BrokerConfig
from broker.config.config_providers import FILE_BYTES_MAX, provider_names, resolved
from broker.config.keys import ConfigError
from broker.config.listener_values import own_texts
from protocol.configs import ConfigSource

PACKAGE = "org.apache.kafka.common.config.provider"


def provider(name: str, kind: str, **parameters: str) -> dict[str, str]:
    prefix = f"config.providers.{name}"
    values = {f"{prefix}.class": f"{PACKAGE}.{kind}ConfigProvider"}
    for key, text in parameters.items():
        values[f"{prefix}.param.{key.replace('_', '.')}"] = text
    return {"config.providers": name, **values}


def value(text: str, providers: dict[str, str]) -> str:
    return resolved({**providers, "key": text})["key"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "secrets.properties").write_text("alice=one\nbob = two\n")
    (tmp_path / "carol").write_text("three\n")
    (tmp_path / "inner").mkdir()
    return tmp_path


def test_a_property_of_a_file(folder: Path) -> None:
    providers = provider("file", "File")
    path = folder / "secrets.properties"
    assert value(f"${{file:{path}:alice}}-${{file:{path}:bob}}", providers) == "one-two"


def test_a_file_of_a_directory_with_all_its_characters(folder: Path) -> None:
    assert value(f"${{d:{folder}:carol}}", provider("d", "Directory")) == "three\n"


def test_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_USER", "alice")
    monkeypatch.setenv("HOME_OF", "bob")
    limited = provider("env", "EnvVar", allowlist_pattern="KAFKA_.*")
    assert value("${env:KAFKA_USER}", provider("env", "EnvVar")) == "alice"
    assert value("${env:KAFKA_USER} ${env:HOME_OF}", limited) == "alice ${env:HOME_OF}"


@pytest.mark.parametrize(
    "text",
    [
        "${file:{folder}/secrets.properties:nobody}",
        "${file::alice}",
        "${other:{folder}/secrets.properties:alice}",
        "${alice}",
    ],
)
def test_a_reference_that_nobody_knows_stays(text: str, folder: Path) -> None:
    text = text.replace("{folder}", str(folder))
    assert value(text, provider("file", "File")) == text


@pytest.mark.parametrize("name", ["inner", "nobody", "../carol", ""])
def test_a_directory_has_files_only(name: str, folder: Path) -> None:
    text = f"${{d:{folder / 'inner'}:{name}}}"
    assert value(text, provider("d", "Directory")) == text


def test_only_allowed_paths_are_read(folder: Path) -> None:
    (folder / "inner" / "carol").write_text("four")
    (folder / "inner" / "link").symlink_to(folder / "secrets.properties")
    providers = provider("d", "Directory", allowed_paths=str(folder / "inner"))
    outside = f"${{d:{folder}:carol}}"
    above = f"${{d:{folder / 'inner' / '..'}:carol}}"
    assert value(f"${{d:{folder / 'inner'}:carol}}", providers) == "four"
    assert value(outside, providers) == outside
    assert value(above, providers) == above
    linked = f"${{f:{folder / 'inner' / 'link'}:alice}}"
    files = provider("f", "File", allowed_paths=str(folder / "inner"))
    assert value(linked, files) == linked


@pytest.mark.parametrize(
    ("providers", "text", "problem"),
    [
        (provider("file", "File"), "${file:/no/such/file:key}", "Could not read properties from"),
        (provider("env", "EnvVar"), "${env:path:key}", "Path is not supported for EnvVar"),
        (provider("env", "EnvVar", allowlist_pattern="("), "", r"allowlist\.pattern \(: missing"),
        (provider("file", "File", allowed_paths="a/b"), "", "Path a/b is not absolute"),
        (provider("file", "File", allowed_paths="/no/such"), "", "Path /no/such does not exist"),
        (provider("v", "Vault"), "", "Could not load config provider class"),
        ({"config.providers": "v", "config.providers.v.class": "EnvVarConfigProvider"}, "", "load"),
    ],
)
def test_a_provider_that_cannot_do_its_work_is_an_error(
    providers: dict[str, str], text: str, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        value(text, providers)


def test_a_large_file_is_not_read(folder: Path) -> None:
    (folder / "large").write_bytes(b"a=" + bytes(FILE_BYTES_MAX))
    with pytest.raises(ConfigError, match="Could not read file"):
        value(f"${{d:{folder}:large}}", provider("d", "Directory"))


def test_a_name_without_a_class_is_no_provider() -> None:
    texts = {"config.providers": "a,b", "config.providers.b.class": "x"}
    assert provider_names(texts) == ["b"]
    assert resolved({"config.providers": "a", "key": "${a:b}"})["key"] == "${a:b}"


def test_a_broker_starts_with_values_of_a_provider(folder: Path) -> None:
    (folder / "carol").write_text("7")
    start = provider("d", "Directory") | {
        "num.partitions": f"${{d:{folder}:carol}}",
        "broker.1.broker.rack": f"${{d:{folder}:carol}}",
    }
    config = BrokerConfig.from_overrides(start)
    assert config["num.partitions"] == 7
    assert config.for_broker(1)["broker.rack"] == "7"
    synonym = config.synonyms("num.partitions")[0]
    assert (synonym.text, synonym.source) == ("7", ConfigSource.STATIC_BROKER_CONFIG)


def test_values_at_run_time_are_read_with_the_providers_of_the_start(folder: Path) -> None:
    (folder / "carol").write_text("7")
    reference = f"${{d:{folder}:carol}}"
    started = BrokerConfig.from_overrides(provider("d", "Directory"))
    config = started.with_dynamic(
        1, {"listener.name.plaintext.max.connections": reference, "max.connections": reference}
    )
    assert config.for_broker(1)["max.connections"] == 7
    assert own_texts(config, 1, "PLAINTEXT") == {"max.connections": "7"}
    assert config.synonyms("max.connections", 1)[0].text == reference
