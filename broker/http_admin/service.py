"""The service itself: health, metrics, the OpenAPI document, the page, and reset."""

from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Literal

import msgspec

from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.openapi import openapi_document
from broker.http_admin.operation import OPERATIONS, Input, Name, Problem, operation
from broker.http_admin.state import Admin
from protocol.pacing import may_pause


class HealthView(msgspec.Struct):
    """Health of the service; `status` is always `ok`."""

    status: str
    cluster_id: str
    brokers: int


@operation("GET", "/healthz", tag="service", is_open=True)
def get_health(admin: Admin) -> HealthView:
    """Return the health of the cluster; needs no token."""
    return HealthView("ok", admin.cluster.cluster_id, len(admin.cluster.brokers))


@operation("GET", "/metrics", tag="service", media_type="text/plain", turn_kind=TurnKind.READING)
@may_pause
def get_metrics(admin: Admin) -> str:
    """Return the measurements of quotas in Prometheus' text format."""
    from broker.http_admin.prometheus import prometheus_text  # noqa: PLC0415 - slow to import, rarely used

    return prometheus_text(admin.cluster.quotas.metrics, admin.now_ms())


class ResetBody(Input):
    """Whether the brokers listen on the same ports afterwards, or on new ones."""

    ports: Literal["same", "new"] = "same"


@operation("POST", "/v1/reset", tag="service", status=204, media_type=None)
async def reset(admin: Admin, body: ResetBody) -> None:
    """Reset the cluster to the state in which it was started.

    This covers topics, groups, producers, quotas, configurations, users, faults, the journal, the
    clock and the brokers. All connections are closed. A snapshot that was loaded with `keep` is
    loaded again. With new ports, clients from before get refused connections instead of reaching
    the cluster again; `/v1/brokers` has the addresses. The cluster must have been started with
    free ports.
    """
    await admin.reset(has_new_ports=body.ports == "new")


@operation("GET", "/openapi.json", tag="service")
def get_openapi(_admin: Admin) -> dict[str, Any]:
    """Return this description."""
    return _document()


@operation("GET", "/", tag="service", media_type="text/html", is_open=True)
def get_page(_admin: Admin) -> str:
    """Return a page that shows the cluster live. It prompts for the token if there is one."""
    return _page_file("page.html")


class PageFilePath(Input):
    """A file of the page by its name without the extension."""

    name: Name


@operation("GET", "/page/{name}.css", tag="service", media_type="text/css", is_open=True)
def get_page_style(_admin: Admin, path: PageFilePath) -> str:
    """Return a style sheet of the page at `/`."""
    return _page_file(f"{path.name}.css")


@operation("GET", "/page/{name}.js", tag="service", media_type="text/javascript", is_open=True)
def get_page_module(_admin: Admin, path: PageFilePath) -> str:
    """Return a JavaScript module of the page at `/`."""
    return _page_file(f"{path.name}.js")


@cache
def _document() -> dict[str, Any]:
    return openapi_document(OPERATIONS, version("mock-kafka"))


def _page_file(name: str) -> str:
    text = _page_files().get(name)
    if text is None:
        raise Problem(404, f"the page has no file {name!r}")
    return text


@cache
def _page_files() -> dict[str, str]:
    folder = files(__package__).joinpath("page")
    return {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith((".css", ".html", ".js"))
    }
