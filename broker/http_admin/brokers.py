"""List, stop, start and isolate brokers; list and close connections."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated

import msgspec

from broker.addresses import PORT_MAX, Address, without_brackets
from broker.cluster import broker_membership, failover
from broker.cluster.brokers import Broker
from broker.config.keys import ConfigError
from broker.dispatch.turn_queue import TurnKind
from broker.http_admin.operation import Count, Input, Name, NodeId, Problem, Remedy, operation
from broker.http_admin.state import Admin
from broker.journal.lines import Entry
from broker.server.listener import ListenError
from protocol.pacing import may_pause, paced, paced_elements


class BrokerView(msgspec.Struct):
    """One broker.

    `is_alive`: Metadata lists it. `availability`: whether its sockets serve clients (`up`),
    refuse connections (`down`), or stay open and silent (`isolated`).
    """

    node_id: int
    host: str
    port: int
    rack: str | None
    is_alive: bool
    availability: str
    is_controller: bool
    leads: int
    connections: int
    endpoints: dict[str, str]


class BrokerPath(Input):
    """A broker by its node id."""

    node_id: NodeId


class NewBrokerBody(Input):
    """A new broker; without a node id it gets the next one that was never used."""

    node_id: NodeId | None = None
    rack: Name | None = None


class AdvertisedBody(Input):
    """The address at which clients reach a listener; without a name that of the first one."""

    host: Name
    port: Annotated[int, msgspec.Meta(ge=1, le=PORT_MAX)]
    listener: Name | None = None


class StopBody(Input):
    """How the broker stops.

    `elect`: the controller fences it and elects other leaders. `controlled`: as on SIGTERM, leaders
    move first, and its connections close 50 ms later.
    """

    elect: bool = True
    controlled: bool = False


class StartBody(Input):
    """Start keys of this broker alone; null removes a key."""

    config: dict[str, str | None] = msgspec.field(default_factory=dict)


class CutBody(Input):
    """Whether the controller fences the broker and elects other leaders."""

    elect: bool = False


class ConnectionView(msgspec.Struct):
    """One connection; the client id is that of its last request in the journal."""

    connection: int
    broker: int
    peer: str
    listener: str
    user: str
    client_id: str | None
    is_waiting: bool
    muted_until_ms: int
    """0 unless a quota mutes it."""
    last_active_ms: int
    buffered_bytes: int


class ConnectionPath(Input):
    """A connection by its number."""

    connection: Count


@operation("GET", "/v1/brokers", tag="brokers", turn_kind=TurnKind.READING)
@may_pause
def list_brokers(admin: Admin) -> list[BrokerView]:
    """List all brokers with their state."""
    return _views(admin, admin.cluster.brokers.values())


@operation("POST", "/v1/brokers", tag="brokers", status=201)
async def add_broker(admin: Admin, body: NewBrokerBody) -> BrokerView:
    """Add a broker on a new port; it leads new partitions and those that are moved to it.

    A broker that was decommissioned comes back on its port.
    """
    try:
        broker = await admin.server.add_broker(body.node_id, body.rack)
    except (ValueError, ListenError) as error:
        raise Problem(409, str(error)) from error
    return _view(admin, broker)


@operation(
    "PUT",
    "/v1/brokers/{node_id}/advertised",
    tag="brokers",
    further_rules="There is no such listener, or advertised.listeners was altered at run time",
)
@may_pause
def advertise_address(admin: Admin, path: BrokerPath, body: AdvertisedBody) -> BrokerView:
    """Advertise another address, such as the mapped port of a container.

    Responses have it from now on, also after a reset. The broker listens where it did.
    """
    admin.check_broker(path.node_id)
    broker = admin.cluster.brokers[path.node_id]
    listener = body.listener or next(iter(broker.advertised))
    try:
        broker.advertise(listener, Address(without_brackets(body.host), body.port))
    except ValueError as error:
        raise Problem(422, str(error)) from error
    return _view(admin, broker)


@operation("DELETE", "/v1/brokers/{node_id}", tag="brokers", status=204, media_type=None)
@may_pause
def decommission_broker(admin: Admin, path: BrokerPath) -> None:
    """Stop a broker and unregister it: leaders move, and Metadata no longer lists it.

    Partitions keep it as an offline replica until they are moved. A reset brings it back.
    """
    admin.check_broker(path.node_id)
    try:
        broker_membership.decommission_broker(admin.cluster, path.node_id, admin.now_ms())
    except ValueError as error:
        raise Problem(409, str(error)) from error


@operation("POST", "/v1/brokers/{node_id}/fence", tag="brokers")
@may_pause
def fence_broker(admin: Admin, path: BrokerPath) -> BrokerView:
    """Fence a broker: it leaves Metadata and leads nothing; its connections stay."""
    admin.check_broker(path.node_id)
    failover.fence_broker(admin.cluster, path.node_id, admin.now_ms())
    return _view(admin, admin.cluster.brokers[path.node_id])


@operation(
    "POST",
    "/v1/brokers/{node_id}/stop",
    tag="brokers",
    further_rules="A controlled shutdown always elects other leaders",
)
@may_pause
def stop_broker(admin: Admin, path: BrokerPath, body: StopBody) -> BrokerView:
    """Stop a broker: its connections are cut and new ones refused; no record is lost.

    With `controller.mutation.time.us` the election waits for topic requests in the controller's
    queue. Until then the broker is alive and leads.
    """
    admin.check_broker(path.node_id)
    if not body.controlled:
        failover.stop_broker(admin.cluster, path.node_id, admin.now_ms(), elect=body.elect)
    elif body.elect:
        failover.shut_down_broker(admin.cluster, path.node_id, admin.now_ms())
    else:
        raise Problem(422, "a controlled shutdown elects other leaders: elect must be true")
    return _view(admin, admin.cluster.brokers[path.node_id])


@operation(
    "POST",
    "/v1/brokers/{node_id}/start",
    tag="brokers",
    further_rules="A key or a value of the configuration is invalid",
)
@may_pause
def start_broker(admin: Admin, path: BrokerPath, body: StartBody) -> BrokerView:
    """Start a broker again on its port; it leads only partitions that have no leader.

    `config` changes the start keys of this broker alone, as an upgrade does.
    """
    admin.check_broker(path.node_id)
    if body.config:
        _configure(admin, admin.cluster.brokers[path.node_id], body.config)
    failover.start_broker(admin.cluster, path.node_id, admin.now_ms())
    return _view(admin, admin.cluster.brokers[path.node_id])


@may_pause
def _configure(admin: Admin, broker: Broker, overrides: dict[str, str | None]) -> None:
    """Change the keys that a broker was started with.

    Raises:
        Problem: 422 for an invalid key or value; 409 for a key that was also set at run time,
            since that value has precedence.
    """
    config = admin.cluster.config
    try:
        config = config.with_overrides_of(broker.node_id, overrides)
    except ConfigError as error:
        raise Problem(422, f"config: {error}") from error
    for name in overrides:
        if name in config.dynamic_layer(broker.node_id) or name in config.dynamic_default:
            raise Problem(409, f"config: {name} was set at run time, and that value has precedence")
    admin.cluster.set_config(config)
    if "broker.rack" in overrides:
        broker.rack = config.for_broker(broker.node_id)["broker.rack"]


@operation("POST", "/v1/brokers/{node_id}/isolate", tag="brokers")
@may_pause
def isolate_broker(admin: Admin, path: BrokerPath, body: CutBody) -> BrokerView:
    """Isolate a broker from its clients: connections stay open, nothing passes through them."""
    admin.check_broker(path.node_id)
    failover.isolate_broker(admin.cluster, path.node_id, admin.now_ms(), elect=body.elect)
    return _view(admin, admin.cluster.brokers[path.node_id])


@operation("GET", "/v1/connections", tag="connections", turn_kind=TurnKind.READING)
@may_pause
def list_connections(admin: Admin) -> list[ConnectionView]:
    """List all connections, with the time until which a quota mutes them."""
    client_ids: dict[int, str | None] = {}
    for line in paced_elements(tuple(admin.journal)):
        if isinstance(line, Entry):
            client_ids[line.context.connection_id] = line.context.client_id
    views = []
    for protocol in paced(admin.server.protocols):
        connection = protocol.connection
        if connection is not None:
            views.append(
                ConnectionView(
                    connection=connection.connection_id,
                    broker=connection.broker_id,
                    peer=protocol.peer,
                    listener=connection.session.listener,
                    user=connection.session.principal,
                    client_id=client_ids.get(connection.connection_id),
                    is_waiting=connection.is_waiting,
                    muted_until_ms=connection.muted_until_ms,
                    last_active_ms=protocol.last_active_ms,
                    buffered_bytes=connection.buffered_bytes,
                )
            )
    return sorted(views, key=lambda view: view.connection)


@operation("DELETE", "/v1/connections/{connection}", tag="connections", status=204, media_type=None)
def cut_connection(admin: Admin, path: ConnectionPath) -> None:
    """Close a connection; requests without a response stay without one."""
    for protocol in admin.server.protocols:
        connection = protocol.connection
        if connection is not None and connection.connection_id == path.connection:
            protocol.cut("cut through the admin port")
            return
    remedy = Remedy("list_connections", "lists them")
    raise Problem(404, f"there is no connection {path.connection}", remedy=remedy)


@may_pause
def _views(admin: Admin, brokers: Iterable[Broker]) -> list[BrokerView]:
    """Describe brokers; the leaders of all partitions are counted once, in a loop that pauses."""
    leads = Counter(
        partition.leader_id
        for topic in paced(admin.cluster.topics.all())
        for partition in paced_elements(tuple(topic.partitions))
    )
    connections = Counter(protocol.broker_id for protocol in admin.server.protocols)
    return [
        _view_with(admin, broker, leads[broker.node_id], connections[broker.node_id])
        for broker in brokers
    ]


@may_pause
def _view(admin: Admin, broker: Broker) -> BrokerView:
    return _views(admin, [broker])[0]


def _view_with(admin: Admin, broker: Broker, leads: int, connections: int) -> BrokerView:
    node_id = broker.node_id
    advertised = broker.advertised
    first = next(iter(advertised.values()))
    return BrokerView(
        node_id=node_id,
        host=first.host,
        port=first.port,
        rack=broker.rack,
        is_alive=broker.is_alive,
        availability=broker.availability.value,
        is_controller=admin.cluster.controller_id == node_id,
        leads=leads,
        connections=connections,
        endpoints={name: str(address) for name, address in advertised.items()},
    )
