"""A rule about Fetch stands in one place: what is added there applies to every request.

Each test adds a check, a charge or a field at run time, and takes out one call to show that the
test notices.
"""

import ast
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.request_bytes import frame_request
from broker.dispatch import fetch_replay
from broker.dispatch.connection import Connection
from broker.dispatch.dispatcher import Dispatcher
from broker.dispatch.fetch_replay import FetchReplay
from broker.faults import fault_rule
from broker.fetch import fetch_response, partition_read
from broker.fetch.partition_read import read_partition
from broker.handlers import k01_fetch
from broker.journal.journal import Journal
from broker.journal.lines import Entry, Outcome
from broker.request import throttling
from broker.request.throttling import charge_fetch
from protocol import messages
from protocol.acls import PermissionType
from protocol.api_keys import ApiKey
from protocol.codec import decode_response
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import acl, authorizer_of
from tests.broker.cluster.stored_records import append
from tests.broker.cluster_builder import ALL_VERSIONS, NOW_MS, make_cluster
from tests.broker.connection_driver import FRAME_BYTES_MAX
from tests.broker.dispatch.produce_runs import counted_calls
from tests.simulation.patches import edit

ROOT = Path(__file__).parents[3]
COUNT = 30
BEFORE = 6
"""Requests of the kind before something is added: whatever may be remembered of them, is."""
WAIT_MS = 500
RECORD_BYTES = 100


@dataclass(frozen=True)
class Kind:
    """Requests that are sent in some way, and what the cluster has to do for them."""

    version: int = 12
    partition_count: int = 1
    in_session: bool = True
    reads_committed: bool = False
    waits: bool = False
    per_read: int = 1
    quotas: str | None = None
    """None, "enforced" or "shadow"."""
    has_journal: bool = False
    has_rule: bool = False


KINDS = {
    "single": Kind(),
    "version 4": Kind(4, in_session=False),
    "version 7": Kind(7),
    "version 9": Kind(9),
    "version 18": Kind(18),
    "many partitions": Kind(partition_count=20),
    "more than a hundred partitions": Kind(partition_count=101),
    "without a session": Kind(in_session=False),
    "read_committed": Kind(reads_committed=True),
    "pipelined": Kind(per_read=5),
    "pipelined, without a session": Kind(per_read=5, in_session=False),
    "waiting": Kind(waits=True),
    "waiting, many partitions": Kind(waits=True, partition_count=20),
    "waiting, without a session": Kind(waits=True, in_session=False),
    "quotas": Kind(quotas="enforced"),
    "quotas, waiting": Kind(quotas="enforced", waits=True),
    "shadow quotas": Kind(quotas="shadow"),
    "journal": Kind(has_journal=True),
    "journal, waiting": Kind(has_journal=True, waits=True),
    "a fault rule": Kind(has_rule=True),
    "all": Kind(18, 20, reads_committed=True, waits=True, quotas="enforced", has_journal=True),
}
every_kind = pytest.mark.parametrize("kind", [pytest.param(KINDS[name], id=name) for name in KINDS])


def _raise(error: BaseException, _context: object) -> None:
    raise error


