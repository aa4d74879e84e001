"""Programs that use the Java clients: one source file each, kafka-clients from Maven Central."""

import shutil
from pathlib import Path

from scenarios.maven import CannotRunError, fetch_jars


def java_command(source: Path, version: str) -> list[str]:
    """Return the command that compiles and runs a source file with this version of kafka-clients.

    The program's arguments go behind it.

    Raises:
        CannotRunError: no JDK, no mvn, or Maven Central does not have the version.
    """
    if shutil.which("javac") is None:
        raise CannotRunError("the Java clients need a JDK: javac is not here")
    artifacts = (f"org.apache.kafka:kafka-clients:{version}", "org.slf4j:slf4j-simple:1.7.36")
    jars = fetch_jars(f"kafka-clients-{version}", artifacts)
    command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    command += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", f"{jars}/*", str(source)]
    return command
