"""Compare Apache Kafka and our broker: `scripts/compare --seeds 3`, or `--api Fetch`."""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from kafka.protocol.api_key import ApiKey as KafkaApiKey
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from atlas.clients import CLIENTS
from protocol import messages
from scenarios.maven import CannotRunError
from tests.differential import replica_comparison
from tests.differential.atlas_comparison import compare_and_print
from tests.differential.authorization_matrix import declared_checks, matrix
from tests.differential.clusters import (
    REBALANCE_DELAY_MS,
    RELEASES,
    ComparedCluster,
    Setup,
    apache_cluster,
    our_cluster,
)
from tests.differential.conversation import RELEASE, kept_paths
from tests.differential.keeping import (
    differences_page,
    keep_authorized,
    keep_findings,
    keep_samples,
    kept_differences,
    record,
    replay_clusters,
    settle,
    write_agreement,
)
from tests.differential.lanes import Lanes
from tests.differential.loads import judged_loads
from tests.differential.log_comparison import (
    CHANGES,
    CLEANINGS,
    SEQUENCES_PER_SEED,
    compare_logs,
    keep,
    our_logs,
)
from tests.differential.log_comparison import SETUP as LOG_SETUP
from tests.differential.preparations import Versions
from tests.differential.search import (
    EXAMPLES_PER_SEED,
    Report,
    common_versions,
    schemas,
)
from tests.differential.strategies import REPLICATED_APIS, SHARE_APIS, Subject
from tests.differential.tools import (
    COMPARED_RELEASES,
    compare_session,
    known_differences,
    save_known_differences,
    sessions,
    tools_of_both,
)
from tests.spark_session import spark_session

_JOBS = 6


def main() -> int:
    """Run the command; return 1 if a difference is not in the list of allowed ones."""
    parser = _parser()
    options = parser.parse_args()
    if options.tools:
        if options.against not in COMPARED_RELEASES:
            parser.error(f"tools are those of {' and '.join(COMPARED_RELEASES)} only")
    elif options.against != RELEASE and (options.keep or options.record):
        parser.error(f"conversations are kept from {RELEASE} only")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # Leave no JVM behind.
    console = Console(width=None if sys.stdout.isatty() else 160)
    for is_chosen, compare in (
        (options.logs, _compare_logs),
        (options.replicas, _compare_replicas),
        (options.tools, _compare_tools),
        (options.load, _judge_loads),
        (options.atlas, _compare_atlas),
    ):
        if is_chosen:
            return compare(console, options)
    if options.record or options.settle:
        _replay(console, options)
        _write_page(options.page)
        return 0
    started_s = time.monotonic()
    setup = _setup(options)
    with tempfile.TemporaryDirectory() as folder:
        try:
            with (
                apache_cluster(Path(folder), setup) as kafka,
                our_cluster(setup) as ours,
            ):
                kafka_versions, our_versions = kafka.api_versions(), ours.api_versions()
                versions = common_versions(kafka_versions, our_versions, schemas())
                report = _run(console, options, kafka, ours, versions)
                if options.keep and options.acls:
                    keep_authorized(kafka, versions)
        except CannotRunError as error:
            console.print(f"cannot compare: {error}")
            return 2
    seconds = time.monotonic() - started_s
    _print_agreement(console, report, versions)
    _print_unserved(console, kafka_versions, our_versions)
    _print_findings(console, report)
    if options.keep and not options.acls:
        keep_samples(report, options.against)
    _write_page(options.page)
    if options.write_agreement:
        write_agreement(report)
    count = sum(agreement.conversations for agreement in report.agreement.values())
    console.print(
        f"{count} conversations in {seconds:.0f} s; {len(report.signatures)} differences,"
        f" {len(report.findings)} of them new;"
        f" {sum(report.allowed.values())} values of {len(report.allowed)} allowed fields ignored"
    )
    return bool(report.signatures)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/compare", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="seeds of each API")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--examples", type=int, default=EXAMPLES_PER_SEED, help="per seed and API")
    parser.add_argument("--api", action="append", help="this API only; can be repeated")
    parser.add_argument("--against", choices=RELEASES, default=RELEASE, help="Kafka's release")
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1)
    parser.add_argument("--share-version", type=int, choices=(0, 1), default=0)
    parser.add_argument("--jobs", type=int, default=_JOBS, help="conversations at the same time")
    parser.add_argument("--rebalance-delay-ms", type=int, default=REBALANCE_DELAY_MS)
    parser.add_argument(
        "--acls", action="store_true", help="compare what clients with access control lists may do"
    )
    parser.add_argument("--keep", action="store_true", help="keep the shortest conversations")
    parser.add_argument("--tools", action="store_true", help="compare Kafka's command line tools")
    parser.add_argument(
        "--logs", type=int, default=0, help="compare changes of logs: so many seeds"
    )
    parser.add_argument(
        "--replicas",
        type=int,
        default=0,
        help="compare high watermarks and lost ends: so many seeds",
    )
    parser.add_argument("--load", action="store_true", help="run random load plans on both")
    parser.add_argument(
        "--atlas", action="store_true", help="compare what clients meet in situations of the atlas"
    )
    parser.add_argument("--clients", help="with --atlas: only these, comma-separated")
    parser.add_argument("--situations", default="*", help="with --atlas: patterns of ids")
    parser.add_argument("--session", default="", help="only the tools' sessions with this text")
    parser.add_argument("--settle", action="store_true", help="replay what is kept, without Kafka")
    parser.add_argument("--record", action="store_true", help="replay what is kept with Kafka")
    parser.add_argument("--write-agreement", action="store_true", help="for docs/coverage.md")
    parser.add_argument("--page", type=Path, help="write kept differences to this file")
    return parser