class GuardedRun:
    """A cluster, and a consumer that has sent some requests of a kind."""

    def __init__(self, kind: Kind, **overrides: str) -> None:
        self.kind = kind
        self.cluster = make_cluster(1, **ALL_VERSIONS, **overrides)
        self.dispatcher = Dispatcher(self.cluster, _raise, lambda: 0)
        self.topic = self.cluster.create_topic("t", [(1,)] * kind.partition_count, {})
        self.dispatcher.journal.is_enabled = kind.has_journal
        if kind.has_rule:
            rule = fault_rule(api="Metadata", error="NOT_CONTROLLER")
            self.dispatcher.faults.add(rule, NOW_MS)
        if kind.quotas is not None:
            is_shadow = kind.quotas == "shadow"
            value = 1.0 if is_shadow else 1e9
            for key in ("consumer_byte_rate", "request_percentage"):
                change = (("user", "ANONYMOUS"),), [(key, value)]
                assert self.cluster.quotas.clients.alter(*change, is_shadow=is_shadow) is None
        self.connection = Connection(
            self.dispatcher,
            broker_id=1,
            connection_id=1,
            client_host="h",
            frame_bytes_max=FRAME_BYTES_MAX,
            on_ready=lambda: None,
        )
        self.offset = self.session_id = self.epoch = 0
        self.responses: list[Any] = []
        if kind.in_session:
            self._take(self.connection.receive(self._request(), NOW_MS).write)
            self.session_id, self.epoch = self.responses[0].session_id, 1
        self.send(BEFORE)
        self.responses.clear()

    def send(self, count: int) -> None:
        """Send requests, each for a new record of each partition."""
        kind = self.kind
        for _ in range(count // kind.per_read):
            data = b""
            if not kind.waits:
                self._append()
            for _ in range(kind.per_read):
                data += self._request()
                self.epoch += 1 if kind.in_session else 0
            self._take(self.connection.receive(data, NOW_MS).write)
            if kind.waits:
                self._append()
            self.cluster.timers.run_due(NOW_MS)
            self._take(self.connection.resume(NOW_MS).write)
            self.offset += 1

    def _append(self) -> None:
        for index in range(self.kind.partition_count):
            append(self.cluster, self.topic, RECORD_BYTES, partition=index)

    def _request(self) -> bytes:
        kind, version, topic_class = self.kind, self.kind.version, messages.FetchRequest.FetchTopic
        partitions: list[Any] = [
            topic_class.FetchPartition(
                version=version,
                partition=index,
                current_leader_epoch=-1,
                fetch_offset=self.offset,
                last_fetched_epoch=-1,
                log_start_offset=-1,
                partition_max_bytes=1 << 20,
            )
            for index in range(kind.partition_count)
        ]
        named: Any = topic_class(version=version, partitions=partitions)
        if version >= 13:
            named.topic_id = self.topic.topic_id
        else:
            named.topic = "t"
        request: Any = messages.FetchRequest(
            version=version,
            max_wait_ms=WAIT_MS if self.kind.waits and (self.epoch or not kind.in_session) else 0,
            min_bytes=1,
            max_bytes=1 << 20,
            isolation_level=int(kind.reads_committed),
            topics=[named],
        )
        if version < 15:
            request.replica_id = -1
        if version >= 7:
            request.session_id = self.session_id
            request.session_epoch = self.epoch if kind.in_session else -1
            request.forgotten_topics_data = []
        if version >= 11:
            request.rack_id = ""
        return frame_request(request, 0)

    def _take(self, written: bytes) -> None:
        while written:
            end = 4 + int.from_bytes(written[:4])
            self.responses.append(decode_response(written[:end], ApiKey.FETCH, self.kind.version))
            written = written[end:]

    def partitions(self) -> list[list[Any]]:
        """Return the partitions of each response."""
        return [
            [part for topic in response.responses for part in topic.partitions]
            for response in self.responses
        ]


# A check ----------------------------------------------------------------------------------------


def refused_share(kind: Kind) -> tuple[int, int]:
    """Return how many partitions a check refuses that is added, and how many have records."""
    run = GuardedRun(kind)
    with pytest.MonkeyPatch.context() as patch:
        refusal = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        patch.setattr(partition_read, "checked_partition", lambda *_arguments: refusal)
        run.send(COUNT)
    parts = [part for found in run.partitions() for part in found]
    refused = sum(part.error_code == refusal for part in parts)
    return refused, sum(bool(part.records) for part in parts)


@every_kind
def test_a_check_that_is_added_refuses_every_partition(kind: Kind) -> None:
    assert refused_share(kind) == (COUNT * kind.partition_count, 0)


CHECK = "partition = checked_partition(cluster, params, cached)"


@pytest.mark.parametrize("name", ["single", "without a session"])
def test_the_test_notices_a_partition_that_is_not_checked(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, read_partition, CHECK, "partition = find_partition(cluster, cached)")
        assert refused_share(KINDS[name]) == (0, COUNT)


# A rule that denies -----------------------------------------------------------------------------

WITH_AUTHORIZER = {"authorizer.class.name": "acl", "allow.everyone.if.no.acl.found": "true"}
DENY = acl("t", permission_type=PermissionType.DENY)


def denied_share(kind: Kind, *mutant: Any) -> tuple[int, int]:
    """Return how many partitions a rule denies that is added, and how many have records."""
    run = GuardedRun(kind, **WITH_AUTHORIZER)
    with pytest.MonkeyPatch.context() as patch:
        if mutant:
            edit(patch, *mutant)
        authorizer_of(run.cluster).add(DENY)
        run.send(COUNT)
    parts = [part for found in run.partitions() for part in found]
    denied = sum(part.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED for part in parts)
    read = sum(bool(part.records) for part in parts)
    if not mutant:
        run.responses.clear()
        authorizer_of(run.cluster).remove(DENY)
        run.send(kind.per_read)
        assert all(part.records for found in run.partitions() for part in found)
    return denied, read


@every_kind
def test_a_rule_that_denies_a_topic_refuses_every_partition(kind: Kind) -> None:
    assert denied_share(kind) == (COUNT * kind.partition_count, 0)


@pytest.mark.parametrize(
    ("function", "right", "wrong", "read"),
    [
        (k01_fetch._unknown, "name in denied", "False", COUNT),
        (FetchReplay.respond, "or generation != cluster.generation", "", COUNT),
        (FetchReplay._learn, "if denied_topics(", "if not denied_topics(", COUNT - 1),
    ],
)
def test_the_test_notices_a_request_that_is_not_authorized(
    function: Any, right: str, wrong: str, read: int
) -> None:
    assert denied_share(KINDS["single"], function, right, wrong)[1] == read


# Who reads --------------------------------------------------------------------------------------


def read_share(kind: Kind) -> int:
    """Return how many requests are read by `read_partition`."""
    run = GuardedRun(kind)
    with counted_calls(partition_read, "read_partition") as read:
        run.send(COUNT)
    return len(read)


@every_kind
def test_every_partition_is_read_in_one_place(kind: Kind) -> None:
    reads = 2 if kind.waits else 1
    # A session with many partitions knows of those that wait that there is nothing new.
    if kind.waits and kind.partition_count > 1:
        reads = 1
    assert read_share(kind) == reads * COUNT * kind.partition_count


# A quota ----------------------------------------------------------------------------------------


def charged_share(kind: Kind) -> int:
    """Return how many requests a quota charges that is added to `charge_fetch`."""
    run = GuardedRun(kind if kind.quotas else replace(kind, quotas="enforced"))
    charged: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(throttling, "charged", charged, raising=False)
        right = "charge_time(context, cluster, now_ms)"
        edit(patch, charge_fetch, right, f"{right}; charged.append(context)")
        run.send(COUNT)
    return len({id(context) for context in charged})


@every_kind
def test_a_quota_that_is_added_charges_every_request(kind: Kind) -> None:
    assert charged_share(kind) == COUNT


@pytest.mark.parametrize("name", ["single", "without a session", "waiting"])
def test_the_test_notices_a_request_that_is_not_charged(name: str) -> None:
    right = "if fetch.cluster.quotas.clients.is_enabled:"
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, fetch_response.respond, right, "if False:")
        assert charged_share(KINDS[name]) == 0


