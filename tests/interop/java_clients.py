"""Run Clients.java with any version of kafka-clients."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.maven import CannotRunError, fetch_jars

SOURCE = Path(__file__).with_name("java") / "Clients.java"
_RUN_TIMEOUT_S = 60

Lines = list[list[str]]


@dataclass(frozen=True)
class JavaClients:
    """The scenarios of Clients.java, compiled."""

    classes: Path
    jars: Path

    def with_version(self, version: str) -> "JavaClients":
        """Return the same classes beside the jars of another version, newer or older.

        An older version runs the scenarios that use nothing newer.

        Raises:
            CannotRunError: Maven Central can't be reached.
        """
        return JavaClients(self.classes, _jars(version))

    def run(
        self, scenario: str, servers: str, topic: str, count: int = 0, **config: object
    ) -> Lines:
        """What a scenario prints; dots of configuration keys are underscores."""
        done = self.run_unchecked(scenario, servers, topic, count, **config)
        assert done.returncode == 0, done.stdout + done.stderr
        return [line.split("\t") for line in done.stdout.splitlines()]

    def run_unchecked(
        self, scenario: str, servers: str, topic: str, count: int = 0, **config: object
    ) -> "subprocess.CompletedProcess[str]":
        """Run a scenario to its end, whether it succeeds or not."""
        settings = {"bootstrap_servers": servers, **config}
        class_path = f"{self.classes}:{self.jars}/*"
        command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", class_path]
        command += ["Clients", scenario, topic, str(count)]
        command += [f"{key.replace('_', '.')}={value}" for key, value in settings.items()]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=_RUN_TIMEOUT_S, check=False
        )


def compile_java_clients(version: str, folder: Path) -> JavaClients:
    """Compile Clients.java against a version of kafka-clients, into an empty folder.

    Raises:
        CannotRunError: there is no JDK, or Maven Central can't be reached.
    """
    if shutil.which("javac") is None:
        raise CannotRunError("the Java clients need a JDK: javac is not here")
    jars = _jars(version)
    subprocess.run(
        ["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(folder), str(SOURCE)],
        check=True,
        timeout=_RUN_TIMEOUT_S,
    )
    return JavaClients(folder, jars)


def _jars(version: str) -> Path:
    artifacts = (f"org.apache.kafka:kafka-clients:{version}", "org.slf4j:slf4j-simple:1.7.36")
    return fetch_jars(f"kafka-clients-{version}", artifacts)
