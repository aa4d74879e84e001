"""A client of a group coordinator: its connections, the cluster's metadata, its turns.

Events arrive through callbacks and `tick`, and requests are sent over links. What the client does
with its coordinator and with the leaders of its partitions is in the subclasses.
"""

from typing import Any, NamedTuple
from uuid import UUID

from client.resources import Address
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from simulation.network import Network
from simulation.timeline import Scheduled
from tests.simulation.client_link import ClientLink, Responded
from tests.simulation.history import History, Place
from tests.simulation.streams_topology import StreamsTopology

TICK_MS = 350
REQUEST_TIMEOUT_MS = 1_000
PAUSE_MS = 10
METADATA_AGE_MS = 2_000
LATE_MS = 5_000
"""How long a request of a connection that is lost may still be on its way."""


class MemberSettings(NamedTuple):
    """The settings of a member; times in ms.

    `server_assignor` and `subscribes_by_regex` are for members of the consumer protocol,
    `has_record_limit` and `renews_locks` for those of share groups: they never get more records
    than they ask for, and they keep records for longer than a lock lasts. `topology` and
    `process_id` are for members of streams groups.
    """

    name: str
    user: str
    group: str
    topics: tuple[str, ...]
    instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    says_hello: bool
    versions_max: dict[ApiKey, int]
    server_assignor: str | None = None
    subscribes_by_regex: bool = False
    has_fetch_sessions: bool = False
    has_record_limit: bool = False
    topology: StreamsTopology | None = None
    process_id: str = ""
    renews_locks: bool = False


class Leader(NamedTuple):
    """The leader of a partition."""

    node_id: int
    epoch: int


LinkKey = tuple[str, Address]
"""The purpose and broker of a connection: the coordinator has its own, which no fetch delays."""

ANY, GROUP, FETCH = "any", "group", "fetch"


