"""What the inline caches of connections need of their dispatcher."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import WeakValueDictionary

from broker.audit.acknowledgements import Acknowledgements
from broker.cluster.cluster import Cluster
from broker.dispatch.produce_charge import ProduceCharge
from broker.dispatch.shared_run import SharedRun
from broker.faults.table import FaultTable
from broker.journal.journal import Journal
from broker.produce.request_shape import RequestShape
from broker.request.encoding import BugReporter
from broker.request.session import Peer

RunKey: TypeAlias = tuple[int, str, bytes, bytes, bytes]
"""All that requests of a principal to one partition have in common, except for their batches."""


@dataclass(frozen=True, slots=True)
class ProduceServices:
    """What the caches of all connections to a cluster share: the parts of its dispatcher."""

    cluster: Cluster
    faults: FaultTable
    journal: Journal
    acknowledgements: Acknowledgements
    report_bug: BugReporter
    now_ns: Callable[[], int]
    runs: "WeakValueDictionary[RunKey, SharedRun]" = field(default_factory=WeakValueDictionary)
    """Those of all connections, while one uses them.

    Connections that send the same share one: a request then touches less memory, and most of what
    it touches is in the processor's cache.
    """

    def run_of(self, shape: RequestShape, peer: Peer, now_ms: int) -> SharedRun:
        """Return the run of a principal for a shape with one partition, or one that equals it."""
        (target,) = shape.targets
        broker_id, principal = peer.broker_id, peer.session.principal
        key = broker_id, principal, shape.api, target.piece, shape.suffix
        run = self.runs.get(key)
        if run is None or run.produce_version != shape.produce_version:
            charge = ProduceCharge(self.cluster, broker_id, principal, shape.client_id, now_ms)
            run = self.runs[key] = SharedRun(
                shape,
                charge,
                self.cluster,
                self.faults,
                self.journal,
                self.acknowledgements,
                self.now_ns,
            )
        return run
