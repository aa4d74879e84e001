"""A member of a classic consumer group: it joins, syncs, fetches, commits and sends heartbeats.

Assignments have our own text format, because the broker does not interpret them.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from protocol import messages
from protocol.errors import ErrorCode
from protocol.records import LOG_OVERHEAD_BYTES, read_header, read_records
from tests.simulation.client_link import ClientLink, Responded
from tests.simulation.coordinated_client import (
    FETCH,
    CoordinatedClient,
    Leader,
)
from tests.simulation.fetch_session import NO_SESSION_ID, FetchSession, Positions, fetch_request
from tests.simulation.history import (
    Accepted,
    Assignment,
    Commit,
    CommittedRead,
    Fetched,
    Place,
    Served,
)

PROTOCOL_NAME = "dealt"
HEARTBEAT_INTERVAL_MS = 350
COMMIT_INTERVAL_MS = 600
FETCH_WAIT_MS = 700
EARLIEST = -2
NO_OFFSET = -1
_REJOIN = {ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION}
_START_ANEW = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}


class GroupMember(CoordinatedClient):
    """One member, from its start to its crash or leave; it can be started again."""

    is_gone = False
    """Whether it has ended for good."""

    def _reset(self) -> None:
        super()._reset()
        self._member_id = ""
        self._generation = -1
        self._is_leader = False
        self._is_joined = False
        self._needs_join = True
        self._known_places: frozenset[Place] = frozenset()
        self._last_beat_ms = 0
        self._last_commit_ms = 0
        self._kept_ms: int | None = None
        self.owned: tuple[Place, ...] = ()
        self.positions: dict[Place, int] = {}
        self.committed: dict[Place, int] = {}
        self._sessions: dict[int, FetchSession] = {}

    @property
    def is_stable(self) -> bool:
        """Whether it has an assignment and no rebalance is in progress."""
        return self._is_joined and not self._needs_join

    # From outside ----------------------------------------------------------------------------

    def leave(self) -> None:
        """Leave the group, and end."""
        link = self._coordinator_link()
        if link is not None and self._member_id:
            request = messages.LeaveGroupRequest(
                group_id=self.settings.group,
                member_id=self._member_id,
                members=[
                    messages.LeaveGroupRequest.MemberIdentity(
                        member_id=self._member_id,
                        group_instance_id=self.settings.instance_id,
                        reason=None,
                    )
                ],
            )
            if self._is_joined:
                # In a rebalance the positions are those of the generation before.
                self._commit(link)
            link.ask(request, lambda _response, _responded: None)
            link.close(is_graceful=True)
        self.crash()

    # Turns -----------------------------------------------------------------------------------

    def _extra_wait_ms(self, link: ClientLink) -> int:
        is_joining = self._asked.get("join") is link or self._asked.get("sync") is link
        return self.settings.rebalance_timeout_ms if is_joining else 0

    def _on_coordinator_lost(self, lost: list[str]) -> None:
        self._needs_join |= "join" in lost or "sync" in lost

    def _on_leaders(self) -> None:
        may_lead = self._is_leader or self.settings.instance_id is not None
        if may_lead and self.is_stable and self._known_places != frozenset(self._leaders):
            self._needs_join = True

    def _fetch_more(self) -> None:
        if self.is_stable:
            self._fetch()

    def _attend(self, link: ClientLink) -> None:
        """Join, or send a heartbeat."""
        if self._needs_join:
            if self._leaders:
                self._join(link)
        elif self._is_joined:
            if self._now_ms - self._last_beat_ms >= HEARTBEAT_INTERVAL_MS:
                self._beat(link)
            if self._now_ms - self._last_commit_ms >= COMMIT_INTERVAL_MS:
                self._commit(link)

    # Membership ------------------------------------------------------------------------------

    def _join(self, link: ClientLink) -> None:
        if "join" in self._asked or "sync" in self._asked:
            return
        if self._is_joined:
            self._commit(link)
        self._is_joined = False
        settings = self.settings
        request = messages.JoinGroupRequest(
            group_id=settings.group,
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.rebalance_timeout_ms,
            member_id=self._member_id,
            group_instance_id=settings.instance_id,
            protocol_type="consumer",
            protocols=[
                messages.JoinGroupRequest.JoinGroupRequestProtocol(
                    name=PROTOCOL_NAME, metadata=self._subscription()
                )
            ],
            reason=None,
        )
        self._ask("join", link, request, self._on_joined)

    def _on_joined(self, response: Any, responded: Responded) -> None:
        error_code = response.error_code
        if error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = response.member_id
        elif error_code != ErrorCode.NONE:
            self._on_error(error_code)
        else:
            # A static member that returns keeps its assignment, and doesn't learn whether it leads.
            # It does not know that assignment, so it joins again.
            is_return = self.settings.instance_id is not None and not self._member_id
            self._known_places = frozenset() if is_return else frozenset(self._leaders)
            self._member_id = response.member_id
            self._know_generation(response.generation_id, responded.handled_ms)
            self._needs_join = False
            self._is_leader = response.leader == response.member_id
            self._sync(response)

    def _know_generation(self, generation: int, handled_ms: int) -> None:
        """Note the generation; let the coordinator refuse a heartbeat of the one before."""
        known = self._history.generations.setdefault(self.settings.group, {})
        known[generation] = min(handled_ms, known.get(generation, handled_ms))
        before, self._generation = self._generation, generation
        link = self._coordinator_link()
        if link is not None and 0 <= before < generation:
            self._send_of_old_generation(link, before)

    def _send_of_old_generation(self, link: ClientLink, generation: int) -> None:
        """Send what a thread of the client may still have in its queue."""
        heartbeat = messages.HeartbeatRequest(
            group_id=self.settings.group,
            generation_id=generation,
            member_id=self._member_id,
            group_instance_id=self.settings.instance_id,
        )
        sync = messages.SyncGroupRequest(
            group_id=self.settings.group,
            generation_id=generation,
            member_id=self._member_id,
            group_instance_id=self.settings.instance_id,
            protocol_type="consumer",
            protocol_name=PROTOCOL_NAME,
            assignments=[],
        )
        requests = [heartbeat, sync]
        place = next((known for known in self._leaders if known[0] in self._topic_ids), None)
        if place is not None and self._commits_of_old_generations_are_refused:
            requests.append(self._commit_request(generation, {place: 0}))
        for request in requests:
            link.ask(request, partial(self._on_old_generation, generation))

    @property
    def _commits_of_old_generations_are_refused(self) -> bool:
        return True

    def _on_old_generation(self, generation: int, response: Any, responded: Responded) -> None:
        if isinstance(response, messages.OffsetCommitResponse):
            error_code = response.topics[0].partitions[0].error_code
        else:
            error_code = response.error_code
        if error_code == ErrorCode.NONE:
            self._accepted(type(response).__name__, generation, responded)

    def _accepted(self, api: str, generation: int, responded: Responded) -> None:
        self._history.accepted.append(
            Accepted(self.settings.group, api, generation, responded.sent_ms)
        )

    def _sync(self, joined: Any) -> None:
        link = self._coordinator_link()
        if link is None:
            self._needs_join = True
            return
        assignments = []
        if self._is_leader and not joined.skip_assignment:
            member_ids = [member.member_id for member in joined.members]
            assignments = [
                messages.SyncGroupRequest.SyncGroupRequestAssignment(
                    member_id=member_id, assignment=self._encode(places)
                )
                for member_id, places in deal(self._leaders, member_ids)
            ]
        request = messages.SyncGroupRequest(
            group_id=self.settings.group,
            generation_id=self._generation,
            member_id=self._member_id,
            group_instance_id=self.settings.instance_id,
            protocol_type="consumer",
            protocol_name=PROTOCOL_NAME,
            assignments=assignments,
        )
        self._ask("sync", link, request, self._on_synced)

    def _subscription(self) -> bytes:
        """Return the metadata of a JoinGroup, which the leader gets."""
        return ",".join(self.settings.topics).encode()

    def _encode(self, places: list[Place]) -> bytes:
        """Return an assignment as a leader sends it."""
        return ",".join(f"{topic}:{index}" for topic, index in places).encode()

    def _decode(self, assignment: bytes) -> tuple[Place, ...]:
        """Return the partitions of an assignment."""
        parts = (part.rpartition(":") for part in assignment.decode().split(",") if part)
        return tuple((topic, int(index)) for topic, _, index in parts)

    def _group_of(self, _responded: Responded) -> str:
        """Return the name of the group in the history, in which its generations count."""
        return self.settings.group

    def _on_synced(self, response: Any, responded: Responded) -> None:
        if response.error_code != ErrorCode.NONE:
            self._needs_join = True
            self._on_error(response.error_code)
            return
        self.owned = self._decode(bytes(response.assignment))
        self._history.assignments.append(
            Assignment(
                self._group_of(responded),
                self._generation,
                self.settings.instance_id or self._member_id,
                self.owned,
                self._now_ms,
            )
        )
        self._network.trace(f"{self.settings.name} owns {self.owned} in {self._generation}")
        self._is_joined = True
        self._kept_ms = None
        self.positions, self.committed = {}, {}
        self._last_beat_ms = self._last_commit_ms = self._now_ms
        self._ask_for_positions()

    def _beat(self, link: ClientLink) -> None:
        self._last_beat_ms = self._now_ms
        request = messages.HeartbeatRequest(
            group_id=self.settings.group,
            generation_id=self._generation,
            member_id=self._member_id,
            group_instance_id=self.settings.instance_id,
        )
        self._ask("heartbeat", link, request, partial(self._on_kept, self._generation))

    def _on_kept(self, generation: int, response: Any, responded: Responded) -> None:
        if response.error_code == ErrorCode.NONE:
            self._accepted("Heartbeat", generation, responded)
        if generation != self._generation or not self._is_joined:
            return
        if response.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._check_session(responded.handled_ms)
        elif response.error_code == ErrorCode.NONE:
            self._kept_ms = responded.sent_ms
        self._on_error(response.error_code)

    def _check_session(self, removed_ms: int) -> None:
        """Report that the member was removed, unless its session or a rebalance may have ended."""
        settings, kept_ms = self.settings, self._kept_ms
        if kept_ms is None:
            return
        passed_ms = self._history.broker_ms(kept_ms, removed_ms)
        if passed_ms < min(settings.session_timeout_ms, settings.rebalance_timeout_ms):
            self._history.sessions.append(
                f"{settings.name} was removed within {passed_ms} ms of its last heartbeat"
            )

    def _on_error(self, error_code: int) -> None:
        """Handle an error of the coordinator."""
        if error_code == ErrorCode.NONE:
            return
        self._network.trace(f"{self.settings.name} gets {ErrorCode(error_code).name}")
        if error_code in _START_ANEW:
            self._member_id = ""
            self._needs_join = True
            self._is_joined = False
        elif error_code in _REJOIN:
            self._needs_join = True
        else:
            self._coordinator = None

    # Offsets ---------------------------------------------------------------------------------

    def _member_of_request(self) -> tuple[str | None, int]:
        """Return the member id and epoch of OffsetFetch requests."""
        return None, -1

    def _ask_for_positions(self) -> None:
        link = self._coordinator_link()
        missing = [place for place in self.owned if place not in self.positions]
        if link is None or not missing or "positions" in self._asked:
            return
        member_id, member_epoch = self._member_of_request()
        topics = messages.OffsetFetchRequest.OffsetFetchRequestGroup.OffsetFetchRequestTopics
        request = messages.OffsetFetchRequest(
            groups=[
                messages.OffsetFetchRequest.OffsetFetchRequestGroup(
                    group_id=self.settings.group,
                    member_id=member_id,
                    member_epoch=member_epoch,
                    topics=[
                        topics(
                            name=name,
                            topic_id=self._topic_ids[name],
                            partition_indexes=[index for topic, index in missing if topic == name],
                        )
                        for name in dict.fromkeys(topic for topic, _ in missing)
                        if name in self._topic_ids
                    ],
                )
            ],
            require_stable=False,
        )
        self._ask("positions", link, request, partial(self._on_positions, self._generation))

    def _on_positions(self, generation: int, response: Any, responded: Responded) -> None:
        group = response.groups[0]
        if generation != self._generation or group.error_code != ErrorCode.NONE:
            self._on_error(group.error_code)
            return
        for topic in group.topics:
            name = topic.name or self._name_of(topic.topic_id)
            for partition in topic.partitions:
                place = name, partition.partition_index
                if partition.error_code != ErrorCode.NONE:
                    continue
                self._history.committed_reads.append(
                    CommittedRead(
                        self.settings.group,
                        place,
                        partition.committed_offset,
                        responded.sent_ms,
                        self._now_ms,
                    )
                )
                self.positions[place] = max(0, partition.committed_offset)
                self.committed[place] = partition.committed_offset

    def _commit(self, link: ClientLink) -> None:
        self._last_commit_ms = self._now_ms
        offsets = {
            place: position
            for place, position in self.positions.items()
            if position != max(0, self.committed.get(place, NO_OFFSET))
        }
        if not offsets or "commit" in self._asked:
            return
        request = self._commit_request(self._generation, offsets)
        commits = {
            place: Commit(self.settings.group, self._generation, place, offset, self._now_ms)
            for place, offset in offsets.items()
        }
        self._history.commits += commits.values()
        self._ask("commit", link, request, partial(self._on_committed, commits))

    def _commit_request(self, generation: int, offsets: dict[Place, int]) -> Any:
        topic_class = messages.OffsetCommitRequest.OffsetCommitRequestTopic
        return messages.OffsetCommitRequest(
            group_id=self.settings.group,
            generation_id_or_member_epoch=generation,
            member_id=self._member_id,
            group_instance_id=self.settings.instance_id,
            retention_time_ms=-1,
            topics=[
                topic_class(
                    name=name,
                    topic_id=self._topic_ids[name],
                    partitions=[
                        topic_class.OffsetCommitRequestPartition(
                            partition_index=index,
                            committed_offset=offset,
                            committed_leader_epoch=-1,
                            committed_metadata="",
                        )
                        for (topic, index), offset in offsets.items()
                        if topic == name
                    ],
                )
                for name in dict.fromkeys(topic for topic, _ in offsets)
            ],
        )

    def _on_committed(
        self, commits: dict[Place, Commit], response: Any, responded: Responded
    ) -> None:
        for topic in response.topics:
            name = topic.name or self._name_of(topic.topic_id)
            for partition in topic.partitions:
                commit = commits[name, partition.partition_index]
                commit.response_ms = self._now_ms
                commit.is_refused = partition.error_code != ErrorCode.NONE
                if not commit.is_refused:
                    self._accepted("OffsetCommit", commit.generation, responded)
                if commit.generation != self._generation or not self._is_joined:
                    continue
                if commit.is_refused:
                    self._on_error(partition.error_code)
                else:
                    self.committed[commit.place] = commit.offset

    # Records ---------------------------------------------------------------------------------

    def _fetch(self) -> None:
        if len(self.positions) < len(self.owned):
            self._ask_for_positions()
        by_node: dict[int, list[Place]] = {}
        for place in self.owned:
            leader = self._leaders.get(place)
            if leader is not None and place in self.positions and leader.node_id in self._addresses:
                by_node.setdefault(leader.node_id, []).append(place)
        for node_id, places in by_node.items():
            what = f"fetch {node_id}"
            if what not in self._asked and (link := self._link_to(FETCH, self._addresses[node_id])):
                positions = {
                    place: (self._leaders[place].epoch, self.positions[place]) for place in places
                }
                request = self._fetch_request(node_id, positions)
                fetch = (self._generation, node_id, positions)
                self._ask(what, link, request, partial(self._on_fetched, fetch))

    def _fetch_request(self, node_id: int, positions: Positions) -> Any:
        if not self.settings.has_fetch_sessions:
            return fetch_request(positions, self._topic_ids, FETCH_WAIT_MS)
        session = self._sessions.setdefault(node_id, FetchSession())
        return session.next_request(positions, self._topic_ids, FETCH_WAIT_MS)

    def _on_lost(self, lost: list[str]) -> None:
        for what in lost:
            kind, _, node_id = what.partition(" ")
            if kind == "fetch" and int(node_id) in self._sessions:
                self._sessions[int(node_id)].lose(self._now_ms % 4)

    def _is_valid(
        self, node_id: int, positions: Positions, response: Any, responded: Responded
    ) -> bool:
        """Take a response into its session; return whether it has the result of partitions."""
        session = self._sessions.get(node_id)
        if session is None:
            return True
        given, known = response.session_id, session.session_id
        is_other = session.is_incremental and given not in {0, known}
        problem = "" if not is_other else f"session {given} instead of {known}"
        if not session.is_incremental and given:
            owner = self._history.session_owners.setdefault((node_id, given), responded)
            if owner is not responded:
                problem = f"session {given} has two owners"
        named = {
            (topic.topic or self._name_of(topic.topic_id), partition.partition_index)
            for topic in response.responses
            for partition in topic.partitions
        }
        if not named <= positions.keys():
            problem = f"{named - positions.keys()} are not in the session"
        # A fault that answers in the place of the broker names no session.
        is_taken = response.error_code == ErrorCode.NONE and response.session_id != NO_SESSION_ID
        if session.is_outdated and is_taken:
            problem = f"epoch {session.epoch} was taken twice"
        if problem:
            self._history.fetch_sessions.append(
                f"{self.settings.name}, broker {node_id}: {problem}"
            )
        return session.take(response) and not problem

    def _on_fetched(
        self,
        fetch: tuple[int, int, Positions],
        response: Any,
        responded: Responded,
    ) -> None:
        generation, node_id, requested = fetch
        if not self._is_valid(node_id, requested, response, responded):
            return
        self._note_fetched(node_id, requested, response, responded)
        if generation != self._generation or not self._is_joined:
            return
        self._network.trace(
            f"{self.settings.name} has fetched, throttle_time_ms={response.throttle_time_ms}"
        )
        for topic in response.responses:
            name = topic.topic or self._name_of(topic.topic_id)
            for partition in topic.partitions:
                place = name, partition.partition_index
                if partition.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    self._ask_for_start(place)
                elif partition.error_code != ErrorCode.NONE:
                    self._metadata_ms = 0
                elif partition.records and (
                    # It may have joined again since the request, and begun at another offset.
                    requested[place][1] == self.positions.get(place)
                ):
                    self._consume(place, bytes(partition.records))

    def _note_fetched(
        self, node_id: int, requested: Positions, response: Any, responded: Responded
    ) -> None:
        named: set[Place] = set()
        is_refused = response.session_id == NO_SESSION_ID
        for topic in response.responses:
            name = topic.topic or self._name_of(topic.topic_id)
            for partition in topic.partitions:
                place = name, partition.partition_index
                named.add(place)
                is_refused = is_refused and partition.error_code != ErrorCode.NONE
                if partition.error_code == ErrorCode.NONE and place in requested:
                    epoch = requested[place][0]
                    self._history.served.append(
                        Served(
                            "Fetch", place, node_id, epoch, responded.sent_ms, responded.handled_ms
                        )
                    )
        # The response of a fault names only the partitions that its request names.
        if response.throttle_time_ms == 0 and not (named and is_refused):
            self._history.fetched.append(
                Fetched(
                    self.settings.name,
                    {place: offset for place, (_epoch, offset) in requested.items()},
                    frozenset(named),
                    responded.sent_ms,
                    responded.handled_ms,
                )
            )

    def _ask_for_start(self, place: Place) -> None:
        """Continue at the log start offset after the records at the position were removed."""
        address = self._addresses.get(self._leaders[place].node_id)
        link = None if address is None else self._link_to(FETCH, address)
        if link is None:
            return
        topic_class = messages.ListOffsetsRequest.ListOffsetsTopic
        request = messages.ListOffsetsRequest(
            replica_id=-1,
            isolation_level=0,
            topics=[
                topic_class(
                    name=place[0],
                    partitions=[
                        topic_class.ListOffsetsPartition(
                            partition_index=place[1], current_leader_epoch=-1, timestamp=EARLIEST
                        )
                    ],
                )
            ],
        )
        self._ask(f"start {place}", link, request, partial(self._on_start, self._generation))

    def _on_start(self, generation: int, response: Any, _responded: Responded) -> None:
        topic = response.topics[0]
        (result,) = topic.partitions
        place = topic.name, result.partition_index
        is_mine = generation == self._generation and place in self.positions
        if is_mine and result.error_code == ErrorCode.NONE:
            self.positions[place] = max(self.positions[place], result.offset)

    def _consume(self, place: Place, data: bytes) -> None:
        position = self.positions[place]
        for batch in split_batches(data):
            for record in read_records(batch):
                if record.offset < position:
                    continue
                if record.offset > position:
                    self._history.rewritten.append(
                        f"{place}: a fetch from {position} returned {record.offset} first"
                    )
                self._history.saw(place, record.offset, bytes(record.value or b""), self._now_ms)
                position = record.offset + 1
        self.positions[place] = position


def split_batches(data: bytes) -> Iterator[bytes]:
    """Return the complete batches in the records of a Fetch response."""
    position = 0
    while position + LOG_OVERHEAD_BYTES <= len(data):
        end = position + LOG_OVERHEAD_BYTES + read_header(data, position).batch_length
        if end > len(data):
            return
        yield data[position:end]
        position = end


def deal(places: dict[Place, Leader], member_ids: list[str]) -> Iterator[tuple[str, list[Place]]]:
    """Deal partitions out like cards; every member gets an assignment."""
    in_order = sorted(places)
    for number, member_id in enumerate(sorted(member_ids)):
        yield member_id, in_order[number :: len(member_ids)]
