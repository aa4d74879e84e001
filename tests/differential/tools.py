"""Run Kafka's command line tools against a cluster, all of them in one JVM.

A session is a list of commands such as `topics --create --topic ~a`. Each tool gets
`--bootstrap-server`, except if the command has `{servers}` or `{sasl}`, the addresses of the
listeners, or `--no-server`. `~` stands for a prefix, `{file:NAME}` for a file of the session,
`{NAME}` for what a command before kept of its output.
"""

import base64
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import msgspec

from scenarios.clients.java import compile_java, java_command
from scenarios.maven import CannotRunError, fetch_jars
from tests.differential.canonical import new_prefix
from tests.differential.clusters import (
    RELEASES,
    REPLAY_REBALANCE_DELAY_MS,
    SHARE_KEYS,
    ComparedCluster,
    Setup,
    apache_cluster,
    our_cluster,
)
from tests.differential.streams_members import StreamsMembers
from tests.differential.tool_output import comparable

SESSIONS = Path(__file__).with_name("tool_sessions.json")
KNOWN = Path(__file__).with_name("tool_differences")
"""A file for each release."""
COMPARED_RELEASES = ("4.1", "4.4")
_SOURCE = Path(__file__).with_name("java") / "Tools.java"
_WITH_PUBLIC_EXIT = frozenset({"4.1"})
"""Releases whose class Exit is where Tools.java imports it from."""
_WITHOUT_STREAMS_GROUPS = frozenset({"4.1"})
_AT_ONCE = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.assignment.interval.ms": "0",
}
"""A member of a streams group gets its tasks with the first heartbeat, also on Apache Kafka."""
# Longer than any command waits for records, `--timeout-ms 60000`, also on a busy machine.
_LIMIT_MS = 120_000
_OWN_JVM_TIMEOUT_S = 300
_PACKAGE = "org.apache.kafka.tools"

TOOLS: dict[str, str] = {
    "acls": f"{_PACKAGE}.AclCommand",
    "broker-api-versions": f"{_PACKAGE}.BrokerApiVersionsCommand",
    "client-metrics": f"{_PACKAGE}.ClientMetricsCommand",
    "cluster": f"{_PACKAGE}.ClusterTool",
    "client-compatibility": f"{_PACKAGE}.ClientCompatibilityTest",
    "configs": f"{_PACKAGE}.ConfigCommand",
    "console-consumer": f"{_PACKAGE}.consumer.ConsoleConsumer",
    "console-producer": f"{_PACKAGE}.ConsoleProducer",
    "console-share-consumer": f"{_PACKAGE}.consumer.ConsoleShareConsumer",
    "consumer-perf": f"{_PACKAGE}.ConsumerPerformance",
    "consumer-groups": f"{_PACKAGE}.consumer.group.ConsumerGroupCommand",
    "delegation-tokens": f"{_PACKAGE}.DelegationTokenCommand",
    "delete-records": f"{_PACKAGE}.DeleteRecordsCommand",
    "end-to-end-latency": f"{_PACKAGE}.EndToEndLatency",
    "features": f"{_PACKAGE}.FeatureCommand",
    "get-offsets": f"{_PACKAGE}.GetOffsetShell",
    "groups": f"{_PACKAGE}.GroupsCommand",
    "join-group": "JoinGroup",
    "leader-election": f"{_PACKAGE}.LeaderElectionCommand",
    "leave-groups": "LeaveGroups",
    "log-dirs": f"{_PACKAGE}.LogDirsCommand",
    "metadata-quorum": f"{_PACKAGE}.MetadataQuorumCommand",
    "open-transaction": "OpenTransaction",
    "producer-perf": f"{_PACKAGE}.ProducerPerformance",
    "reassign-partitions": f"{_PACKAGE}.reassign.ReassignPartitionsCommand",
    "share-consumer-perf": f"{_PACKAGE}.ShareConsumerPerformance",
    "share-groups": f"{_PACKAGE}.consumer.group.ShareGroupCommand",
    "streams-application-reset": f"{_PACKAGE}.StreamsResetter",
    "streams-member": "",
    "streams-groups": f"{_PACKAGE}.streams.StreamsGroupCommand",
    "topics": f"{_PACKAGE}.TopicCommand",
    "transactional-message-copier": f"{_PACKAGE}.TransactionalMessageCopier",
    "transactions": f"{_PACKAGE}.TransactionsCommand",
    "verifiable-consumer": f"{_PACKAGE}.VerifiableConsumer",
    "verifiable-producer": f"{_PACKAGE}.VerifiableProducer",
}
"""The main classes of Kafka's scripts `kafka-NAME.sh`, and three of our own in Tools.java.

`streams-member join GROUP TOPIC` and `streams-member leave` run here: no tool becomes a member of a
streams group.
"""
_FORMER_CLASSES = {"4.1": {"configs": "kafka.admin.ConfigCommand"}}
"""Main classes that had another name in a release."""
_ENDS_ITS_JVM = frozenset(
    {
        "cluster",
        "features",
        "transactional-message-copier",
        "verifiable-consumer",
        "verifiable-producer",
    }
)
"""Tools that end their JVM themselves: each call gets its own."""
_AFTER_SUBCOMMAND = frozenset({"cluster"})
"""Tools whose --bootstrap-server follows the subcommand."""

