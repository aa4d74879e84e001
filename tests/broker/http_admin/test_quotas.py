"""Quotas over the admin port are those of AlterClientQuotas and DescribeClientQuotas."""

import json

import msgspec
import pytest

from broker.http_admin.operation import Problem
from broker.http_admin.quotas import (
    QuotaBody,
    QuotaView,
    ShadowEventView,
    clear_shadow_report,
    delete_quotas,
    list_filters,
    list_shadow_report,
    measurement_views,
    put_quotas,
    quota_views,
)
from broker.request.shadow_quotas import count_if_shadow
from protocol.api_keys import ApiKey
from quotas.entities import CONTROLLER_MUTATION_RATE
from tests.broker.cluster_builder import NOW_MS, make_context
from tests.broker.http_admin.admin_server import make_admin


def test_quotas_are_set_listed_and_removed() -> None:
    admin = make_admin()
    alice: dict[str, str | None] = {"user": "alice"}
    put_quotas(admin, QuotaBody(alice, {"producer_byte_rate": 1024, "request_percentage": 50}))
    put_quotas(admin, QuotaBody({"user": None}, {"producer_byte_rate": 10}))

    assert quota_views(admin) == [
        QuotaView({"user": "alice"}, {"producer_byte_rate": 1024, "request_percentage": 50}),
        QuotaView({"user": None}, {"producer_byte_rate": 10}),
    ]
    limits = admin.cluster.quotas.clients.limits["producer_byte_rate"]
    assert limits.scope("alice", None).limit == 1024
    assert limits.scope("bob", None).limit == 10

    put_quotas(admin, QuotaBody(alice, {"request_percentage": None}))
    assert quota_views(admin)[0].values == {"producer_byte_rate": 1024}
    delete_quotas(admin)
    assert quota_views(admin) == []
    assert limits.scope("alice", None).limit is None


@pytest.mark.parametrize(
    ("entity", "values", "complaint"),
    [
        ({}, {"producer_byte_rate": 1}, "entity"),
        ({"usr": "a"}, {"producer_byte_rate": 1}, "usr"),
        ({"user": "a"}, {"producer_byte_rat": 1}, "producer_byte_rat"),
        ({"user": "a"}, {"producer_byte_rate": 0}, "greater than 0"),
        ({"ip": "not an ip"}, {"connection_creation_rate": 1}, "not a valid IP"),
        ({"user": ""}, {"producer_byte_rate": 1}, "Empty user"),
    ],
)
def test_quotas_that_kafka_refuses_are_refused_and_change_nothing(
    entity: dict[str, str | None], values: dict[str, float | None], complaint: str
) -> None:
    admin = make_admin()
    with pytest.raises(Problem, match=complaint) as caught:
        put_quotas(admin, QuotaBody(entity, values))
    assert caught.value.status == 422
    assert quota_views(admin) == []


def test_shadow_mode_is_set_listed_and_ended() -> None:
    admin = make_admin()
    alice: dict[str, str | None] = {"user": "alice"}
    values: dict[str, float | None] = {"producer_byte_rate": 1024}
    put_quotas(admin, QuotaBody(alice, values, shadow=True))
    assert quota_views(admin)[0].shadow == ["producer_byte_rate"]
    put_quotas(admin, QuotaBody(alice, {"producer_byte_rate": 10}))
    assert quota_views(admin)[0].shadow == ["producer_byte_rate"]
    put_quotas(admin, QuotaBody(alice, values, shadow=False))
    assert quota_views(admin)[0].shadow == []


def test_the_shadow_report_is_shown_and_cleared() -> None:
    admin = make_admin()
    put_quotas(admin, QuotaBody({"user": "alice"}, {"producer_byte_rate": 1}, shadow=True))
    for later_ms in (0, 10):
        context = make_context(ApiKey.PRODUCE, 8, principal="alice", now_ms=NOW_MS + later_ms)
        count_if_shadow(context, admin.cluster, "producer_byte_rate", 70, context.now_ms)

    [view] = list_shadow_report(admin)
    assert (view.quota, view.user, view.client_id, view.broker) == (
        "producer_byte_rate",
        "alice",
        None,
        1,
    )
    assert (view.first_ms, view.last_ms, view.throttled) == (NOW_MS, NOW_MS + 10, 2)
    assert (view.throttle_time_max_ms, view.throttle_time_total_ms) == (70, 140)
    assert view.events[0] == ShadowEventView(NOW_MS, 70, "alice", "test-client")
    clear_shadow_report(admin)
    assert list_shadow_report(admin) == []


def test_tokens_are_measured_at_the_current_time() -> None:
    admin = make_admin()
    put_quotas(admin, QuotaBody({"user": "alice"}, {CONTROLLER_MUTATION_RATE.name: 2}))
    admin.cluster.quotas.controller_mutation.charge("alice", "app", 25, NOW_MS)

    (tokens,) = (view for view in measurement_views(admin) if view.name == "tokens")
    assert tokens.group == "ControllerMutation"
    assert tokens.tags["user"] == "alice"
    assert tokens.value == 22 - 25
    admin.clock.move_to(NOW_MS + 1000)
    (tokens,) = (view for view in measurement_views(admin) if view.name == "tokens")
    assert tokens.value == -1


def test_the_layers_of_producer_id_filters_are_shown_until_their_window_is_over() -> None:
    window_ms = 3_600_000
    admin = make_admin()
    put_quotas(admin, QuotaBody({"user": "alice"}, {"producer_ids_rate": 100}))
    manager = admin.cluster.quotas.brokers[2].producer_ids
    for producer_id in range(10):
        manager.track("alice", producer_id, NOW_MS)
    manager.track("alice", 11, NOW_MS + window_ms // 2)
    admin.clock.move_to(NOW_MS + window_ms // 2)

    (view,) = list_filters(admin)
    assert (view.broker, view.user) == (2, "alice")
    newest, oldest = view.layers
    assert (oldest.ids, oldest.begun_ms, oldest.expires_ms) == (10, NOW_MS, NOW_MS + window_ms)
    assert newest.ids == 1
    assert newest.capacity >= 32
    admin.clock.move_to(NOW_MS + window_ms)
    assert len(list_filters(admin)[0].layers) == 1
    admin.clock.move_to(NOW_MS + 2 * window_ms)
    assert list_filters(admin) == []


def test_a_value_that_was_not_measured_recently_is_null() -> None:
    admin = make_admin()
    put_quotas(admin, QuotaBody({"user": "alice"}, {CONTROLLER_MUTATION_RATE.name: 2}))
    manager = admin.cluster.quotas.controller_mutation
    manager.note_throttle("alice", None, 100, NOW_MS)
    admin.clock.move_to(NOW_MS + 600_000)

    measurements = json.loads(msgspec.json.encode(measurement_views(admin)))
    (throttle,) = (
        measurement for measurement in measurements if measurement["name"] == "throttle-time"
    )
    assert throttle["value"] is None
