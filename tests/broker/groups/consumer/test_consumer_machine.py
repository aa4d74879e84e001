"""Random members, topics and time: no partition ever has two owners, and groups become stable."""

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from broker.groups.consumer.assignment import Assignment, assignment_of, partitions_of
from broker.groups.consumer.group import ConsumerGroup
from broker.groups.consumer.group_state import ConsumerGroupState
from broker.groups.consumer.requests import HeartbeatResult
from broker.groups.loading import load_group
from broker.groups.modern_rules import rules_of
from protocol.errors import ErrorCode
from tests.broker.groups.consumer.driver import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    ConsumerDriver,
    Topics,
)
from tests.broker.groups.loaded import loaded_records
from tests.examples import examples

HEARTBEAT_MS = 5000


def what_records_say(group: ConsumerGroup) -> Any:
    members = group.members
    if not group.rules.has_partition_epochs:
        # Records have none, and only `_may_commit_late` of later releases asks for them.
        members = {key: replace(member, partition_epochs={}) for key, member in members.items()}
    return {
        "members": members,
        "targets": {member_id: group.target_of(member_id) for member_id in group.members},
        "epochs": (group.group_epoch, group.assignment_epoch, group._metadata_hash),
        "topics": {regex: found.topic_names for regex, found in group.resolved_regexes.items()},
        "owned": group._owned,
        "static": group._static_ids,
    }


NAMES = st.sampled_from("abcdef")
TOPICS = st.sets(st.sampled_from(["t", "u", "v"]))
REGEXES = st.sampled_from(["", "t|u", ".*"])


@dataclass
class Client:
    """A client that keeps to the protocol; `owned` is what it reads."""

    member_id: str
    topics: tuple[str, ...]
    regex: str
    instance_id: str | None
    epoch: int = 0
    owned: Assignment = field(default_factory=dict)
    assigned: Assignment = field(default_factory=dict)
    is_silent: bool = False


class ConsumerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.driver = ConsumerDriver(Topics(t=3, u=2))
        self.clients: dict[str, Client] = {}
        self.member_count = 0

    @initialize(minor=st.integers(1, 4), interval_ms=st.sampled_from([0, 0, 1000, 12_000]))
    def choose_release(self, minor: int, interval_ms: int) -> None:
        self.driver.release = (4, minor)
        self.driver.config["group.consumer.assignment.interval.ms"] = interval_ms

    # What clients do ----------------------------------------------------------------------------

    def send(self, client: Client, *, is_lost: bool = False) -> None:
        """Send a heartbeat as the Java consumer does; a lost response changes nothing."""
        if client.epoch == 0:
            client.owned = client.assigned = {}
            result = self.driver.join(
                client.member_id,
                subscribed_topic_names=client.topics,
                subscribed_topic_regex=client.regex,
                group_instance_id=client.instance_id,
            )
        else:
            # It revokes before it reports, and reads new partitions after the response.
            kept = [
                (topic_id, indexes & client.assigned.get(topic_id, frozenset()))
                for topic_id, indexes in client.owned.items()
            ]
            client.owned = assignment_of(kept)
            result = self.driver.heartbeat(
                client.member_id,
                client.epoch,
                owned_partitions=client.owned,
                group_instance_id=client.instance_id,
                rebalance_timeout_ms=REBALANCE_MS,
                subscribed_topic_names=client.topics,
                subscribed_topic_regex=client.regex,
            )
        if not is_lost:
            self.receive(client, result)

    def receive(self, client: Client, result: HeartbeatResult) -> None:
        if result.error_code is not ErrorCode.NONE:
            assert result.error_code in {
                ErrorCode.FENCED_MEMBER_EPOCH,
                ErrorCode.UNKNOWN_MEMBER_ID,
                ErrorCode.GROUP_ID_NOT_FOUND,
                ErrorCode.FENCED_INSTANCE_ID,
                ErrorCode.UNRELEASED_INSTANCE_ID,
            }
            client.epoch = 0
            client.owned = client.assigned = {}
            return
        assert result.member_epoch >= client.epoch
        client.epoch = result.member_epoch
        if result.assignment is not None:
            client.assigned = result.assignment
            newly = [
                (topic_id, indexes | client.owned.get(topic_id, frozenset()))
                for topic_id, indexes in result.assignment.items()
            ]
            lost = [item for item in client.owned.items() if item[0] not in result.assignment]
            client.owned = assignment_of([*newly, *lost])

    @rule(name=NAMES, topics=TOPICS, regex=REGEXES, is_static=st.booleans())
    def join(self, name: str, topics: set[str], regex: str, is_static: bool) -> None:
        if name not in self.clients:
            self.member_count += 1
            instance_id = name if is_static else None
            member_id = f"{name}{self.member_count}"
            client = Client(member_id, tuple(sorted(topics)), regex, instance_id)
            self.clients[name] = client
            self.send(client)

    @rule(name=NAMES, is_lost=st.booleans())
    def heartbeat(self, name: str, is_lost: bool) -> None:
        client = self.clients.get(name)
        if client is not None and not client.is_silent:
            self.send(client, is_lost=is_lost)

    @rule(name=NAMES, topics=TOPICS)
    def subscribe(self, name: str, topics: set[str]) -> None:
        client = self.clients.get(name)
        if client is not None:
            client.topics = tuple(sorted(topics))

    @rule(name=NAMES)
    def leave(self, name: str) -> None:
        client = self.clients.pop(name, None)
        if client is not None and client.epoch:
            epoch = -1 if client.instance_id is None else -2
            self.driver.heartbeat(client.member_id, epoch, group_instance_id=client.instance_id)

    @rule(name=NAMES)
    def crash(self, name: str) -> None:
        """A client reads no more and sends no more."""
        client = self.clients.pop(name, None)
        if client is not None:
            client.is_silent = True

    # What happens around them -------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0, 1, 11, 30]))
    def pass_time(self, seconds: int) -> None:
        """Time passes; clients that are there send a heartbeat after every five seconds."""
        for _ in range(max(seconds * 1000 // HEARTBEAT_MS, 1)):
            self.driver.advance(min(seconds * 1000, HEARTBEAT_MS))
            for client in self.clients.values():
                self.send(client)

    @rule(count=st.integers(1, 4))
    def change_topics(self, count: int) -> None:
        topics = self.driver.topics
        metadata = topics.get("v")
        if metadata is None:
            topics.create("v", count)
        elif count <= metadata.partition_count:
            topics.delete("v")
        else:
            topics.grow("v", count)
        self.driver.change_topic("v")

    @precondition(lambda self: len(self.driver.groups.table) > 0)
    @rule()
    def move_coordinator(self) -> None:
        self.driver.groups.table.unload(GROUP, self.driver.now_ms)

    @precondition(lambda self: len(self.driver.groups.table) > 0)
    @rule()
    def load_group_from_its_records(self) -> None:
        driver, known = self.driver, self.driver.group
        load_group(
            driver.groups.table,
            GROUP,
            loaded_records(driver.records),
            lambda: rules_of(driver.release),
            driver.timers,
            driver.now_ms,
        )
        loaded = driver.group
        assert loaded is not known
        assert what_records_say(loaded) == what_records_say(known)

    # What always holds ---------------------------------------------------------------------------

    @invariant()
    def no_partition_has_two_owners(self) -> None:
        read = [p for client in self.clients.values() for p in partitions_of(client.owned)]
        assert len(read) == len(set(read))
        if len(self.driver.groups.table):
            members = self.driver.group.members.values()
            known = [
                partition
                for member in members
                for owned in (member.assigned_partitions, member.partitions_pending_revocation)
                for partition in partitions_of(owned)
            ]
            assert len(known) == len(set(known))

    @invariant()
    def every_partition_of_a_member_has_an_epoch_of_its_past(self) -> None:
        for member in self.driver.group.members.values() if len(self.driver.groups.table) else ():
            owns = {
                *partitions_of(member.assigned_partitions),
                *partitions_of(member.partitions_pending_revocation),
            }
            epochs = {
                (topic_id, index): epoch
                for topic_id, by_index in member.partition_epochs.items()
                for index, epoch in by_index.items()
            }
            assert epochs.keys() == owns
            assert all(0 <= epoch <= max(member.member_epoch, 0) for epoch in epochs.values())

    def teardown(self) -> None:
        """With nothing new the group becomes stable, and every partition is read."""
        for _ in range(2 * SESSION_MS // HEARTBEAT_MS):
            self.driver.advance(HEARTBEAT_MS)
            for client in self.clients.values():
                self.send(client)
        if not self.clients:
            return
        group = self.driver.group
        assert group.state is ConsumerGroupState.STABLE
        assert len(group.members) == len(self.clients)
        read = {p for client in self.clients.values() for p in partitions_of(client.owned)}
        subscribed = group.subscribed_topics(self.driver.topics)
        assert read == {
            (topic.topic_id, index)
            for topic in subscribed
            for index in range(topic.partition_count)
        }


TestConsumerMachine = ConsumerMachine.TestCase
TestConsumerMachine.settings = settings(
    max_examples=examples(60), stateful_step_count=40, deadline=None
)