_CHANGE = re.compile(r"--(alter|create|delete|execute|cancel|expire|renew)\b|upgrade|downgrade")
_BROKER_CHANGE = re.compile(r"configs .*--alter .*--(broker|entity-type brokers)")
_CHANGE_S, _BROKER_CHANGE_S = 0.6, 1.5
"""A broker of Kafka applies a change of metadata some time after the response to it.

While it applies its own configuration, it describes the old values with the new synonyms.
"""


class Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One call of a tool; `input` is its standard input.

    `keep` has regular expressions by name: what their first group matches in the output replaces
    `{NAME}` in later commands and files. `has_own_numbers`: numbers in the output are measured, or
    count something else on each cluster. `has_any_order`: a Java set decides the order of lines.
    """

    command: str
    input: str = ""
    keep: dict[str, str] = {}
    has_own_numbers: bool = False
    has_any_order: bool = False


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Commands in order, about one subject; a file is written when a command names it.

    `allowed` has regular expressions of lines that may differ, with the reason. `differs_because`
    is why there are known differences beyond these. It is played with the tools of `releases`.
    """

    about: str
    commands: tuple[Command | str, ...]
    files: dict[str, str] = {}
    allowed: dict[str, str] = {}
    differs_because: str = ""
    releases: tuple[str, ...] = COMPARED_RELEASES


class Result(NamedTuple):
    """What a command did, without what differs between any two clusters."""

    status: str
    output: str
    errors: str


def sessions(release: str | None = None) -> list[Session]:
    """Return the sessions of `tool_sessions.json`: all, or those of a release."""
    found = msgspec.json.decode(SESSIONS.read_bytes(), type=list[Session])
    return [session for session in found if release is None or release in session.releases]


def fetch_tools(release: str) -> Path:
    """Return the folder with the jars of a release's tools.

    Raises:
        CannotRunError: no java, no mvn, or nothing comes from Maven Central.
    """
    version = RELEASES[release]
    artifacts = [f"org.apache.kafka:{name}:{version}" for name in ("kafka_2.13", "kafka-tools")]
    return fetch_jars(f"kafka-tools-{version}", [*artifacts, "org.slf4j:slf4j-simple:1.7.36"])


class CompiledTools(NamedTuple):
    """The folders of Tools.java's classes and of Kafka's jars, and the release of these."""

    classes: Path
    jars: Path
    release: str


def compile_tools(folder: Path, release: str) -> CompiledTools:
    """Compile Tools.java for a release.

    Raises:
        CannotRunError: there is no JDK, or nothing comes from Maven Central.
    """
    jars = fetch_tools(release)
    if shutil.which("javac") is None:
        raise CannotRunError("the tools need a JDK: javac is not here")
    source = folder / _SOURCE.name
    text = _SOURCE.read_text(encoding="utf-8")
    if release not in _WITH_PUBLIC_EXIT:
        text = text.replace("common.utils.Exit;", "common.utils.internals.Exit;")
    source.write_text(text, encoding="utf-8")
    compile_java([source], f"{jars}/*", folder)
    return CompiledTools(folder, jars, release)


