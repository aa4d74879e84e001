"""Operations of the admin port list what clients have made long in turns."""

import asyncio
from inspect import iscoroutinefunction

import pytest

import broker.http_admin.web  # noqa: F401 - declares the operations
from broker.http_admin.operation import OPERATIONS, Operation
from broker.http_admin.state import Admin
from protocol import messages
from tests.attack.attacked_broker import AttackedBroker, most_calls_in_one_go
from tests.attack.attacked_cluster import preparation_frames
from tests.broker.connection_driver import request_frame
from tests.broker.faults.requests import GROUP, TOPIC
from tests.broker.http_admin.admin_server import admin_of
from tests.broker.http_admin.kafka_clients import produce

ITEMS = 2_000
"""Partitions, groups, quotas, transactional ids, producers, records, and lines of the journal."""

OTHERS = frozenset(
    {
        "/metrics",
        "/v1/acls/decisions",
        "/v1/groups/{group_id}/stable",
        "/v1/requests/wait",
        "/v1/requests/{number}",
        "/v1/topics/{name}/records/wait",
    }
)
"""Operations that wait, or for which this cluster has nothing, or that do not take turns yet."""

PLACES = {"name": TOPIC, "group_id": GROUP, "transactional_id": "x-7"}
CALLS_MAX = 2 * ITEMS
"""Calls of functions in one go: a view of each item takes more if the loop does not pause."""

AT_ONCE_CALLS_MAX = 30 * ITEMS
"""A snapshot is that of one moment, in which it copies what each log and group has; it encodes
nothing then, and a partition with many producers takes no more calls."""


def is_listing(operation: Operation) -> bool:
    places = operation.path.count("{")
    return (
        operation.method == "GET"
        and (operation.turn_kind is not None or iscoroutinefunction(operation.handler))
        and operation.path not in OTHERS
        and places == sum(f"{{{name}}}" in operation.path for name in PLACES)
    )


@pytest.fixture(scope="module")
def admin() -> Admin:
    attacked = AttackedBroker(ITEMS, ITEMS, ITEMS, **{"audit.enable": "true"})
    for key_type in (0, 1):
        coordinator = messages.FindCoordinatorRequest(version=1, key="x", key_type=key_type)
        attacked.handle(request_frame(coordinator, 1, 1))
    for frame in preparation_frames(1, ITEMS, 0):
        attacked.handle(frame)
    for number in range(ITEMS):
        init = messages.InitProducerIdRequest(
            version=1, transactional_id=f"x-{number}", transaction_timeout_ms=60_000
        )
        attacked.handle(request_frame(init, 1, 1))
    admin = admin_of(attacked.cluster)
    admin.server.dispatcher = attacked.dispatcher
    attacked.dispatcher.turns.call_later = None
    for number in range(ITEMS):
        produce(admin, TOPIC, 100_000 + number, partition_index=number)
    assert len(list(attacked.cluster.transactions.all())) == ITEMS
    assert len(attacked.cluster.groups.table.group_ids()) == ITEMS
    return admin


@pytest.mark.slow
@pytest.mark.parametrize(
    "operation", [op for op in OPERATIONS if is_listing(op)], ids=lambda op: op.path
)
def test_a_listing_pauses_between_its_items(operation: Operation, admin: Admin) -> None:
    path = {name: value for name, value in PLACES.items() if f"{{{name}}}" in operation.path}
    takes_limit = "limit" in getattr(operation.query_type, "__struct_fields__", ())
    query = {"limit": "1000"} if takes_limit else {}
    arguments = operation.read_input(path, query, b"")

    def work() -> None:
        result = operation.handler(admin, **arguments)
        if iscoroutinefunction(operation.handler):
            asyncio.run(result)

    calls_max = AT_ONCE_CALLS_MAX if operation.path == "/v1/snapshot" else CALLS_MAX
    assert most_calls_in_one_go(work) < calls_max


def test_what_lists_groups_producers_transactions_and_records_takes_turns() -> None:
    paths = {operation.path for operation in OPERATIONS if is_listing(operation)}
    resources = {"groups", "producers", "transactions", "connections", "topics", "quotas/shadow"}
    places = {"topics/{name}/records", "groups/{group_id}", "transactions/{transactional_id}"}
    assert {f"/v1/{path}" for path in resources | places} <= paths
