"""Whether clients meet the same on Apache Kafka and on our broker, in situations of the atlas.

A pair is a client and a situation with `on_kafka`. It agrees if the data, what the caller heard
and whether the client is usable afterwards are the same on both clusters. On a busy machine a
timeout may come first on one of them, so a pair that differs is run again, on both.
"""

import subprocess
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from atlas.experiment import Experiment, Result
from atlas.kafka_lane import KafkaLane
from atlas.kafka_target import KafkaTarget
from atlas.lane import Lane
from atlas.situation import Situation, load_situations
from client import open_admin
from client.resources import ScramUpsertion
from tests.atlas.missing_clients import why_missing
from tests.differential.clusters import SHARE_KEYS, ApacheBrokers
from tests.interop.apache_cluster import ApacheCluster
from tests.interop.apache_kafka import ApacheKafka

ATTEMPTS = 3
_LIMIT_S = 40.0
_USERNAME, _PASSWORD = "alice", "secret"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_ITERATIONS = 4096
# As few partitions of internal topics as possible, and none of the delays that ours has not.
_PROPERTIES = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    **dict.fromkeys(SHARE_KEYS, "1"),
    **{f"group.{kind}.assignment.interval.ms": "0" for kind in ("consumer", "share", "streams")},
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        f'{_PLAIN} required user_{_USERNAME}="{_PASSWORD}";'
    ),
    "broker.session.timeout.ms": "60000",
}
_WARM_UP = ("LOG-35", "LOG-36", "LOG-37")


class Seen(NamedTuple):
    """What must agree."""

    data: str
    reported: str
    error: str | None
    error_class: str | None
    usable: bool | None

    def __str__(self) -> str:
        """Return it in a line."""
        usable = {True: "usable", False: "not usable", None: "not asked again"}[self.usable]
        error = f" {self.error} ({self.error_class})" if self.error else ""
        return f"{self.data}, {self.reported}{error}, {usable}"


class Pair(NamedTuple):
    """A client in a situation; `attempts` is how often it was run on both."""

    client: str
    situation: str
    attempts: int
    kafka: Seen | None
    ours: Seen | None
    reason: str = ""

    @property
    def agrees(self) -> bool:
        """Whether both clusters did the same to the client."""
        return self.kafka is not None and self.kafka == self.ours


class Needs(NamedTuple):
    """The cluster that situations need; quotas and stopped brokers concern all clients of it."""

    brokers: int
    config: tuple[tuple[str, str], ...]
    is_exclusive: bool


def seen(result: Result) -> Seen:
    """Return what must agree of a result."""
    found = result.manners
    return Seen(result.data, found.reported, found.error, found.error_class, found.usable)


def by_needs(situations: Collection[Situation]) -> dict[Needs, list[Situation]]:
    """Group the situations by the cluster that they need."""
    groups: dict[Needs, list[Situation]] = defaultdict(list)
    for situation in situations:
        given = situation.on_kafka
        if given is None:
            continue
        config = tuple(sorted((name, _text(value)) for name, value in given.config.items()))
        is_exclusive = bool(situation.quotas) or given.by == "kill"
        groups[Needs(situation.brokers, config, is_exclusive)].append(situation)
    return dict(groups)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextmanager
def apache_target(needs: Needs) -> Iterator[KafkaTarget]:
    """Run an Apache Kafka that fits."""
    properties = {**_PROPERTIES, **dict(needs.config)}
    with tempfile.TemporaryDirectory() as folder:
        if needs.brokers > 1:
            cluster = ApacheCluster(Path(folder), needs.brokers, properties)
            control = ApacheBrokers()
            control.by_id = cluster.brokers
            try:
                cluster.start()
                yield KafkaTarget(cluster.bootstrap_servers, control=control)
            finally:
                cluster.stop()
            return
        kafka = ApacheKafka(Path(folder), properties=properties)
        try:
            kafka.start()
            with open_admin(kafka.bootstrap_servers) as admin:
                scram = ScramUpsertion(_USERNAME, "SCRAM-SHA-256", _ITERATIONS, _PASSWORD)
                assert admin.alter_user_scram_credentials([scram]) == {_USERNAME: None}
            yield KafkaTarget(kafka.bootstrap_servers, sasl_servers=kafka.sasl_servers)
        finally:
            kafka.stop()


