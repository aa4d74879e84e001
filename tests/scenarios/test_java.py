import shutil
from pathlib import Path

import pytest

from scenarios import java, maven


def test_without_a_jdk_the_reason_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(maven.CannotRunError, match="the Java clients need a JDK"):
        java.java_command(Path("Writer.java"), "4.1.0")


def test_a_program_runs_with_the_jars_of_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[str, tuple[str, ...]]] = []

    def fetch_jars(name: str, artifacts: tuple[str, ...]) -> Path:
        asked.append((name, artifacts))
        return tmp_path

    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(java, "fetch_jars", fetch_jars)
    command = java.java_command(Path("Writer.java"), "3.9.2")

    [(name, artifacts)] = asked
    assert (name, artifacts[0]) == (
        "kafka-clients-3.9.2",
        "org.apache.kafka:kafka-clients:3.9.2",
    )
    assert command[0] == "java"
    assert command[-3:] == ["-cp", f"{tmp_path}/*", "Writer.java"]
