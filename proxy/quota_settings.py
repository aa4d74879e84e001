"""AlterClientQuotas and DescribeClientQuotas: some keys are the proxy's, the others the cluster's.

The proxy keeps its keys until it stops. Who may change or see quotas is the cluster's to say, so a
request about the proxy's keys alone goes to it, too: with `validate_only`, and with a key that it
knows.
"""

from typing import Any

from broker.handlers.k48_describe_client_quotas import handle_describe_client_quotas
from broker.handlers.k49_alter_client_quotas import handle_alter_client_quotas
from broker.responses import DispatchResult
from protocol.pacing import may_pause, paced_elements
from proxy.mirror import ENFORCED_KEYS
from proxy.quota_request import QuotaRequest
from quotas.entities import PRODUCER_BYTE_RATE

_Entity = frozenset[tuple[str, str | None]]


def _entity_of(entry: Any) -> _Entity:
    return frozenset((part.entity_type, part.entity_name) for part in entry.entity)


@may_pause
def handle_alter(request: QuotaRequest) -> DispatchResult:
    """Keep what is the proxy's, and send the rest to the cluster.

    Raises:
        DecodeError: the request is malformed.
    """
    own, rest = request.decoded(), request.decoded()
    for entry in paced_elements(own.entries):
        entry.ops = [op for op in entry.ops if op.key in ENFORCED_KEYS]
    own.entries = [entry for entry in own.entries if entry.ops]
    if not own.entries:
        return request.pass_on()
    for entry in paced_elements(rest.entries):
        entry.ops = [op for op in entry.ops if op.key not in ENFORCED_KEYS]
    rest.entries = [entry for entry in rest.entries if entry.ops]
    if not rest.entries:
        rest = request.decoded()
        rest.validate_only = True
        for entry in paced_elements(rest.entries):
            entry.ops = [_harmless(op) for op in entry.ops[:1]]

    def alter(response: Any) -> Any:
        refused = {_entity_of(entry) for entry in response.entries if entry.error_code}
        if len(refused) == len(response.entries):
            return _with_results(request, response, {})
        own.entries = [entry for entry in own.entries if _entity_of(entry) not in refused]
        found = handle_alter_client_quotas(request.context, own, request.cluster)
        return _with_results(request, response, {_entity_of(e): e for e in found.entries})

    return request.send_rest(rest, alter)


def _harmless(op: Any) -> Any:
    """Return the removal of a key that every release knows."""
    op.key, op.remove, op.value = PRODUCER_BYTE_RATE.name, True, 0.0
    return op


@may_pause
def _with_results(request: QuotaRequest, response: Any, own: dict[_Entity, Any]) -> Any:
    """Return one result for each entity of the request: an error of the cluster comes first."""
    results = {_entity_of(entry): entry for entry in response.entries}
    for entity, entry in own.items():
        known = results.get(entity)
        if known is None or not known.error_code:
            results[entity] = entry
    response.entries = list(results.values())
    return response


@may_pause
def handle_describe(request: QuotaRequest) -> DispatchResult:
    """Add the proxy's quotas to those of the cluster.

    Raises:
        DecodeError: the request is malformed.
    """

    def add(response: Any) -> Any:
        if response.error_code:
            return response
        message = request.decoded()
        found = handle_describe_client_quotas(request.context, message, request.cluster)
        entries = {_entity_of(entry): entry for entry in response.entries or ()}
        for entry in paced_elements(found.entries or ()):
            known = entries.get(_entity_of(entry))
            if known is None:
                entries[_entity_of(entry)] = entry
            else:
                own = {value.key for value in entry.values}
                known.values = [v for v in known.values if v.key not in own] + list(entry.values)
        response.entries = list(entries.values())
        return response

    return request.send_rest(request.decoded(), add)
