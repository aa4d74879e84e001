"""A rule about Produce stands in one place: what is added there applies to every request.

Each test adds a check, a charge or a field at run time, and takes out one call to show that the
test notices.
"""

import ast
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from broker.authorization.acl import Acl
from broker.authorization.authorizer import Authorizer
from broker.dispatch.dispatcher import Dispatcher
from broker.dispatch.produce_replay import ProduceReplay
from broker.handlers import k00_produce
from broker.handlers.k00_produce import handle_produce
from broker.journal.journal import Journal
from broker.journal.lines import Entry
from broker.produce import append, request_batches
from broker.produce.append import accept_batches
from broker.produce.batch_refusal import BatchRefusal
from broker.request import throttling
from broker.request.throttling import charge_produce
from protocol.acls import AclOperation, PatternType, PermissionType, ResourceType
from protocol.errors import ErrorCode
from tests.broker.acl_cluster import acl, authorizer_of
from tests.broker.dispatch.produce_runs import TOPICS, Change, Produce, counted_calls
from tests.broker.dispatch.transactional_runs import TransactionalRun
from tests.simulation.patches import counted, edit

ROOT = Path(__file__).parents[3]
COUNT = 30
BEFORE = 4
"""Requests of the kind before something is added: whatever may be remembered of them, is."""


@dataclass(frozen=True)
class Kind:
    """Requests that are sent in some way, and what the cluster has to do for them."""

    produce: Produce = field(default_factory=Produce)
    per_read: int = 1
    changes: tuple[Change, ...] = ()

    @property
    def batch_count(self) -> int:
        return COUNT * len(self.produce.topics) * len(self.produce.indexes)

    def send(self, run: TransactionalRun, count: int) -> None:
        for _ in range(count // self.per_read):
            run.send_together(*[self.produce] * self.per_read)


QUOTAS: tuple[Change, ...] = tuple(
    ("set_quota", key, 1e9, False)
    for key in ("producer_byte_rate", "producer_ids_rate", "request_percentage")
)
SHADOW_QUOTAS: tuple[Change, ...] = tuple((name, key, 1.0, True) for name, key, *_ in QUOTAS)
JOURNAL: Change = ("keep_journal", True)
AUDIT: Change = ("audit", True)
IDEMPOTENT = Produce(producer_id=7)
TRANSACTIONAL = Produce(transactional_id="a", version=12)
MANY = Produce(topics=TOPICS, indexes=(0, 1), producer_id=7)
KINDS = {
    "single": Kind(),
    "acks 0": Kind(Produce(acks=0)),
    "acks 1": Kind(Produce(acks=1)),
    "version 3": Kind(Produce(version=3)),
    "version 13": Kind(Produce(version=13)),
    "two partitions of a topic": Kind(Produce(indexes=(0, 1))),
    "idempotent": Kind(IDEMPOTENT),
    "many partitions": Kind(MANY),
    "transactional": Kind(TRANSACTIONAL),
    "quotas": Kind(IDEMPOTENT, changes=QUOTAS),
    "shadow quotas": Kind(IDEMPOTENT, changes=SHADOW_QUOTAS),
    "journal": Kind(IDEMPOTENT, changes=(JOURNAL,)),
    "audit": Kind(IDEMPOTENT, changes=(AUDIT,)),
    "a fault rule": Kind(changes=(("add_rule",),)),
    "all": Kind(TRANSACTIONAL, changes=(*QUOTAS, JOURNAL, AUDIT)),
}
KINDS |= {
    f"{name}, pipelined": Kind(kind.produce, BEFORE, kind.changes) for name, kind in KINDS.items()
}
every_kind = pytest.mark.parametrize("kind", [pytest.param(KINDS[name], id=name) for name in KINDS])


class GuardedRun(TransactionalRun):
    """A run whose producers have sent some requests of a kind."""

    def __init__(self, kind: Kind, *changes: Change, **overrides: str) -> None:
        super().__init__(**overrides)
        for change in (("init", "a"), *changes, *kind.changes):
            self.do(change)
        kind.send(self, BEFORE * 2)

    def add_rule(self, **fields: Any) -> None:
        super().add_rule(**(fields or {"api": "Metadata", "error": "NOT_CONTROLLER"}))

    @property
    def end_offset(self) -> int:
        topics = [self.cluster.topics.get(name) for name in TOPICS]
        return sum(
            part.log.log_end_offset for topic in topics if topic for part in topic.partitions
        )


# A check ----------------------------------------------------------------------------------------


def refused_share(kind: Kind) -> tuple[int, int]:
    """Return how many batches a check refuses that is added to `check_batch`, and are stored."""
    run = GuardedRun(kind)
    before, refused = run.end_offset, 0

    def refuse(*_arguments: object) -> BatchRefusal:
        nonlocal refused
        refused += 1
        return BatchRefusal(ErrorCode.POLICY_VIOLATION)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(append, "check_batch", refuse)
        if kind.produce.acks == 0:
            for _ in range(COUNT):  # an error closes the connection
                run.send_together(kind.produce)
        else:
            send_all(run, kind)
    return refused, run.end_offset - before


@every_kind
def test_a_check_that_is_added_refuses_every_batch(kind: Kind) -> None:
    refused, stored = refused_share(kind)
    assert (refused, stored) == (kind.batch_count, 0)


def test_the_test_notices_a_batch_that_is_not_checked() -> None:
    right = "checked = check_batch(fields, covered, topic, index, now_ms)"
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, accept_batches, right, "checked = None")
        assert refused_share(KINDS["single"]) == (0, COUNT)


