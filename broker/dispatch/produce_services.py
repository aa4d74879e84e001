"""What the inline caches of connections need of their dispatcher."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import WeakValueDictionary

from broker.audit.acknowledgements import Acknowledgements
from broker.cluster.cluster import Cluster
from broker.dispatch.charged_run import ChargedRun
from broker.dispatch.produce_charge import ProduceCharge
from broker.dispatch.shared_run import SharedRun
from broker.faults.table import FaultTable
from broker.journal.journal import Journal
from broker.produce.request_shape import RequestShape
from broker.request.encoding import BugReporter
from broker.request.session import Peer

RunKey: TypeAlias = tuple[int, bytes, bytes, bytes]
"""All that requests to one partition of a broker have in common, except for their batches."""


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

    charged_runs: "WeakValueDictionary[tuple[SharedRun, str], ChargedRun]" = field(
        default_factory=WeakValueDictionary
    )
    """The same with the rates of a principal."""

    def run_of(self, shape: RequestShape) -> SharedRun:
        """Return the run of a shape with one partition, or of one that equals it."""
        key = _run_key(shape)
        run = self.runs.get(key)
        if run is None or run.produce_version != shape.produce_version:
            run = self.runs[key] = SharedRun(
                shape,
                self.cluster,
                self.faults,
                self.journal,
                self.acknowledgements,
                self.now_ns,
            )
        return run

    def charged_run_of(self, run: SharedRun, peer: Peer, now_ms: int) -> ChargedRun:
        """Return a run with the rates of the principal of a connection."""
        principal = peer.session.principal
        charged = self.charged_runs.get((run, principal))
        if charged is None:
            client_id = run.shape.client_id
            charge = ProduceCharge(self.cluster, peer.broker_id, principal, client_id, now_ms)
            charged = self.charged_runs[run, principal] = ChargedRun(run, charge)
        return charged


def _run_key(shape: RequestShape) -> RunKey:
    (target,) = shape.targets
    return target.partition.leader_id, shape.api, target.piece, shape.suffix
