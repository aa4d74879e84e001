"""The port itself: health, metrics, its own description, and everything back to the start."""

from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import msgspec

from broker.http_admin.openapi import openapi_document
from broker.http_admin.operation import OPERATIONS, operation
from broker.http_admin.state import Admin


class HealthView(msgspec.Struct):
    """`ok`, as long as anything is answered."""

    status: str
    cluster_id: str
    brokers: int


@operation("GET", "/healthz", tag="service", is_open=True)
def get_health(admin: Admin) -> HealthView:
    """Whether the cluster serves; asks for no token."""
    return HealthView("ok", admin.cluster.cluster_id, len(admin.cluster.brokers))


@operation("GET", "/metrics", tag="service", media_type="text/plain")
def get_metrics(admin: Admin) -> str:
    """What quotas measure, as Prometheus reads it."""
    from broker.http_admin.prometheus import prometheus_text  # noqa: PLC0415 - takes a while, and few ask

    return prometheus_text(admin.cluster.quotas.metrics, admin.now_ms())


@operation("POST", "/v1/reset", tag="service", status=204, media_type=None)
def reset(admin: Admin) -> None:
    """Put everything back to the start, as if the cluster had just been started.

    Topics, groups, producers, quotas, configurations, users, faults, the journal, the clock and
    the brokers. Ports stay; connections are cut.
    """
    admin.clock.restart()
    admin.server.reset()


@operation("GET", "/openapi.json", tag="service")
def get_openapi(_admin: Admin) -> dict[str, Any]:
    """This description."""
    return _document()


@operation("GET", "/", tag="service", media_type="text/html", is_open=True)
def get_page(_admin: Admin) -> str:
    """A page for people: the cluster as it lives. It asks for the token where one is needed."""
    return _page()


@cache
def _document() -> dict[str, Any]:
    return openapi_document(OPERATIONS, version("mock-kafka"))


@cache
def _page() -> str:
    return files(__package__).joinpath("page.html").read_text(encoding="utf-8")
