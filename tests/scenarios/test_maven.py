"""What is said where java or mvn are missing or fail; the tests of the Java clients fetch jars."""

from pathlib import Path

import pytest

from scenarios import maven
from scenarios.maven import CannotRunError, fetch_jars

ARTIFACTS = ("org.example:one:1.0", "org.example:two:2.0")
FETCHES = """\
#!/bin/sh
grep -q '<artifactId>two</artifactId><version>2.0</version>' pom.xml || exit 3
mkdir jars && : > jars/two-2.0.jar
"""
FAILS = """\
#!/bin/sh
echo "[INFO] resolving"
echo "[ERROR] could not find org.example:two"
exit 1
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of PATH besides the system's shell, and an empty cache."""
    folder = tmp_path / "path"
    folder.mkdir()
    for name in ("sh", "grep", "mkdir"):
        (folder / name).symlink_to(Path("/bin") / name)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(maven, "CACHE", tmp_path / "cache")
    return folder


def install(path: Path, name: str, script: str = "#!/bin/sh\n") -> None:
    (path / name).write_text(script)
    (path / name).chmod(0o755)


def test_without_java_nothing_is_fetched(path: Path) -> None:
    install(path, "mvn", FETCHES)
    with pytest.raises(CannotRunError, match="clients needs java"):
        fetch_jars("clients", ARTIFACTS)
    assert not maven.CACHE.exists()


def test_without_maven_only_what_is_in_the_cache_is_there(path: Path) -> None:
    install(path, "java")
    with pytest.raises(CannotRunError, match="fetching clients needs mvn"):
        fetch_jars("clients", ARTIFACTS)
    (maven.CACHE / "clients").mkdir(parents=True)
    assert fetch_jars("clients", ARTIFACTS) == maven.CACHE / "clients"


def test_jars_are_fetched_into_the_cache(path: Path) -> None:
    install(path, "java")
    install(path, "mvn", FETCHES)
    jars = fetch_jars("clients", ARTIFACTS)
    assert [path.name for path in jars.iterdir()] == ["two-2.0.jar"]
    assert [path.name for path in maven.CACHE.iterdir()] == ["clients"], "nothing else stays"


def test_a_failure_of_maven_is_reported_in_its_words(path: Path) -> None:
    install(path, "java")
    install(path, "mvn", FAILS)
    with pytest.raises(CannotRunError, match=r"could not find org\.example:two"):
        fetch_jars("clients", ARTIFACTS)


def test_an_artifact_may_have_a_classifier(path: Path) -> None:
    install(path, "java")
    install(path, "mvn", "#!/bin/sh\nmkdir jars && cp pom.xml jars\n")
    (path / "cp").symlink_to("/bin/cp")
    folder = fetch_jars("one", ["org.example:one:1.0:linux-x86_64"])
    found = (folder / "pom.xml").read_text()
    assert "<version>1.0</version><classifier>linux-x86_64</classifier>" in found