class ToolProcess:
    """One JVM that runs tools against one cluster."""

    def __init__(self, tools: CompiledTools, cluster: ComparedCluster, folder: Path) -> None:
        self._main_classes = TOOLS | _FORMER_CLASSES.get(tools.release, {})
        self._listeners = {
            placeholder: "{}:{}".format(*cluster.address(1, listener))
            for placeholder, listener in (("servers", "PLAINTEXT"), ("sasl", "SASL_PLAINTEXT"))
        }
        self._is_asynchronous = cluster.settle_s > 0
        self._folder = folder
        self._prefix = ""
        self._files: dict[str, str] = {}
        self._kept: dict[str, str] = {}
        self._class_path = f"{tools.classes}:{tools.jars}/*"
        self._process = subprocess.Popen(
            java_command(self._class_path, "Tools", log_level="off"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._streams_members = StreamsMembers(self._listeners["servers"])

    def __enter__(self) -> "ToolProcess":
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._streams_members.close()
        self._process.kill()
        self._process.communicate()

    def run(self, session: Session, prefix: str = "") -> list[Result]:
        """Run the commands of a session."""
        self._prefix = prefix or new_prefix()
        self._files, self._kept = session.files, {}
        results = []
        for command in map(_command, session.commands):
            self._streams_members.stay()
            results.append(self._run(command))
            if self._is_asynchronous and _CHANGE.search(command.command):
                is_slow = _BROKER_CHANGE.search(command.command)
                time.sleep(_BROKER_CHANGE_S if is_slow else _CHANGE_S)
        return results

    def _run(self, command: Command) -> Result:
        tool, *arguments = shlex.split(command.command)
        needs_server = not {"--no-server", "--bootstrap-server"} & set(arguments)
        needs_server &= tool != "streams-member"
        if needs_server and not re.search(r"\{(servers|sasl)\}", command.command):
            position = 1 if tool in _AFTER_SUBCOMMAND else 0
            arguments[position:position] = ["--bootstrap-server", "{servers}"]
        arguments = [self._filled(given) for given in arguments if given != "--no-server"]
        if tool == "streams-member":
            self._streams_members.run(*arguments)
            return Result("0", "", "")
        run = self._run_alone if tool in _ENDS_ITS_JVM else self._run_inside
        status, output, errors = run(
            self._main_classes[tool], arguments, self._filled(command.input)
        )
        for name, pattern in command.keep.items():
            found = re.search(pattern, output)
            self._kept[name] = found[1] if found else f"no {name}"
        return Result(status, self._text(output, command), self._text(errors, command))

    def _filled(self, text: str) -> str:
        """Replace `~` and all placeholders; write the file that `{file:NAME}` names."""
        text = text.replace("~", self._prefix)
        for name, value in (self._listeners | self._kept).items():
            text = text.replace(f"{{{name}}}", value)
        return re.sub(r"\{file:(\S+?)\}", lambda found: self._write(found[1]), text)

    def _write(self, name: str) -> str:
        path = self._folder / name
        path.write_text(self._filled(self._files[name]), encoding="utf-8")
        return str(path)

    def _run_inside(self, main_class: str, arguments: list[str], text: str) -> Result:
        encoded_input = base64.b64encode(text.encode()).decode()
        line = [str(_LIMIT_MS), main_class, encoded_input, *arguments]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(line) + "\n")
        self._process.stdin.flush()
        result = self._process.stdout.readline()
        assert result, f"the JVM ended: {main_class} {arguments}"
        status, *encoded = result.rstrip("\n").split("\t")
        assert not status.startswith("no "), status
        output, errors = (base64.b64decode(part).decode() for part in encoded)
        return Result(status, output, errors)

    def _run_alone(self, main_class: str, arguments: list[str], text: str) -> Result:
        done = subprocess.run(
            java_command(self._class_path, main_class, *arguments, log_level="off"),
            check=False,
            capture_output=True,
            input=text,
            text=True,
            timeout=_OWN_JVM_TIMEOUT_S,
        )
        return Result(str(done.returncode), done.stdout, done.stderr)

    def _text(self, text: str, command: Command) -> str:
        """Return the output of a command without what differs between any two clusters."""
        known = {self._prefix: "~", str(self._folder): "folder"}
        known |= {value: f"{{{name}}}" for name, value in self._kept.items()}
        known |= {value: name for name, value in self._listeners.items()}
        known |= {value.rpartition(":")[2]: "port" for value in self._listeners.values()}
        for value, name in known.items():
            text = text.replace(value, name)
        return comparable(
            text,
            has_own_numbers=command.has_own_numbers,
            has_any_order=command.has_any_order,
        )


def _command(given: Command | str) -> Command:
    return given if isinstance(given, Command) else Command(given)


def command_line(given: Command | str) -> str:
    """Return the command line of a command."""
    return _command(given).command


@contextmanager
def tools_of_both(folder: Path, release: str) -> Iterator[tuple[ToolProcess, ToolProcess]]:
    """Run both clusters of a release, with delegation tokens, and a JVM with its tools for each.

    Raises:
        CannotRunError: there is no JDK, or nothing comes from Maven Central.
    """
    setup = Setup(
        release,
        rebalance_delay_ms=REPLAY_REBALANCE_DELAY_MS,
        config={
            "delegation.token.secret.key": "secret-of-both",
            **dict.fromkeys(SHARE_KEYS, "1"),
            **({} if release in _WITHOUT_STREAMS_GROUPS else _AT_ONCE),
        },
    )
    with (
        apache_cluster(folder, setup) as kafka,
        our_cluster(setup) as ours,
        tool_processes(kafka, ours, release) as processes,
    ):
        yield processes


@contextmanager
def tool_processes(
    kafka: ComparedCluster, ours: ComparedCluster, release: str
) -> Iterator[tuple[ToolProcess, ToolProcess]]:
    """Run a JVM with the tools of a release for each of both clusters.

    Raises:
        CannotRunError: there is no JDK, or nothing comes from Maven Central.
    """
    with tempfile.TemporaryDirectory() as temporary, ExitStack() as stack:
        folder = Path(temporary)
        tools = compile_tools(folder, release)
        processes = []
        for name, cluster in (("kafka", kafka), ("ours", ours)):
            files = folder / name
            files.mkdir()
            processes.append(stack.enter_context(ToolProcess(tools, cluster, files)))
        yield processes[0], processes[1]


def compare_session(
    session: Session, kafka: ToolProcess, ours: ToolProcess
) -> dict[str, list[str]]:
    """Run a session with both; return the differences of each command that has any.

    The keys are the commands with their number in the session.
    """
    prefix = new_prefix()
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(process.run, session, prefix) for process in (kafka, ours)]
        kafka_results, our_results = (run.result() for run in runs)
    found: dict[str, list[str]] = {}
    for number, (command, expected, actual) in enumerate(
        zip(session.commands, kafka_results, our_results, strict=True), 1
    ):
        lines = []
        if expected.status != actual.status:
            lines.append(f"status: Kafka {expected.status}, ours {actual.status}")
        for kafka_text, our_text in (
            (expected.output, actual.output),
            (expected.errors, actual.errors),
        ):
            lines += differing_lines(kafka_text, our_text, session.allowed)
        if lines:
            found[f"{number}: {command_line(command)}"] = lines
    return found


