"""Run Clients.java with any version of kafka-clients."""

from dataclasses import dataclass
from pathlib import Path

from scenarios.clients.java import compile_java, java_command, kafka_clients_jars
from scenarios.toolchain import cached_folder, digest
from tests.interop.client_program import ClientProgram, CompletedProgram, Lines, RunningProgram

SOURCE = Path(__file__).with_name("java") / "Clients.java"


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
        return JavaClients(self.classes, kafka_clients_jars(version))

    def run(
        self, scenario: str, servers: str, topic: str, count: int = 0, **config: object
    ) -> Lines:
        """Return what a scenario prints; dots of configuration keys are underscores."""
        return self._program.run(*_arguments(scenario, servers, topic, count, config))

    def run_unchecked(
        self, scenario: str, servers: str, topic: str, count: int = 0, **config: object
    ) -> CompletedProgram:
        """Run a scenario to its end, whether it succeeds or not."""
        return self._program.run_unchecked(*_arguments(scenario, servers, topic, count, config))

    def start(
        self, scenario: str, servers: str, topic: str, count: int = 0, **config: object
    ) -> RunningProgram:
        """Start a scenario that the test ends."""
        return self._program.start(*_arguments(scenario, servers, topic, count, config))

    def command(
        self, scenario: str, servers: str, topic: str, count: int = 0, **config: object
    ) -> list[str]:
        """Return the command line of a scenario, for those who read its output while it runs."""
        arguments = _arguments(scenario, servers, topic, count, config)
        return [*self._program.command, *map(str, arguments)]

    @property
    def _program(self) -> ClientProgram:
        class_path = f"{self.classes}:{self.jars}/*"
        return ClientProgram(java_command(class_path, "Clients", log_level="error"))


def _arguments(
    scenario: str, servers: str, topic: str, count: int, config: dict[str, object]
) -> list[object]:
    settings = {"bootstrap_servers": servers, **config}
    pairs = [f"{key.replace('_', '.')}={value}" for key, value in settings.items()]
    return [scenario, topic, count, *pairs]


def compile_java_clients(version: str) -> JavaClients:
    """Compile Clients.java against a version of kafka-clients, once for all test runs.

    Raises:
        CannotRunError: there is no JDK, or Maven Central can't be reached.
    """
    jars = kafka_clients_jars(version)
    classes = cached_folder(
        f"clients-{version}-{digest([SOURCE])}",
        lambda folder: compile_java([SOURCE], f"{jars}/*", folder),
    )
    return JavaClients(classes, jars)
