"""Start a proxy: its listeners, what it asks the cluster, its fault rules."""

from collections.abc import Sequence
from uuid import uuid4

from broker.addresses import Address
from broker.clock import BrokerClock, ClockMode
from broker.log import log
from broker.request.encoding import BugReporter
from broker.serve import ServeOptions, StartError, begin_serving, open_listeners
from broker.server.listener_settings import SecurityProtocol, plan_listeners
from broker.server.server import log_bug
from client.errors import ClientError
from client.security import Security
from client.transport import tls_context
from proxy.mirror import ENFORCED_KEYS, MirrorCluster
from proxy.own_requests import UnknownClusterError, describe_cluster
from proxy.server import ProxyServer
from quotas.client_quotas import enforced_problem
from quotas.definitions import parse_definitions

PORTS_MAX = 100
"""As many ports of brokers do not meet the ports of another listener."""


async def start_proxy(
    options: ServeOptions,
    to: Sequence[Address],
    security: Security,
    report_bug: BugReporter = log_bug,
) -> ProxyServer:
    """Return the server of a proxy that has its bootstrap port, and one for each known broker.

    `to` has bootstrap addresses of the cluster, `security` is how the proxy connects to it.

    Raises:
        StartError: an address cannot be bound, or a fault rule or a quota is for what a proxy does
            not have.
        ConfigError: the configuration of the listeners is invalid.
        SecurityError: a PEM file cannot be read.
    """
    config = options.config
    for _, values in parse_definitions(config["client.quotas"]):
        problem = enforced_problem(values, ENFORCED_KEYS)
        if problem is not None:
            raise StartError(problem)
    plans = plan_listeners(
        config,
        options.host,
        options.port,
        1 if len(config.overrides.get("listeners", "").split(",")) == 1 else PORTS_MAX,
        options.advertised_host,
        SecurityProtocol.of(has_tls=options.has_tls, has_sasl=options.has_sasl),
    )
    cluster = MirrorCluster(config, cluster_id="", new_uuid=uuid4)
    clock = BrokerClock(ClockMode(config["broker.clock"]), config["broker.clock.factor"])
    tls = None if security.tls is None else tls_context(security.tls)
    server = ProxyServer(cluster, clock, to, tls, report_bug)
    await open_listeners(server, options, plans, authenticates=False)
    try:
        metadata = await describe_cluster(to, security)
    except (UnknownClusterError, ClientError) as error:
        log.warning("the cluster is not known yet", reason=str(error))
    else:
        server.note_metadata(metadata)
    await begin_serving(server, options.faults)
    return server