def differing_lines(kafka: str, ours: str, allowed: Collection[str] = ()) -> list[str]:
    """Return the lines that only one of both has, with the sign of a diff.

    Lines that match a regular expression of `allowed` are not compared.
    """

    def compared(text: str) -> list[str]:
        lines = text.splitlines()
        return [line for line in lines if not any(re.search(pattern, line) for pattern in allowed)]

    kafka_lines, our_lines = compared(kafka), compared(ours)
    lines = [f"Kafka: {line}" for line in kafka_lines if line not in our_lines]
    lines += [f"ours:  {line}" for line in our_lines if line not in kafka_lines]
    if not lines and kafka_lines != our_lines:
        lines = ["the same lines in another order, or not as often"]
    return lines


def known_differences(release: str) -> dict[str, dict[str, list[str]]]:
    """Return the differences that are kept of a release, by session and command."""
    path = KNOWN / f"{release}.json"
    return msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, list[str]]])


def save_known_differences(release: str, found: Mapping[str, Mapping[str, list[str]]]) -> None:
    """Keep these differences of a release; sessions without any are left out."""
    differing = {about: commands for about, commands in found.items() if commands}
    text = msgspec.json.format(msgspec.json.encode(differing), indent=1).decode()
    (KNOWN / f"{release}.json").write_text(text + "\n", encoding="utf-8")