class ClientLanes:
    """The two lanes of a client."""

    def __init__(self, client: str, target: KafkaTarget) -> None:
        self.client = client
        self.ours = Lane(client)
        self.kafka = KafkaLane(client, target)

    def warm_up(self) -> None:
        """Have Kafka create its internal topics, and the client load its code."""
        for situation in load_situations(_WARM_UP).values():
            self.kafka.run(Experiment(self.client, situation, limit_s=_LIMIT_S))

    def compare(self, situation: Situation) -> Pair:
        """Run a situation on both until they agree, `ATTEMPTS` times at most."""
        experiment = Experiment(self.client, situation, limit_s=_LIMIT_S)
        try:
            for attempt in range(1, ATTEMPTS + 1):
                kafka = self.kafka.run(experiment)
                ours = self.ours.run(experiment)
                if kafka.cell == ours.cell == "unsupported":
                    reason = "; ".join(ours.reasons)
                    return Pair(self.client, situation.id, attempt, None, None, reason)
                pair = Pair(self.client, situation.id, attempt, seen(kafka), seen(ours))
                if pair.agrees:
                    break
        except Exception as error:  # noqa: BLE001 - the other pairs go on
            return Pair(self.client, situation.id, ATTEMPTS, None, None, f"error: {error!r}")
        return pair

    def close(self) -> None:
        """Stop the adapters and our clusters."""
        self.ours.close()
        self.kafka.close()


def compare(
    clients: Sequence[str],
    situations: Mapping[str, Situation],
    *,
    jobs: int,
    show: Callable[[Pair], None],
) -> list[Pair]:
    """Run all pairs on both clusters, `jobs` clients at the same time.

    Raises:
        CannotRunError: there is no java, no mvn, or nothing comes from Maven Central.
    """
    present = [client for client in clients if why_missing(client) is None]
    lanes: dict[str, ClientLanes] = {}
    pairs: list[Pair] = []
    lock = threading.Lock()

    def run(client: str, target: KafkaTarget, chosen: Sequence[Situation]) -> None:
        if client not in lanes:
            lanes[client] = ClientLanes(client, target)
        lanes[client].kafka.target = target
        for situation in chosen:
            pair = lanes[client].compare(situation)
            with lock:
                pairs.append(pair)
                show(pair)

    def run_group(needs: Needs, chosen: Sequence[Situation]) -> None:
        with (
            apache_target(needs) as target,
            ThreadPoolExecutor(1 if needs.is_exclusive else jobs) as pool,
        ):
            if needs.brokers == 1 and not needs.config:
                warm = ClientLanes(present[0], target)
                warm.warm_up()
                warm.close()
            list(pool.map(lambda one: run(one, target, chosen), present))

    try:
        for needs, chosen in by_needs(situations.values()).items():
            try:
                run_group(needs, chosen)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                # This Kafka did not start; the others may.
                seen_pairs = {(pair.client, pair.situation) for pair in pairs}
                for client, situation in product(present, chosen):
                    if (client, situation.id) not in seen_pairs:
                        reason = f"error: {error!r}"[:300]
                        pairs.append(Pair(client, situation.id, 0, None, None, reason))
                        show(pairs[-1])
    finally:
        for one in lanes.values():
            one.close()
    return pairs


def compare_and_print(
    console: Console, clients: Sequence[str], patterns: Sequence[str], jobs: int
) -> int:
    """Compare, and print each pair and those that differ; return 1 if a pair differs.

    Raises:
        CannotRunError: as in `compare`.
    """
    started_s = time.monotonic()

    def show(pair: Pair) -> None:
        state = "agree" if pair.agrees else pair.reason or "DIFFER"
        line = f"{pair.situation:14} {pair.client:18} {pair.attempts} {state}: {pair.kafka}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    pairs = compare(clients, load_situations(patterns), jobs=jobs, show=show)
    table = Table("situation", "client", "Apache Kafka", "mock-kafka")
    differing = [pair for pair in pairs if pair.kafka is not None and not pair.agrees]
    broken = [pair for pair in pairs if pair.reason.startswith("error: ")]
    for pair in sorted(differing):
        table.add_row(pair.situation, pair.client, str(pair.kafka), str(pair.ours))
    for pair in sorted(broken):
        table.add_row(pair.situation, pair.client, pair.reason, "")
    console.print(table)
    agreeing = [pair for pair in pairs if pair.agrees]
    repeated = sum(pair.attempts > 1 for pair in agreeing)
    unsupported = len(pairs) - len(agreeing) - len(differing) - len(broken)
    console.print(
        f"{len({pair.situation for pair in pairs})} situations, {len(pairs)} pairs in"
        f" {time.monotonic() - started_s:.0f} s: {len(agreeing)} agree, {repeated} of them not at"
        f" once; {len(differing)} differ, {len(broken)} could not be run,"
        f" {unsupported} are unsupported by the client"
    )
    return int(bool(differing or broken))