# A rule that denies -----------------------------------------------------------------------------

WITH_AUTHORIZER = {"authorizer.class.name": "acl", "allow.everyone.if.no.acl.found": "true"}
DENY_TOPICS = acl(
    "t",
    AclOperation.WRITE,
    pattern_type=PatternType.PREFIXED,
    permission_type=PermissionType.DENY,
)
DENY_ID = replace(
    DENY_TOPICS,
    resource_type=ResourceType.TRANSACTIONAL_ID,
    resource_name="*",
    pattern_type=PatternType.LITERAL,
)


def denied_share(kind: Kind, rule: Acl, owner: Any, name: str) -> tuple[int, int]:
    """Return how often a rule that is added denies what a function decides, and what is stored."""
    run = GuardedRun(kind, **WITH_AUTHORIZER)
    before = run.end_offset
    authorizer_of(run.cluster).add(rule)
    with counted_calls(owner, name) as decided:
        if kind.produce.acks == 0:
            for _ in range(COUNT):  # a denial closes the connection
                run.send_together(kind.produce)
        else:
            send_all(run, kind)
    stored = run.end_offset - before
    authorizer_of(run.cluster).remove(rule)
    run.send_together(Produce())  # another one would miss sequence numbers
    assert run.end_offset > before + stored
    return len([found for found in decided if found]), stored


def denied_topics(kind: Kind) -> tuple[int, int]:
    return denied_share(kind, DENY_TOPICS, k00_produce, "_topic_error")


@every_kind
def test_a_rule_that_denies_a_topic_refuses_every_request(kind: Kind) -> None:
    assert denied_topics(kind) == (COUNT * len(kind.produce.topics), 0)


def test_a_request_that_is_replayed_asks_no_rule() -> None:
    run = GuardedRun(KINDS["single"], **WITH_AUTHORIZER)
    with counted_calls(Authorizer, "authorize") as decisions:
        send_all(run, KINDS["single"])
    assert decisions == []
    with counted_calls(Authorizer, "authorize") as decisions:
        run.send_together(Produce(version=3))
    assert len(decisions) == 1


@pytest.mark.parametrize("name", ["transactional", "transactional, pipelined", "all"])
def test_a_rule_that_denies_a_transactional_id_refuses_every_request(name: str) -> None:
    found = denied_share(KINDS[name], DENY_ID, request_batches, "_refuse_id")
    assert found == (COUNT, 0)


