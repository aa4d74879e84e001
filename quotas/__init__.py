"""Client quotas: bytes, request time, KIP-599, KIP-612, KIP-936.

Numbers and names in, throttle times in ms out: no sockets, no clock (`now_ms` is an argument and
never goes back), no messages, no side effect on import. `ClientQuotas` has the quotas of all
entities; a manager counts for one quota key and returns how long to throttle a client.

    >>> from quotas import ClientQuotas, ControllerMutationQuotaManager, make_entity
    >>> quotas = ClientQuotas()
    >>> quotas.alter(make_entity([("user", "alice")]), [("controller_mutation_rate", 5.0)])
    >>> limits = quotas.limits["controller_mutation_rate"]
    >>> manager = ControllerMutationQuotaManager(limits, sample_count=100, window_seconds=1)
    >>> quota = manager.quota_for("alice", "her-client", is_strict=True)
    >>> [quota.charge(80, now_ms=0) for _topic in range(8)]
    [True, True, True, True, True, True, True, False]
    >>> quota.throttle_time_ms(now_ms=0)
    12000

Further managers: `ClientRateQuotaManager` of kind `PRODUCE`, `FETCH` or `REQUEST`,
`ConnectionRateQuotaManager`, `AcceptRate`, `ProducerIdQuotaManager`. Their parts are public:
`TokenBucket`, `SampledRate`, and `Limits` with the eight levels of precedence.
"""

from quotas.client_quotas import ClientQuotas, Component, FilterProblem
from quotas.client_rate import FETCH, PRODUCE, REQUEST, ClientRateQuotaManager, RateKind
from quotas.connection_rate import AcceptRate, ConnectionRateQuotaManager
from quotas.controller_mutation import ControllerMutationQuota, ControllerMutationQuotaManager
from quotas.definitions import Definition, parse_definitions
from quotas.entities import QUOTA_KEYS, Entity, QuotaKey, make_entity
from quotas.layered_bloom_filter import LayeredBloomFilter
from quotas.limits import Limits, Scope
from quotas.metrics import Measurement, MetricsRegistry
from quotas.producer_ids import ProducerIdQuotaManager
from quotas.sampled_rate import SampledAverage, SampledRate
from quotas.token_bucket import TokenBucket, exact

__all__ = [
    "FETCH",
    "PRODUCE",
    "QUOTA_KEYS",
    "REQUEST",
    "AcceptRate",
    "ClientQuotas",
    "ClientRateQuotaManager",
    "Component",
    "ConnectionRateQuotaManager",
    "ControllerMutationQuota",
    "ControllerMutationQuotaManager",
    "Definition",
    "Entity",
    "FilterProblem",
    "LayeredBloomFilter",
    "Limits",
    "Measurement",
    "MetricsRegistry",
    "ProducerIdQuotaManager",
    "QuotaKey",
    "RateKind",
    "SampledAverage",
    "SampledRate",
    "Scope",
    "TokenBucket",
    "exact",
    "make_entity",
    "parse_definitions",
]
