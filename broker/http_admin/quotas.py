"""Quotas: the settings and current measurements."""

from math import isfinite

import msgspec

from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.operation import Input, Problem, operation
from broker.http_admin.state import Admin
from broker.http_admin.unknown_names import unknown_key_hint
from protocol.pacing import may_pause, paced, paced_elements
from quotas.entities import QUOTA_KEYS, make_entity


class QuotaView(msgspec.Struct):
    """The quotas of one entity; a null name is the default of its type.

    `shadow` names the quotas that are set in shadow mode: evaluated and reported, not enforced.
    """

    entity: dict[str, str | None]
    values: dict[str, float]
    shadow: list[str] = []


class QuotaBody(Input):
    """Quotas to set on an entity; null removes one.

    The entity has `user`, `client-id`, both, or `ip`; null is the default of its type. With
    `shadow` true these quotas are evaluated and reported, not enforced; false enforces them; null
    keeps their mode, and enforces new quotas.
    """

    MORE_SCHEMA = {"allOf": [{"properties": {"values": {"minProperties": 1}}}]}  # noqa: RUF012 - as in the base class

    entity: dict[str, str | None]
    values: dict[str, float | None]
    shadow: bool | None = None


class ShadowEventView(msgspec.Struct):
    """A request that would have been throttled, with the time of the cluster's clock."""

    time_ms: int
    throttle_time_ms: int
    user: str
    client_id: str | None


class ShadowView(msgspec.Struct):
    """Requests that a quota in shadow mode would have throttled or refused.

    `broker` is null for a quota of the whole cluster; `user` or `client_id` is null where the quota
    does not distinguish by it. `throttled` responses would have had a `throttle_time_ms`, whose sum
    and largest value are given. `held` requests arrived while their connection would have been
    muted. `over_quota` is the amount beyond the quota: bytes, ms of handlers' time, partitions, or
    distinct producer ids. `events` are the newest throttled requests, oldest first.
    """

    quota: str
    user: str | None
    client_id: str | None
    broker: int | None
    throttled: int
    held: int
    over_quota: int
    first_ms: int
    last_ms: int
    throttle_time_max_ms: int
    throttle_time_total_ms: int
    events: list[ShadowEventView]


class MeasurementView(msgspec.Struct):
    """One current value under Kafka's metric name; null if nothing was measured recently."""

    group: str
    name: str
    tags: dict[str, str]
    value: float | None


class LayerView(msgspec.Struct):
    """One layer of a filter: the number of ids in it, and its capacity."""

    begun_ms: int
    expires_ms: int
    ids: int
    capacity: int
    bytes: int


class FilterView(msgspec.Struct):
    """A broker's filter of a user's producer ids (KIP-936); the newest layer is first."""

    broker: int
    user: str
    layers: list[LayerView]


@operation("GET", "/v1/quotas", tag="quotas", turn_kind=TurnKind.READING)
@may_pause
def list_quotas(admin: Admin) -> list[QuotaView]:
    """List the quotas, as DescribeClientQuotas shows them."""
    return quota_views(admin)


@may_pause
def quota_views(admin: Admin) -> list[QuotaView]:
    """Return the quotas of all entities."""
    found = admin.cluster.quotas.clients.describe([], strict=False)
    assert isinstance(found, list)
    clients = admin.cluster.quotas.clients
    return [
        QuotaView(dict(entity), values, clients.shadow_keys(entity))
        for entity, values in paced_elements(found)
    ]


@operation(
    "PUT",
    "/v1/quotas",
    tag="quotas",
    turn_kind=TurnKind.EXCLUSIVE,
    further_rules="Kafka has no such entity or quota, or refuses the value",
)
@may_pause
def put_quotas(admin: Admin, body: QuotaBody) -> list[QuotaView]:
    """Set or remove quotas of one entity, all of them or none; they apply at once."""
    if not body.values:
        example = '{"values": {"producer_byte_rate": 1024}}'
        raise Problem(400, "there is no quota to set", location="body", example=example)
    entity = make_entity(body.entity.items())
    problem = admin.cluster.quotas.clients.alter(
        entity, list(body.values.items()), is_shadow=body.shadow
    )
    if problem is not None:
        unknown = next((name for name in body.values if name not in QUOTA_KEYS), None)
        hint = "" if unknown is None else unknown_key_hint(unknown, QUOTA_KEYS)
        raise Problem(422, problem + hint)
    return quota_views(admin)


@operation(
    "DELETE",
    "/v1/quotas",
    tag="quotas",
    status=204,
    media_type=None,
    turn_kind=TurnKind.EXCLUSIVE,
)
@may_pause
def delete_quotas(admin: Admin) -> None:
    """Remove all quotas."""
    admin.cluster.quotas.clients.remove_all()


@operation("GET", "/v1/quotas/shadow", tag="quotas", turn_kind=TurnKind.READING)
@may_pause
def list_shadow_report(admin: Admin) -> list[ShadowView]:
    """List the clients that quotas in shadow mode would have throttled or refused.

    The list has clients that exceeded such a quota within the last hour.
    """
    return [
        ShadowView(
            key.quota,
            key.tags[0] or None,
            key.tags[1] or None,
            key.broker_id,
            counter.throttled,
            counter.held,
            counter.over_quota,
            counter.first_ms,
            counter.last_used_ms,
            counter.throttle_time_max_ms,
            counter.throttle_time_total_ms,
            [
                ShadowEventView(event.time_ms, event.throttle_time_ms, event.user, event.client_id)
                for event in counter.events
            ],
        )
        for key, counter in paced(admin.cluster.quotas.shadow.rows(admin.now_ms()))
    ]


@operation("DELETE", "/v1/quotas/shadow", tag="quotas", status=204, media_type=None)
def clear_shadow_report(admin: Admin) -> None:
    """Clear the report of quotas in shadow mode; the quotas stay."""
    admin.cluster.quotas.shadow.clear()


@operation("GET", "/v1/quotas/live", tag="quotas", turn_kind=TurnKind.READING)
def list_measurements(admin: Admin) -> list[MeasurementView]:
    """List the rates, tokens and throttle times of recently measured clients.

    A measurement without a tag `broker-id` is of the whole cluster.
    """
    return measurement_views(admin)


def measurement_views(admin: Admin) -> list[MeasurementView]:
    """Return all current measurements."""
    return [
        MeasurementView(
            measurement.group,
            measurement.name,
            dict(measurement.tags),
            measurement.value if isfinite(measurement.value) else None,
        )
        for measurement in admin.cluster.quotas.metrics.measure(admin.now_ms())
    ]


@operation("GET", "/v1/producer-id-filters", tag="producers", turn_kind=TurnKind.READING)
@may_pause
def list_filters(admin: Admin) -> list[FilterView]:
    """List the producer id filters of users with a quota, and the age of their layers."""
    now_ms = admin.now_ms()
    return [
        FilterView(broker_id, user, [LayerView(*layer) for layer in layers])
        for broker_id, quotas in paced(admin.cluster.quotas.brokers.items())
        for user, layers in quotas.producer_ids.filters(now_ms)
    ]
