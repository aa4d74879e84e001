"""Quotas: what is set, and what is left of it now."""

from math import isfinite

import msgspec

from broker.admin.operation import Input, Problem, operation
from broker.admin.state import Admin
from quotas.entities import make_entity


class QuotaView(msgspec.Struct):
    """The quotas of one entity; a name that is null is the default of its type."""

    entity: dict[str, str | None]
    values: dict[str, float]


class QuotaBody(Input):
    """Quotas to set on an entity; null takes one away.

    The entity has `user`, `client-id`, both, or `ip`; null is the default of its type.
    """

    entity: dict[str, str | None]
    values: dict[str, float | None]


class MeasurementView(msgspec.Struct):
    """One value now, under Kafka's names; null where nothing was measured lately."""

    group: str
    name: str
    tags: dict[str, str]
    value: float | None


class LayerView(msgspec.Struct):
    """One layer of a filter: the ids it took, and how many it was made for."""

    begun_ms: int
    expires_ms: int
    ids: int
    capacity: int
    bytes: int


class FilterView(msgspec.Struct):
    """The producer ids that a broker remembers of a user (KIP-936); the newest layer is first."""

    broker: int
    user: str
    layers: list[LayerView]


@operation("GET", "/v1/quotas", tag="quotas")
def list_quotas(admin: Admin) -> list[QuotaView]:
    """The quotas that are set, as DescribeClientQuotas shows them."""
    found = admin.cluster.quotas.clients.describe([], strict=False)
    assert isinstance(found, list)
    return [QuotaView(dict(entity), values) for entity, values in found]


@operation("PUT", "/v1/quotas", tag="quotas")
def put_quotas(admin: Admin, body: QuotaBody) -> list[QuotaView]:
    """Set or take away quotas of one entity, all of them or none; they count from now on."""
    if not body.values:
        raise Problem(400, 'body: "values" names no quota, such as {"producer_byte_rate": 1024}')
    entity = make_entity(body.entity.items())
    problem = admin.cluster.quotas.clients.alter(entity, list(body.values.items()))
    if problem is not None:
        raise Problem(400, problem)
    return list_quotas(admin)


@operation("DELETE", "/v1/quotas", tag="quotas", status=204, media_type=None)
def delete_quotas(admin: Admin) -> None:
    """Take away all quotas."""
    clients = admin.cluster.quotas.clients
    for view in list_quotas(admin):
        clients.alter(make_entity(view.entity.items()), [(name, None) for name in view.values])


@operation("GET", "/v1/quotas/live", tag="quotas")
def list_measurements(admin: Admin) -> list[MeasurementView]:
    """Rates, tokens and waits of everybody who has been counted of late.

    A name without a tag `broker-id` counts over the whole cluster.
    """
    return [
        MeasurementView(
            each.group, each.name, dict(each.tags), each.value if isfinite(each.value) else None
        )
        for each in admin.cluster.quotas.metrics.measure(admin.now_ms())
    ]


@operation("GET", "/v1/producer-id-filters", tag="producers")
def list_filters(admin: Admin) -> list[FilterView]:
    """The filters of users with a quota on new producer ids, and how their layers age."""
    now_ms = admin.now_ms()
    return [
        FilterView(broker_id, user, [LayerView(*layer) for layer in layers])
        for broker_id, quotas in admin.cluster.quotas.brokers.items()
        for user, layers in quotas.producer_ids.filters(now_ms)
    ]
