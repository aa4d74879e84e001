"""A member of a share group (KIP-932): it fetches in share sessions and acknowledges records."""

from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from protocol import messages
from protocol.errors import ErrorCode
from protocol.records import batch_base_offset, last_offset
from simulation.network import Network
from tests.simulation.client_link import ClientLink, Responded
from tests.simulation.coordinated_client import (
    FETCH,
    LATE_MS,
    CoordinatedClient,
    MemberSettings,
)
from tests.simulation.group_member import split_batches
from tests.simulation.history import History, Place
from tests.simulation.share_history import (
    Acknowledgement,
    AcknowledgeType,
    Delivery,
    ShareHistory,
    range_problem,
)

JOIN_EPOCH, LEAVE_EPOCH = 0, -1
INITIAL_EPOCH, FINAL_EPOCH = 0, -1
FETCH_WAIT_MS = 500
RENEWALS_MS = (None, 300, 500, 800)
"""After which time a member that renews locks does so; a part of the records is not renewed."""

_FENCED = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
}
_NO_SESSION = {ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH}

_Fetch = messages.ShareFetchRequest
_Acknowledge = messages.ShareAcknowledgeRequest


@dataclass(slots=True, eq=False)
class _Session:
    """The share session with one broker."""

    link: ClientLink
    epoch: int = INITIAL_EPOCH
    places: frozenset[Place] = frozenset()
    ready: list[Acknowledgement] = field(default_factory=list)
    """What is to be sent next."""


