"""What passes through a proxy reaches the shadow, and a bug there ends no request."""

from uuid import uuid4

from broker.clock import BrokerClock
from broker.request.context import RequestContext
from proxy.diff.watcher import Watcher
from proxy.forwarding import ForwardingDispatcher
from proxy.mirror import MirrorCluster
from tests.proxy.diff.real_cluster import START_MS, BothClusters, frame_of


def test_an_error_of_the_comparison_is_counted() -> None:
    both = BothClusters()
    cluster = MirrorCluster(both.real.cluster.config, cluster_id="", new_uuid=uuid4)
    dispatcher = ForwardingDispatcher(cluster, lambda _error, _context: None)
    Watcher(both.shadow, BrokerClock()).watch(dispatcher)
    assert dispatcher.looks
    context = RequestContext(16, 4, 1, "client", START_MS, 9, 1, 5, "127.0.0.1")
    (sent,), (answered,) = dispatcher.on_sent, dispatcher.observers
    sent(context, frame_of(1, "ListGroups", 4, {}))
    answered(context, b"", b"\0\0\0\5\0\0\0\1x")
    reasons = both.shadow.report.of("ListGroups").not_compared
    assert sum(reasons.values()) == 1
    for note in dispatcher.on_closed:
        note(5)
