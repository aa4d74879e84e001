"""What the inline caches of connections need of their dispatcher."""

from collections.abc import Callable
from dataclasses import dataclass

from broker.audit.acknowledgements import Acknowledgements
from broker.cluster.cluster import Cluster
from broker.faults.table import FaultTable
from broker.journal.journal import Journal
from broker.request.context import RequestContext
from broker.request.encoding import BugReporter


@dataclass(frozen=True, slots=True)
class ProduceServices:
    """What the caches of all connections to a cluster share: the parts of its dispatcher."""

    cluster: Cluster
    faults: FaultTable
    journal: Journal
    acknowledgements: Acknowledgements
    report_bug: BugReporter
    now_ns: Callable[[], int]
    start_stopwatch: Callable[[RequestContext], None]