def _setup(options: argparse.Namespace) -> Setup:
    return Setup(
        options.against,
        options.rebalance_delay_ms,
        options.brokers,
        options.share_version,
        has_authorizer=options.acls,
    )


def _compare_tools(console: Console, options: argparse.Namespace) -> int:
    """Run the sessions of Kafka's tools; return 1 if a difference is not known."""
    release = options.against
    with (
        tempfile.TemporaryDirectory() as folder,
        tools_of_both(Path(folder), release) as processes,
    ):
        known = known_differences(release)
        found = {}
        table = Table("session", "commands", "agree")
        for session in sessions(release):
            if options.session not in session.about:
                continue
            found[session.about] = compare_session(session, *processes)
            if options.keep:
                save_known_differences(release, known_differences(release) | found)
            total = len(session.commands)
            table.add_row(session.about, str(total), f"{1 - len(found[session.about]) / total:.0%}")
            for command, lines in found[session.about].items():
                console.print(f"[bold]{escape(command)}[/]", highlight=False)
                console.print(*lines, sep="\n", markup=False, highlight=False)
    console.print(table)
    count = sum(len(commands) for commands in found.values())
    played = [session for session in sessions(release) if session.about in found]
    total = sum(len(session.commands) for session in played)
    console.print(f"{count} of {total} commands differ")
    return int(any(known.get(about, {}) != commands for about, commands in found.items()))


def _compare_logs(console: Console, options: argparse.Namespace) -> int:
    """Compare retention and times of logs; return 1 if a sequence differs."""
    seeds = range(options.first, options.first + options.logs)
    with (
        tempfile.TemporaryDirectory() as folder,
        apache_cluster(Path(folder), LOG_SETUP) as kafka,
        our_logs() as ours,
    ):
        count = 0
        for rounds in (CHANGES, CLEANINGS):
            count += compare_logs(kafka, ours, rounds, seeds, console.print)
            if options.keep:
                keep(kafka, rounds, options.first)
    console.print(f"{count} of {2 * len(seeds) * SEQUENCES_PER_SEED} sequences differ")
    return int(count > 0)


def _compare_replicas(console: Console, options: argparse.Namespace) -> int:
    """Compare what leaders say while brokers stop; return 1 if a sequence differs."""
    seeds = range(options.first, options.first + options.replicas)
    with (
        tempfile.TemporaryDirectory() as folder,
        apache_cluster(Path(folder), replica_comparison.SETUP) as kafka,
        our_cluster(replica_comparison.SETUP) as ours,
    ):
        count = replica_comparison.compare_replicas(kafka, ours, seeds, console.print)
        if options.keep:
            replica_comparison.keep(kafka, options.first, console.print)
    kinds = len(replica_comparison.RUNS)
    sequences = kinds * len(seeds) * replica_comparison.SEQUENCES_PER_SEED
    console.print(f"{count} of {sequences} sequences differ")
    return int(count > 0)


def _judge_loads(console: Console, options: argparse.Namespace) -> int:
    """Run the loads of the seeds on both clusters; return 1 if a check accuses one of them."""
    setup = Setup(options.against, options.rebalance_delay_ms, share_version=options.share_version)
    seeds = range(options.first, options.first + options.seeds)
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    accused = passed = 0
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        try:
            kafka = stack.enter_context(apache_cluster(folder, setup))
            ours = stack.enter_context(our_cluster(setup))
            spark = stack.enter_context(spark_session(folder))
        except CannotRunError as error:
            console.print(f"cannot compare: {error}")
            return 2
        targets = {"Apache Kafka": kafka.servers, "mock-kafka": ours.servers}
        progress = stack.enter_context(Progress(*columns, console=console))
        task = progress.add_task("loads", total=len(seeds) * len(targets))
        for outcome in judged_loads(spark, targets, seeds, folder):
            progress.advance(task)
            passed += outcome.passed
            if outcome.accusations:
                accused += 1
                console.print(outcome.target, outcome.plan.text, markup=False, highlight=False)
                console.print(*outcome.accusations, sep="\n", markup=False, highlight=False)
    console.print(
        f"{len(seeds)} plans on {len(targets)} clusters: {passed} checks passed,"
        f" {accused} runs accuse their target"
    )
    return int(accused > 0)