# The journal ------------------------------------------------------------------------------------


def journalled_share(kind: Kind) -> int:
    """Return how many entries have what `Journal.begin` and `Journal.end` add to them."""
    run = GuardedRun(replace(kind, has_journal=True))
    journal = run.dispatcher.journal
    journal.clear()
    with counted_calls(Journal, "begin") as begun, counted_calls(Journal, "end") as ended:
        run.send(COUNT)
    assert len(ended) == len(begun)
    entries = [line for line in journal if isinstance(line, Entry)]
    assert all(entry.outcome is Outcome.RESPONDED and entry.response for entry in entries)
    return sum(any(entry is found for found in begun) for entry in entries)


@every_kind
def test_a_field_that_is_added_to_the_journal_is_in_every_entry(kind: Kind) -> None:
    assert journalled_share(kind) == COUNT


@pytest.mark.parametrize(
    ("function", "call", "name"),
    [
        (Dispatcher.dispatch, "self.begin(context, buffer, start, end)", "without a session"),
        (FetchReplay.respond, "dispatcher.begin(context, data, SIZE_BYTES, len(data))", "single"),
        (FetchReplay.respond, "dispatcher.begin(context, data, SIZE_BYTES, len(data))", "waiting"),
    ],
)
def test_the_test_notices_a_request_that_is_not_in_the_journal(
    function: Any, call: str, name: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, function, call, "None")
        assert journalled_share(KINDS[name]) == 0


# Who calls what ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "is_replayed"),
    [
        ("single", True),
        ("read_committed", True),
        ("many partitions", True),
        ("waiting", True),
        ("all", True),
        ("without a session", False),
        ("a fault rule", False),
        ("more than a hundred partitions", False),
    ],
)
def test_the_kinds_are_of_both_paths(name: str, is_replayed: bool) -> None:
    run = GuardedRun(KINDS[name])
    with counted_calls(fetch_replay, "read_or_wait") as replayed:
        run.send(COUNT)
    assert len(replayed) == COUNT * is_replayed


CALLERS = {
    "read_partition": {"broker/fetch/partition_read.py"},
    # A long session remembers which partitions passed the check.
    "checked_partition": {"broker/fetch/partition_read.py", "broker/fetch/session_logs.py"},
    "read_or_wait": {"broker/handlers/k01_fetch.py", "broker/dispatch/fetch_replay.py"},
    "charge_fetch": {"broker/fetch/fetch_response.py", "broker/handlers/k78_share_fetch.py"},
    "note_sent": {"broker/fetch/fetch_response.py"},
    "encode_sent": {"broker/fetch/fetch_response.py"},
    "handle_fetch": set[str](),
}


def test_only_one_module_reads_charges_and_notes() -> None:
    callers: dict[str, set[str]] = {name: set() for name in CALLERS}
    for path in (ROOT / "broker").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", None))
                if name in callers:
                    callers[name].add(str(path.relative_to(ROOT)))
    assert callers == CALLERS