class CoordinatedClient:
    """One client, from its start to its crash; it can hang, and be started again."""

    def __init__(
        self,
        settings: MemberSettings,
        network: Network,
        history: History,
        bootstrap: list[Address],
    ) -> None:
        self.settings = settings
        self._network = network
        self._history = history
        self._bootstrap = bootstrap
        self._next_bootstrap = 0
        self.is_running = False
        self._is_hung = False
        self._alarm: Scheduled | None = None
        self._reset()

    def _reset(self) -> None:
        self._links: dict[LinkKey, ClientLink] = {}
        self._asked: dict[str, ClientLink] = {}
        self._addresses: dict[int, Address] = {}
        self._leaders: dict[Place, Leader] = {}
        self._topic_ids: dict[str, UUID] = {}
        self._metadata_ms = 0
        self._coordinator: Address | None = None
        self._assigned_ids: list[tuple[UUID, int]] | None = None
        """An assignment by topic id, until the names of all its topics are known."""

    @property
    def _now_ms(self) -> int:
        return self._network.schedule.time_ms

    # For subclasses --------------------------------------------------------------------------

    def _attend(self, link: ClientLink) -> None:
        """Send what is due to the coordinator."""
        raise NotImplementedError

    def _fetch_more(self) -> None:
        """Send what is due to the leaders of partitions."""
        raise NotImplementedError

    def _extra_wait_ms(self, _link: ClientLink) -> int:
        """Return how long a response may take beyond the request timeout."""
        return 0

    def _on_coordinator_lost(self, lost: list[str]) -> None:
        """Note requests whose responses are lost with the connection to the coordinator."""

    def _on_lost(self, lost: list[str]) -> None:
        """Note requests whose responses are lost with any connection."""

    def _on_leaders(self) -> None:
        """Note that the leaders of the subscribed topics are known."""

    @property
    def is_active(self) -> bool:
        """Whether it runs, and does not hang."""
        return self.is_running and not self._is_hung

    @property
    def is_stable(self) -> bool:
        """Whether it has what it is to have, and waits for nothing."""
        raise NotImplementedError

    def leave(self) -> None:
        """Leave the group, and end."""
        raise NotImplementedError

    # From outside ----------------------------------------------------------------------------

    def start(self) -> None:
        """Start as a new process."""
        if self.is_running:
            return
        self._reset()
        self.is_running = True
        self._is_hung = False
        self._tick()

    def crash(self) -> None:
        """End without a word to the coordinator."""
        self._network.trace(f"{self.settings.name} crashes")
        self.is_running = False
        if self._alarm is not None:
            self._alarm.cancel()
        for link in self._links.values():
            link.close()
        self._reset()

    def hang(self, duration_ms: int) -> None:
        """Do nothing for some time, then go on as if no time had passed."""
        if not self.is_active:
            return
        self._network.trace(f"{self.settings.name} hangs")
        self._is_hung = True
        if self._alarm is not None:
            self._alarm.cancel()
        hanging = list(self._links.values())
        for link in hanging:
            link.pause()

        def go_on() -> None:
            if self._is_hung:
                self._network.trace(f"{self.settings.name} goes on")
                self._is_hung = False
                for link in hanging:
                    link.resume()
                self._tick()

        self._network.schedule.after(duration_ms, go_on)

    # Turns -----------------------------------------------------------------------------------

    def _tick(self) -> None:
        if not self.is_active:
            return
        self._alarm = self._network.schedule.after(TICK_MS, self._tick)
        for key, link in list(self._links.items()):
            timeout_ms = REQUEST_TIMEOUT_MS + self._extra_wait_ms(link)
            since_ms = link.waiting_since_ms
            if since_ms is not None and self._now_ms - since_ms >= timeout_ms:
                link.close()
                self._lost(key, "timed out")
        self._step()

    def _step(self) -> None:
        if not self.is_active:
            return
        if self._now_ms - self._metadata_ms >= METADATA_AGE_MS:
            self._ask_any("metadata", self._metadata_request, self._on_metadata)
        if self._coordinator is None:
            self._ask_any("find", self._find_request, self._on_coordinator)
        else:
            link = self._coordinator_link()
            if link is not None:
                self._attend(link)
        self._fetch_more()

    # Links -----------------------------------------------------------------------------------

    def _link_to(self, purpose: str, address: Address) -> ClientLink | None:
        """Return an open link, or None while it is being opened."""
        key = purpose, address
        link = self._links.get(key)
        if link is None:
            link = ClientLink(
                self._network,
                self._history,
                user=self.settings.user,
                client_id=self.settings.name,
                says_hello=self.settings.says_hello,
                versions_max=self.settings.versions_max,
                on_open=self._step,
                on_lost=lambda reason: self._lost(key, reason),
            )
            self._links[key] = link
            link.open(address)
            self._network.schedule.after(REQUEST_TIMEOUT_MS, lambda: self._give_up(key, link))
        return link if link.is_ready else None

    def _give_up(self, key: LinkKey, link: ClientLink) -> None:
        if not link.is_ready and not link.is_gone:
            link.close()
            self._lost(key, "no connection in time")

    def _coordinator_link(self) -> ClientLink | None:
        return None if self._coordinator is None else self._link_to(GROUP, self._coordinator)

    def _lost(self, key: LinkKey, reason: str) -> None:
        self._network.trace(f"{self.settings.name} has lost {key[1].host}: {reason}")
        link = self._links.pop(key)
        lost = [what for what, used in self._asked.items() if used is link]
        for what in lost:
            del self._asked[what]
        if key == (GROUP, self._coordinator):
            self._coordinator = None
            self._on_coordinator_lost(lost)
        self._on_lost(lost)
        self._next_bootstrap += 1
        self._metadata_ms = 0

    def _ask(self, what: str, link: ClientLink, request: Any, on_response: Any) -> None:
        """Send a request; there is one of its kind at a time."""
        if what in self._asked:
            return
        self._asked[what] = link

        def take(response: Any, responded: Responded) -> None:
            del self._asked[what]
            on_response(response, responded)
            # Not at once: in virtual time without delays this would be an endless loop.
            self._network.schedule.after(PAUSE_MS, self._step)

        link.ask(request, take)

    def _ask_any(self, what: str, make: Any, on_response: Any) -> None:
        if what in self._asked:
            return
        address = self._bootstrap[self._next_bootstrap % len(self._bootstrap)]
        link = self._link_to(ANY, address)
        if link is not None:
            self._ask(what, link, make(), on_response)

    # The cluster -----------------------------------------------------------------------------

    def _metadata_request(self) -> Any:
        topic_class = messages.MetadataRequest.MetadataRequestTopic
        return messages.MetadataRequest(
            topics=[topic_class(name=name) for name in self.settings.topics],
            allow_auto_topic_creation=False,
        )

    def _on_metadata(self, response: Any, _responded: Responded) -> None:
        self._metadata_ms = self._now_ms
        self._addresses = {
            broker.node_id: Address(broker.host, broker.port) for broker in response.brokers
        }
        for topic in response.topics:
            if topic.error_code == ErrorCode.NONE:
                self._topic_ids[topic.name] = topic.topic_id
            for partition in topic.partitions:
                place = topic.name, partition.partition_index
                known = self._leaders.get(place)
                if known is None or partition.leader_epoch >= known.epoch:
                    self._leaders[place] = Leader(partition.leader_id, partition.leader_epoch)
        self._on_leaders()

    def _find_request(self) -> Any:
        return messages.FindCoordinatorRequest(
            key=self.settings.group, key_type=0, coordinator_keys=[self.settings.group]
        )

    def _on_coordinator(self, response: Any, _responded: Responded) -> None:
        found = response.coordinators[0]
        if found.error_code == ErrorCode.NONE:
            self._coordinator = Address(found.host, found.port)

    def _take_assignment(self, assignment: Any) -> None:
        """Keep what the coordinator assigns, for `_resolved_assignment`."""
        self._assigned_ids = [
            (topic.topic_id, index)
            for topic in assignment.topic_partitions
            for index in topic.partitions
        ]

    def _resolved_assignment(self) -> frozenset[Place] | None:
        """Return a new assignment, once; None while a topic of it waits for metadata."""
        if self._assigned_ids is None:
            return None
        places = {(self._name_of(topic_id), index) for topic_id, index in self._assigned_ids}
        if any(name == "" for name, _ in places):
            self._metadata_ms = 0
            return None
        self._assigned_ids = None
        return frozenset(places)

    def _name_of(self, topic_id: UUID) -> str:
        return next((name for name, known in self._topic_ids.items() if known == topic_id), "")