def _compare_atlas(console: Console, options: argparse.Namespace) -> int:
    """Run clients in situations of the atlas on both; return 1 if a pair differs."""
    clients = options.clients.split(",") if options.clients else list(CLIENTS)
    try:
        return compare_and_print(console, clients, options.situations.split(","), options.jobs)
    except CannotRunError as error:
        console.print(f"cannot compare: {error}")
        return 2


def _replay(console: Console, options: argparse.Namespace) -> None:
    """Refresh the kept conversations, and the page of those that differ."""
    if options.record:
        setup = _setup(options)
        with (
            tempfile.TemporaryDirectory() as folder,
            apache_cluster(Path(folder), setup) as kafka,
        ):
            record(kafka, setup, console.print)
    with replay_clusters() as clusters:
        settle(clusters, console.print)


def _write_page(path: Path | None) -> None:
    if path is not None:
        path.write_text(differences_page(kept_paths()), encoding="utf-8")


def _run(
    console: Console,
    options: argparse.Namespace,
    kafka: ComparedCluster,
    ours: ComparedCluster,
    versions: Versions,
) -> Report:
    apis = [messages.API_NAMES[messages.api_key_of(name)] for name in options.api or versions]
    if options.brokers > 1:
        apis = [api for api in apis if api in REPLICATED_APIS]
    if options.share_version and not options.api:
        apis = [api for api in apis if api in SHARE_APIS]
    checks = declared_checks() if options.acls else {}
    subjects = [
        Subject(
            api,
            versions,
            options.brokers,
            options.share_version,
            options.against,
            checks.get(api, ()),
        )
        for api in apis
        if api in versions and (api in checks or not options.acls)
    ]
    report = Report()
    is_kept = options.against == RELEASE
    kept = frozenset(kept_differences() if is_kept else ())
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Lanes(kafka, ours, options.jobs) as lanes, Progress(*columns, console=console) as progress:
        jobs = [
            partial(lanes.search, subject, seed=seed, examples=options.examples)
            for seed in range(options.first, options.first + options.seeds)
            for subject in subjects
        ]
        if options.acls:
            jobs += [
                partial(lanes.examine, subject, conversations=part)
                for subject in subjects
                for part in matrix(subject.api, subject.checks, versions)
            ]
        task = progress.add_task("seeds", total=len(jobs))
        running: set[Future[Report]] = set()
        while jobs or running:
            while jobs and len(running) < options.jobs:
                known = kept | {finding.signature for finding in report.findings}
                running.add(jobs.pop(0)(known))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                found = future.result()
                report.add(found)
                if options.keep:
                    keep_findings(found.findings, options.against)
                progress.advance(task)
            progress.update(task, description=f"{len(report.findings)} differences")
    report.findings = list({finding.signature: finding for finding in report.findings}.values())
    return report


def api_name(key: int) -> str:
    """Return Kafka's name of an API, also of one without a schema here."""
    names: dict[int, str] = {int(api_key): api_key.name for api_key in KafkaApiKey}
    return names.get(key, str(key))


def _print_unserved(
    console: Console, kafka: Mapping[int, tuple[int, int]], ours: Mapping[int, tuple[int, int]]
) -> None:
    """Print what Kafka advertises and we do not, and what only we do."""
    missing = [api_name(key) for key in sorted(kafka) if key not in ours]
    if missing:
        console.print(f"not served: {', '.join(missing)}", highlight=False)
    for key in sorted(kafka.keys() & ours.keys()):
        if kafka[key] != ours[key]:
            console.print(
                f"{api_name(key)}: Kafka serves {kafka[key][0]}-{kafka[key][1]},"
                f" we serve {ours[key][0]}-{ours[key][1]}",
                highlight=False,
            )


def _print_agreement(console: Console, report: Report, versions: Versions) -> None:
    table = Table("API", "versions", "conversations", "responses", "agree", "differences")
    for api, agreement in sorted(report.agreement.items()):
        low, high = versions.get(api, ("", ""))
        differences = sum(signature.startswith(f"{api} ") for signature in report.signatures)
        share = 100 * agreement.agreeing / agreement.responses if agreement.responses else 0
        table.add_row(
            api,
            f"{low}-{high}",
            str(agreement.conversations),
            str(agreement.responses),
            f"{share:.1f} %",
            str(differences),
        )
    console.print(table)


def _print_findings(console: Console, report: Report) -> None:
    for finding in sorted(report.findings, key=lambda finding: finding.signature):
        console.print(f"\n[bold]{finding.signature}[/]", highlight=False)
        console.print(finding.conversation.to_json(), markup=False, highlight=False)
        for line in finding.lines:
            console.print(f"  {line}", markup=False, highlight=False)
    for error in report.errors[:10]:
        console.print(error, markup=False)


if __name__ == "__main__":
    sys.exit(main())
