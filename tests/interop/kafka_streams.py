"""Run WordCount.java, an application of Kafka Streams, in processes that a test kills."""

import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from scenarios.clients.java import compile_java, java_command
from scenarios.maven import fetch_jars
from tests.interop.client_program import Lines

VERSION = "4.4.0"
BROKER_ASSIGNS_VERSION = "4.4.0"
"""A version whose threads can leave the assignment of tasks to the broker (KIP-1071)."""
SOURCE = Path(__file__).with_name("java") / "WordCount.java"


@dataclass
class WordCountInstance:
    """One process; it starts and ends with the block. `lines` is what it has printed so far."""

    command: list[str]
    lines: Lines = field(default_factory=list)

    def __enter__(self) -> "WordCountInstance":
        self._process = subprocess.Popen(
            self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n").split("\t"))

    @property
    def errors(self) -> Lines:
        """Return the errors that threads ended with."""
        return [line for line in self.lines if line[0] == "error"]

    def kill(self) -> None:
        """End the process at once: it closes nothing and leaves no group."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()


class WordCount:
    """The compiled program."""

    def __init__(self, folder: Path, version: str = VERSION) -> None:
        """Compile it into a folder, which also gets the state of its instances.

        Raises:
            CannotRunError: there is no JDK, or Maven Central can't be reached.
        """
        artifacts = (
            f"org.apache.kafka:kafka-streams:{version}",
            "org.slf4j:slf4j-simple:1.7.36",
        )
        jars = fetch_jars(f"kafka-streams-{version}", artifacts)
        compile_java([SOURCE], f"{jars}/*", folder)
        self._folder = folder
        self._class_path = f"{folder}:{jars}/*"

    def instance(
        self,
        name: str,
        servers: str,
        topic: str,
        applications: Mapping[str, str],
        config: Mapping[str, object],
    ) -> WordCountInstance:
        """Return an instance that counts the words of a topic; it is not started.

        Args:
            name: of the instance, and of its state's folder.
            servers: the cluster.
            topic: the topic with lines.
            applications: the processing guarantee by application id.
            config: more of Kafka Streams' configuration; dots of keys are underscores.
        """
        settings = {
            "bootstrap_servers": servers,
            "client_id": name,
            "state_dir": self._folder / name,
            **config,
        }
        arguments = [topic]
        arguments += [f"{guarantee}:{name}" for name, guarantee in applications.items()]
        arguments += [f"{key.replace('_', '.')}={value}" for key, value in settings.items()]
        return WordCountInstance(
            java_command(self._class_path, "WordCount", *arguments, log_level="error")
        )
