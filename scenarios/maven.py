"""Jars from Maven Central, fetched once into a cache folder outside of the repository."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "mock-kafka"
_FETCH_TIMEOUT_S = 120
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>jars</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>
{}  </dependencies>
</project>
"""
_DEPENDENCY = """\
    <dependency>
      <groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}{}
    </dependency>
"""
_CLASSIFIER = "<classifier>{}</classifier>"
# Maven fetches what an artifact depends on even where only the artifact is copied.
_WITHOUT_DEPENDENCIES = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)
# Spark's own project file asks another repository first, which not every network lets through.
_SETTINGS = """\
<settings>
  <mirrors>
    <mirror>
      <id>central</id><mirrorOf>*</mirrorOf><url>https://repo.maven.apache.org/maven2</url>
    </mirror>
  </mirrors>
</settings>
"""


class CannotRunError(Exception):
    """A program in another language cannot run here; the message says what is missing."""


def fetch_jars(name: str, artifacts: Sequence[str], *, only_these: bool = False) -> Path:
    """Return the folder `name` of the cache with `artifacts`, fetched by Maven if it is missing.

    Args:
        name: what it is, and its version; each version needs its own name.
        artifacts: each "group:artifact:version", with ":classifier" if it has one.
        only_these: without what the artifacts themselves depend on.

    Raises:
        CannotRunError: no java, no mvn, or Maven Central doesn't have all of it.
    """
    if shutil.which("java") is None:
        raise CannotRunError(f"{name} needs java, which is not here")
    jars = CACHE / name
    if jars.exists():
        return jars
    maven = shutil.which("mvn")
    if maven is None:
        raise CannotRunError(f"fetching {name} needs mvn, which is not here")
    CACHE.mkdir(parents=True, exist_ok=True)
    more = _WITHOUT_DEPENDENCIES if only_these else ""
    dependencies = [_dependency(artifact, more) for artifact in artifacts]
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        (Path(folder) / "pom.xml").write_text(_POM.format("".join(dependencies)))
        (Path(folder) / "settings.xml").write_text(_SETTINGS)
        command = [maven, "--quiet", "--batch-mode", "--settings", "settings.xml"]
        command += ["dependency:copy-dependencies", "-DincludeScope=runtime"]
        command += ["-DoutputDirectory=jars"]
        try:
            done = subprocess.run(  # noqa: S603 - fixed arguments
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=_FETCH_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise CannotRunError(f"mvn took too long to get {name} from Maven Central") from error
        if done.returncode != 0:
            reasons = (line for line in done.stdout.splitlines() if "[ERROR]" in line)
            reason = next(reasons, done.stderr)
            raise CannotRunError(f"mvn got no {name} from Maven Central: {reason}")
        try:
            (Path(folder) / "jars").rename(jars)
        except OSError:
            if not jars.exists():  # another run was faster
                raise
    return jars


def _dependency(artifact: str, more: str) -> str:
    group, name, version, *classifier = artifact.split(":")
    return _DEPENDENCY.format(
        group, name, version, "".join(map(_CLASSIFIER.format, classifier)), more
    )
