"""Java programs: how they are compiled and run, with kafka-clients from Maven Central."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from scenarios.maven import CannotRunError, fetch_jars

_COMPILE_TIMEOUT_S = 60


def kafka_clients_jars(version: str, name: str = "", more: Sequence[str] = ()) -> Path:
    """Return the folder with the jars of this version of kafka-clients.

    Args:
        version: of kafka-clients.
        name: of its folder in the cache, which needs one if there is more in it.
        more: other artifacts, as for `fetch_jars`.

    Raises:
        CannotRunError: no JDK, no mvn, or Maven Central does not have the version.
    """
    if shutil.which("javac") is None:
        raise CannotRunError("the Java clients need a JDK: javac is not here")
    artifacts = (f"org.apache.kafka:kafka-clients:{version}", "org.slf4j:slf4j-simple:1.7.36")
    return fetch_jars(name or f"kafka-clients-{version}", (*artifacts, *more))


def java_command(
    class_path: str, *arguments: str, heap_mb: int = 256, log_level: str = "info"
) -> list[str]:
    """Return the command that starts a JVM for a short life on a small machine.

    Args:
        class_path: folders and `FOLDER/*` for all jars of a folder, separated by colons.
        arguments: a class, or a source file to compile in memory, and the program's own arguments.
        heap_mb: the largest size of the heap.
        log_level: what slf4j-simple prints to standard error: "info", "error" or "off".
    """
    options = [f"-Xmx{heap_mb}m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    options.append(f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}")
    return ["java", *options, "-cp", class_path, *arguments]


def compile_java(sources: Sequence[Path], class_path: str, folder: Path) -> None:
    """Compile source files against a class path, as `java_command` has it, into `folder`.

    Raises:
        CalledProcessError: the compiler found errors.
    """
    command = ["javac", "-nowarn", "-cp", class_path, "-d", str(folder), *map(str, sources)]
    subprocess.run(  # noqa: S603 - source files of ours, no shell
        command,
        check=True,
        timeout=_COMPILE_TIMEOUT_S,
    )