@pytest.mark.parametrize(
    ("function", "right", "wrong", "stored"),
    [
        (handle_produce, "if topic is None or has_authorizer:", "if topic is None:", COUNT),
        (ProduceReplay.respond, "generation != cluster.generation", "False", COUNT),
        (ProduceReplay.learn, "if not _may_write(", "if _may_write(", COUNT - 1),
    ],
)
def test_the_test_notices_a_request_that_is_not_authorized(
    function: Any, right: str, wrong: str, stored: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        run = GuardedRun(KINDS["single"], **WITH_AUTHORIZER)
        before = run.end_offset
        edit(patch, function, right, wrong)
        authorizer_of(run.cluster).add(DENY_TOPICS)
        send_all(run, KINDS["single"])
        assert run.end_offset - before == stored


# A quota ----------------------------------------------------------------------------------------


def charged_share(kind: Kind) -> int:
    """Return how many requests a quota charges that is added to `charge_produce`."""
    run = GuardedRun(kind, *([] if kind.changes == SHADOW_QUOTAS else QUOTAS))
    charged: set[tuple[int, int]] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(throttling, "charged", charged, raising=False)
        right = "now_ms = context.now_ms"
        request = "(context.connection_id, context.correlation_id)"
        edit(patch, charge_produce, right, f"{right}; charged.add({request})")
        send_all(run, kind)
    return len(charged)


def send_all(run: TransactionalRun, kind: Kind) -> None:
    """Send all requests of a kind."""
    kind.send(run, COUNT)
    rest = COUNT % kind.per_read
    if rest:
        run.send_together(*[kind.produce] * rest)


@every_kind
def test_a_quota_that_is_added_charges_every_request(kind: Kind) -> None:
    assert charged_share(kind) == COUNT


CHARGE = "if has_quotas:\n                    charge_produce"


@pytest.mark.parametrize(
    ("function", "check", "name"),
    [
        (handle_produce, "if cluster.quotas.clients.is_enabled:", "version 3"),
        (ProduceReplay.respond, "if has_quotas:\n                charge_produce", "single"),
        (
            ProduceReplay.respond,
            "if has_quotas:\n                charge_produce",
            "quotas, pipelined",
        ),
    ],
)
def test_the_test_notices_a_request_that_is_not_charged(
    function: Any, check: str, name: str
) -> None:
    wrong = check.replace(check.splitlines()[0], "if False:")
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, function, check, wrong)
        assert charged_share(KINDS[name]) == 0


# The journal and the audit ----------------------------------------------------------------------


def journalled_share(kind: Kind) -> int:
    """Return how many entries have what `Journal.begin` and `Journal.end` add to them."""
    run = GuardedRun(kind, JOURNAL)
    journal = run.dispatcher.journal
    last_number = journal.last_number
    with counted(Journal, "begin") as begun, counted(Journal, "end") as ended:
        send_all(run, kind)
    fields = {entry.number: True for _, entry in begun}
    ends = {arguments[1].number for arguments, _ in ended}
    entries = [line for line in journal if line.number > last_number]
    return sum(
        isinstance(line, Entry) and fields.get(line.number, False) and line.number in ends
        for line in entries
    )


@every_kind
def test_a_field_that_is_added_to_the_journal_is_in_every_entry(kind: Kind) -> None:
    assert journalled_share(kind) == COUNT


CALLS_OF_BEGIN = (
    (Dispatcher.dispatch, "self.begin(context, buffer, start, end)", "version 3"),
    (ProduceReplay.respond, "dispatcher.begin(context, data, start, end)", "single"),
    (ProduceReplay.respond, "dispatcher.begin(context, data, start, end)", "single, pipelined"),
)


@pytest.mark.parametrize(("function", "call", "name"), CALLS_OF_BEGIN)
def test_the_test_notices_a_request_that_is_not_in_the_journal(
    function: Any, call: str, name: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, function, call, "None")
        assert journalled_share(KINDS[name]) == 0


def audited_share(kind: Kind) -> int:
    """Return how many batches `note_batch` notes, as the audit then has them."""
    run = GuardedRun(kind, AUDIT)
    known = len(run.dispatcher.acknowledgements)
    with counted(append, "note_batch") as noted:
        send_all(run, kind)
    if kind.produce.acks:
        assert len(run.dispatcher.acknowledgements) - known == len(noted)
    return len(noted)


@every_kind
def test_every_batch_is_noted_for_the_audit(kind: Kind) -> None:
    assert audited_share(kind) == kind.batch_count


def test_the_test_notices_a_batch_that_is_not_noted() -> None:
    with pytest.MonkeyPatch.context() as patch:
        edit(patch, accept_batches, "if context.acknowledgements is not None:", "if False:")
        assert audited_share(KINDS["single"]) == 0


# Who calls what ---------------------------------------------------------------------------------

CALLERS = {
    # Records of the admin port are all checked before the first is stored.
    "check_batch": {"broker/produce/append.py", "broker/produce/store_records.py"},
    "apply_next": {"broker/produce/append.py"},
    "accept_batches": {
        "broker/produce/append.py",
        "broker/handlers/k00_produce.py",
        "broker/dispatch/produce_replay.py",
    },
    "note_batch": {"broker/produce/append.py"},
    "charge_produce": {"broker/handlers/k00_produce.py", "broker/dispatch/produce_replay.py"},
    "handle_produce": set[str](),
}


def test_only_one_module_accepts_charges_and_notes() -> None:
    callers: dict[str, set[str]] = {name: set() for name in CALLERS}
    for path in (ROOT / "broker").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", None))
                if name in callers:
                    callers[name].add(str(path.relative_to(ROOT)))
    assert callers == CALLERS
