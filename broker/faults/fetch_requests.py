"""Fetch and ShareFetch under fault rules: a request in a session names only what has changed."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from broker.cluster.cluster import Cluster
from broker.faults.decision import FaultDecision
from broker.fetch.fetch_context import complete_request, sessionless_request
from broker.fetch.share_session_parts import complete_share_request, partitions_withheld
from broker.request.context import RequestContext
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.pacing import may_pause


@may_pause
def complete(context: RequestContext, request: "messages.Message", cluster: Cluster) -> Any:
    """Return a decoded request that names all partitions that it reads, so that rules match them.

    Requests of other APIs are returned as they are.
    """
    if context.api_key == ApiKey.FETCH:
        return complete_request(context, request, cluster)
    if context.api_key == ApiKey.SHARE_FETCH:
        return complete_share_request(context, request, cluster)
    return request


@may_pause
def full_request(
    context: RequestContext,
    decision: FaultDecision,
    decode: Callable[[], "messages.Message"],
    cluster: Cluster,
) -> Any | None:
    """Return a Fetch outside of its session if a rule changes its response; else None.

    An error, a patch and changed records need a response with all partitions, which an incremental
    one is not.
    `decode` returns the request as `complete` does.
    """
    if context.api_key != ApiKey.FETCH or not (
        decision.error or decision.patch or decision.record_changes
    ):
        return None
    return sessionless_request(context, decode(), cluster)


def withholding(
    context: RequestContext, failing: "messages.Message | None", cluster: Cluster
) -> AbstractContextManager[None]:
    """Keep what fails out of the handling of the rest: out of the session of a ShareFetch."""
    if context.api_key != ApiKey.SHARE_FETCH or failing is None:
        return nullcontext()
    return partitions_withheld(context, failing, cluster)
