import shutil
from pathlib import Path

import pytest

from scenarios.clients import java
from scenarios.maven import CannotRunError


def test_without_a_jdk_the_reason_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(CannotRunError, match="the Java clients need a JDK"):
        java.kafka_clients_jars("4.4.0")


def test_each_version_of_kafka_clients_has_its_own_jars(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetched: list[tuple[str, tuple[str, ...]]] = []

    def fetch_jars(name: str, artifacts: tuple[str, ...]) -> Path:
        fetched.append((name, artifacts))
        return tmp_path

    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(java, "fetch_jars", fetch_jars)
    assert java.kafka_clients_jars("3.9.2") == tmp_path
    [(name, artifacts)] = fetched
    assert (name, artifacts[0]) == (
        "kafka-clients-3.9.2",
        "org.apache.kafka:kafka-clients:3.9.2",
    )


def test_a_program_gets_its_class_path_and_its_arguments() -> None:
    command = java.java_command("classes:jars/*", "Writer.java", "topic", heap_mb=512)
    assert command[:2] == ["java", "-Xmx512m"]
    assert command[-4:] == ["-cp", "classes:jars/*", "Writer.java", "topic"]