class ShareMember(CoordinatedClient):
    """One member; it takes its time with some records, releases and rejects some."""

    def __init__(
        self,
        settings: MemberSettings,
        network: Network,
        history: History,
        bootstrap: list[Any],
        random: Random,
        shared: ShareHistory,
    ) -> None:
        self._random = random
        self._shared = shared
        self.is_reliable = False
        """Whether it accepts every record at once."""
        self._prefers_acknowledge = random.random() < 0.5
        self._records_max = random.choice((1, 3, 500))
        self._batch_size = random.choice((1, 2, 500))
        super().__init__(settings, network, history, bootstrap)

    def _reset(self) -> None:
        super()._reset()
        random_bytes = self._random.getrandbits(128).to_bytes(16)
        self._member_id = urlsafe_b64encode(random_bytes).decode().rstrip("=")
        self._epoch = JOIN_EPOCH
        self._interval_ms = 0
        self._last_beat_ms = 0
        self._must_subscribe = True
        self._is_full_until_ms = 0
        self.assigned: frozenset[Place] = frozenset()
        self._sessions: dict[int, _Session] = {}

    @property
    def is_stable(self) -> bool:
        """Whether it is a member."""
        return self._epoch > 0

    def leave(self) -> None:
        """Release what it has, leave the group, and end."""
        self._shared.session_ends.setdefault(self._member_id, []).append(
            self._shared.broker_time_ms(self._now_ms)
        )
        for node_id, session in self._sessions.items():
            if session.link.is_ready and not session.link.is_gone and session.epoch > 0:
                self._send_acknowledge(node_id, session, FINAL_EPOCH, waits=False)
        link = self._coordinator_link()
        if link is not None and self._epoch > 0:
            request = messages.ShareGroupHeartbeatRequest(
                group_id=self.settings.group,
                member_id=self._member_id,
                member_epoch=LEAVE_EPOCH,
                rack_id=None,
                subscribed_topic_names=None,
            )
            link.ask(request, lambda _response, _responded: None)
        self.crash()

    def crash(self) -> None:
        """End; what it has acquired is released with its connections."""
        self._note_lost([what for what in self._asked if what.startswith("fetch")])
        super().crash()

    # Membership ------------------------------------------------------------------------------

    def _on_coordinator_lost(self, lost: list[str]) -> None:
        self._must_subscribe = True
        if "heartbeat" in lost:
            # As for consumers: what a late response would have assigned is in full ones only.
            self._is_full_until_ms = self._now_ms + LATE_MS

    def _on_lost(self, lost: list[str]) -> None:
        self._note_lost([what for what in lost if what.startswith("fetch")])
        for node_id, session in list(self._sessions.items()):
            if session.link.is_gone:
                del self._sessions[node_id]

    def _note_lost(self, fetches: list[str]) -> None:
        self._shared.lost_fetches[self.settings.group] += len(fetches)

    def _on_leaders(self) -> None:
        self._resolve()

    def _attend(self, link: ClientLink) -> None:
        if "heartbeat" in self._asked or self._now_ms - self._last_beat_ms < self._interval_ms:
            return
        self._last_beat_ms = self._now_ms
        is_full = (
            self._must_subscribe
            or self._epoch == JOIN_EPOCH
            or self._now_ms < self._is_full_until_ms
        )
        request = messages.ShareGroupHeartbeatRequest(
            group_id=self.settings.group,
            member_id=self._member_id,
            member_epoch=self._epoch,
            rack_id=None,
            subscribed_topic_names=list(self.settings.topics) if is_full else None,
        )
        self._ask("heartbeat", link, request, self._on_beat)

    def _on_beat(self, response: Any, _responded: Responded) -> None:
        error_code = response.error_code
        if error_code in _FENCED:
            self._network.trace(f"{self.settings.name} gets {ErrorCode(error_code).name}")
            self._epoch = JOIN_EPOCH
            self._interval_ms = 0
            self.assigned = frozenset()
        elif error_code not in {ErrorCode.NONE, ErrorCode.GROUP_MAX_SIZE_REACHED}:
            self._coordinator = None
        if error_code != ErrorCode.NONE:
            self._must_subscribe = True
            return
        self._must_subscribe = False
        self._interval_ms = response.heartbeat_interval_ms
        self._epoch = response.member_epoch
        if response.assignment is not None:
            self._take_assignment(response.assignment)
            self._resolve()

    def _resolve(self) -> None:
        places = self._resolved_assignment()
        if places is None:
            return
        self.assigned = places
        self._network.trace(f"{self.settings.name} fetches {sorted(places)}")

    # Share sessions ----------------------------------------------------------------------------

    def _fetch_more(self) -> None:
        places_by_leader: dict[int, set[Place]] = {node_id: set() for node_id in self._sessions}
        for place in sorted(self.assigned):
            leader = self._leaders.get(place)
            if leader is not None and leader.node_id in self._addresses:
                places_by_leader.setdefault(leader.node_id, set()).add(place)
        for node_id, places in places_by_leader.items():
            what = f"fetch {node_id}"
            if what in self._asked or f"acknowledge {node_id}" in self._asked:
                continue
            session = self._session(node_id)
            if session is None:
                continue
            if session.ready and session.epoch > 0 and self._prefers_acknowledge:
                self._send_acknowledge(node_id, session, session.epoch)
            elif places or session.ready or session.places:
                self._send_fetch(node_id, session, frozenset(places))

    def _session(self, node_id: int) -> _Session | None:
        address = self._addresses.get(node_id)
        link = None if address is None else self._link_to(FETCH, address)
        if link is None:
            return None
        session = self._sessions.get(node_id)
        if session is None or session.link is not link:
            session = self._sessions[node_id] = _Session(link)
            self._shared.links.setdefault(self._member_id, []).append(link)
        return session

    def _send_fetch(self, node_id: int, session: _Session, places: frozenset[Place]) -> None:
        if session.epoch == INITIAL_EPOCH:
            session.ready.clear()
        sent = self._take(session)
        added = places - session.places
        forgotten = session.places - places
        session.places = places
        batches: dict[Place, list[Acknowledgement]] = {place: [] for place in sorted(added)}
        for acknowledgement in sent:
            batches.setdefault(acknowledgement.delivery.place, []).append(acknowledgement)
        request = _Fetch(
            group_id=self.settings.group,
            member_id=self._member_id,
            share_session_epoch=session.epoch,
            **_limits(self._records_max, renews=_renews(sent)),
            batch_size=self._batch_size,
            share_acquire_mode=int(self.settings.has_record_limit),
            topics=[
                _Fetch.FetchTopic(
                    topic_id=self._topic_ids[name],
                    partitions=[
                        _Fetch.FetchTopic.FetchPartition(
                            partition_index=index,
                            partition_max_bytes=1 << 20,
                            acknowledgement_batches=_batches(
                                _Fetch.FetchTopic.FetchPartition, batches[topic, index]
                            ),
                        )
                        for topic, index in batches
                        if topic == name
                    ],
                )
                for name in dict.fromkeys(topic for topic, _ in batches)
            ],
            forgotten_topics_data=[
                _Fetch.ForgottenTopic(
                    topic_id=self._topic_ids[name],
                    partitions=sorted(index for topic, index in forgotten if topic == name),
                )
                for name in sorted({topic for topic, _ in forgotten})
            ],
        )
        session.epoch += 1
        on_response = partial(self._on_fetched, node_id, session, sent)
        self._ask(f"fetch {node_id}", session.link, request, on_response)

    def _send_acknowledge(
        self, node_id: int, session: _Session, epoch: int, *, waits: bool = True
    ) -> None:
        sent = self._take(session)
        by_place: dict[Place, list[Acknowledgement]] = {}
        for acknowledgement in sent:
            by_place.setdefault(acknowledgement.delivery.place, []).append(acknowledgement)
        request = _Acknowledge(
            group_id=self.settings.group,
            member_id=self._member_id,
            share_session_epoch=epoch,
            is_renew_ack=_renews(sent),
            topics=[
                _Acknowledge.AcknowledgeTopic(
                    topic_id=self._topic_ids[name],
                    partitions=[
                        _Acknowledge.AcknowledgeTopic.AcknowledgePartition(
                            partition_index=index,
                            acknowledgement_batches=_batches(
                                _Acknowledge.AcknowledgeTopic.AcknowledgePartition, batch
                            ),
                        )
                        for (topic, index), batch in by_place.items()
                        if topic == name
                    ],
                )
                for name in dict.fromkeys(topic for topic, _ in by_place)
            ],
        )
        if not waits:
            session.link.ask(request, lambda _response, _responded: None)
            return
        session.epoch += 1
        on_response = partial(self._on_acknowledged, node_id, session, sent)
        self._ask(f"acknowledge {node_id}", session.link, request, on_response)

    def _take(self, session: _Session) -> list[Acknowledgement]:
        """Return what is ready to be acknowledged, which is sent now: a record once, in order."""
        ready, session.ready = session.ready, []
        by_record = {
            (acknowledgement.delivery.place, acknowledgement.offset): acknowledgement
            for acknowledgement in ready
        }
        sent = [by_record[key] for key in sorted(by_record)]
        for acknowledgement in sent:
            acknowledgement.sent_ms = self._shared.broker_time_ms(self._now_ms)
        self._shared.acknowledgements += sent
        return sent

    def _on_fetched(
        self,
        node_id: int,
        session: _Session,
        sent: list[Acknowledgement],
        response: Any,
        responded: Responded,
    ) -> None:
        if self._refused(node_id, session, sent, response, responded):
            return
        self._check_limit(response)
        for topic in response.responses:
            name = self._name_of(topic.topic_id)
            for partition in topic.partitions:
                place = name, partition.partition_index
                self._note_results(sent, place, partition.acknowledge_error_code, responded)
                if partition.error_code != ErrorCode.NONE:
                    self._metadata_ms = 0
                    session.places = session.places - {place}
                self._check_ranges(place, partition)
                for acquired in partition.acquired_records:
                    self._on_acquired(session, place, acquired, responded)
        self._note_rest(sent, responded)

    def _on_acknowledged(
        self,
        node_id: int,
        session: _Session,
        sent: list[Acknowledgement],
        response: Any,
        responded: Responded,
    ) -> None:
        if self._refused(node_id, session, sent, response, responded):
            return
        for topic in response.responses:
            name = self._name_of(topic.topic_id)
            for partition in topic.partitions:
                place = name, partition.partition_index
                self._note_results(sent, place, partition.error_code, responded)

    def _refused(
        self,
        node_id: int,
        session: _Session,
        sent: list[Acknowledgement],
        response: Any,
        responded: Responded,
    ) -> bool:
        """Note that a request was refused as a whole; return whether it was."""
        if response.error_code == ErrorCode.NONE:
            return False
        self._network.trace(f"{self.settings.name} gets {ErrorCode(response.error_code).name}")
        is_of_fetch = isinstance(response, messages.ShareFetchResponse)
        if not is_of_fetch or response.error_code != ErrorCode.INVALID_SHARE_SESSION_EPOCH:
            for place in {acknowledgement.delivery.place for acknowledgement in sent}:
                self._note_results(sent, place, response.error_code, responded)
        # Else it may have waited for records after the acknowledgements were taken, as in Kafka.
        if response.error_code in _NO_SESSION and self._sessions.get(node_id) is session:
            session.epoch = INITIAL_EPOCH
            session.places = frozenset()
        return True

    def _note_results(
        self, sent: list[Acknowledgement], place: Place, error_code: int, responded: Responded
    ) -> None:
        for acknowledgement in sent:
            if acknowledgement.delivery.place == place:
                acknowledgement.written_ms = self._shared.broker_time_ms(responded.handled_ms)
                acknowledgement.is_refused = error_code != ErrorCode.NONE

    def _note_rest(self, sent: list[Acknowledgement], responded: Responded) -> None:
        """Note what a response does not mention: it was taken."""
        for acknowledgement in sent:
            if acknowledgement.written_ms is None:
                acknowledgement.written_ms = self._shared.broker_time_ms(responded.handled_ms)

    # Records ---------------------------------------------------------------------------------

    def _check_limit(self, response: Any) -> None:
        count = sum(
            acquired.last_offset - acquired.first_offset + 1
            for topic in response.responses
            for partition in topic.partitions
            for acquired in partition.acquired_records
        )
        if self.settings.has_record_limit and count > self._records_max:
            self._shared.broken_limits.append(
                f"{self.settings.name} gets {count} records instead of {self._records_max}"
            )

    def _check_ranges(self, place: Place, partition: Any) -> None:
        acquired = [(part.first_offset, part.last_offset) for part in partition.acquired_records]
        if acquired:
            batches = split_batches(bytes(partition.records or b""))
            problem = range_problem(
                acquired, [(batch_base_offset(batch), last_offset(batch)) for batch in batches]
            )
            if problem is not None:
                self._shared.broken_ranges.append(f"{self._member_id} {place}: {problem}")

    def _on_acquired(
        self, session: _Session, place: Place, acquired: Any, responded: Responded
    ) -> None:
        delivery = Delivery(
            self.settings.group,
            place,
            acquired.first_offset,
            acquired.last_offset,
            acquired.delivery_count,
            self._member_id,
            self._shared.broker_time_ms(responded.sent_ms, is_before_moves=True),
            self._shared.broker_time_ms(responded.handled_ms),
        )
        self._shared.deliveries.append(delivery)
        for offset in range(delivery.first_offset, delivery.last_offset + 1):
            self._process(session, delivery, offset)

    def _process(self, session: _Session, delivery: Delivery, offset: int) -> None:
        """Decide what becomes of a record, and when its acknowledgement is ready."""
        chance = 1.0 if self.is_reliable else self._random.random()
        if chance < 0.04:
            return
        if self.settings.renews_locks and not self.is_reliable:
            renewal_ms = self._random.choice(RENEWALS_MS)
            if renewal_ms is not None:
                renewal = Acknowledgement(delivery, offset, AcknowledgeType.RENEW)
                self._acknowledge_after(renewal_ms, session, renewal)
        kind = AcknowledgeType.ACCEPT
        if chance < 0.16:
            kind = AcknowledgeType.RELEASE if chance < 0.12 else AcknowledgeType.REJECT
        acknowledgement = Acknowledgement(delivery, offset, kind)
        delay_ms = 0 if self.is_reliable else self._random.choice((0, 0, 100, 100, 1_200))
        self._acknowledge_after(delay_ms, session, acknowledgement)

    def _acknowledge_after(
        self, delay_ms: int, session: _Session, acknowledgement: Acknowledgement
    ) -> None:
        if delay_ms == 0:
            session.ready.append(acknowledgement)
        else:
            self._network.schedule.after(delay_ms, lambda: self._be_ready(session, acknowledgement))

    def _be_ready(self, session: _Session, acknowledgement: Acknowledgement) -> None:
        session.ready.append(acknowledgement)
        if session in self._sessions.values():
            self._step()


def _renews(acknowledgements: list[Acknowledgement]) -> bool:
    return any(
        acknowledgement.type is AcknowledgeType.RENEW for acknowledgement in acknowledgements
    )


def _limits(records_max: int, *, renews: bool) -> dict[str, Any]:
    """Return how much a fetch asks for: nothing, if it renews locks."""
    names = "max_wait_ms", "min_bytes", "max_bytes", "max_records"
    limits = (0, 0, 0, 0) if renews else (FETCH_WAIT_MS, 1, 1 << 20, records_max)
    return {"is_renew_ack": renews, **dict(zip(names, limits, strict=True))}


def _batches(partition_class: Any, acknowledgements: list[Acknowledgement]) -> list[Any]:
    """Return one batch for each run of offsets."""
    runs: list[list[Acknowledgement]] = []
    for acknowledgement in acknowledgements:
        if runs and runs[-1][-1].offset + 1 == acknowledgement.offset:
            runs[-1].append(acknowledgement)
        else:
            runs.append([acknowledgement])
    return [
        partition_class.AcknowledgementBatch(
            first_offset=run[0].offset,
            last_offset=run[-1].offset,
            acknowledge_types=[acknowledgement.type for acknowledgement in run],
        )
        for run in runs
    ]
