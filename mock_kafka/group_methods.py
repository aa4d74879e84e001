"""The methods of a cluster for groups: see their members, wait for them, control them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from mock_kafka.control import WAIT_MARGIN_S, Control

if TYPE_CHECKING:  # `BrokerProcess` imports it while the broker starts
    from mock_kafka.group_views import Group

__tracebackhide__ = True  # pytest shows the line of the caller


class GroupMethods(ABC):
    """The part of `ClusterMethods` for groups. A member is named by its member or instance id."""

    @property
    @abstractmethod
    def control(self) -> Control:
        """The admin port of the running cluster."""

    def groups(self) -> "list[Group]":
        """Return all groups of every type with their members and offsets."""
        from mock_kafka.group_views import group_of  # noqa: PLC0415 - see `BrokerProcess`

        return list(map(group_of, self.control.ask("GET", "/v1/groups")))

    def committed(self, group: str, topic: str | None = None) -> dict[tuple[str, int], int]:
        """Return the committed offsets of a group, by topic and partition number.

        With `topic` only those of this topic. A share group has start offsets, without partitions
        in which no fetch has chosen one yet.

        Raises:
            ControlError: there is no such group.
        """
        return self._by_partition(group, topic, "offset")

    def lag(self, group: str, topic: str | None = None) -> dict[tuple[str, int], int]:
        """Return how many offsets a group is behind the end, by topic and partition number.

        It has partitions with a committed offset, and all others of topics that the group has
        committed or subscribes to; these count from the start of the log. A share group has the
        number of records that are not done yet, of partitions with a start offset.
        `sum(lag.values())` is the lag of the group.

        Raises:
            ControlError: there is no such group.
        """
        return self._by_partition(group, topic, "lag")

    def reset_offsets(
        self,
        group: str,
        topic: str | None = None,
        partition: int | None = None,
        *,
        to: Literal["earliest", "latest"] | None = None,
        offset: int | None = None,
        timestamp_ms: int | None = None,
    ) -> dict[tuple[str, int], int]:
        """Set the committed offsets of a group without members; return them as `committed` does.

        Give one of `to`, `offset` and `timestamp_ms`: the first record with this timestamp or a
        later one. An offset that is outside of a log becomes the nearest one in it. Without a topic
        it applies to all topics that the group has committed or subscribes to. A share group begins
        there, and what was acknowledged is forgotten.

        Raises:
            ControlError: there is no such group, topic or partition, or the group has members.
        """
        body = {
            "to": to,
            "offset": offset,
            "timestamp": timestamp_ms,
            "topic": topic,
            "partition": partition,
        }
        entries = self.control.ask("PUT", f"{_path(group)}/offsets", body)
        return _fields(entries, None, "offset")

    def _by_partition(self, group: str, topic: str | None, key: str) -> dict[tuple[str, int], int]:
        """Return a field of the group's offsets, without partitions that do not have it."""
        return _fields(self.control.ask("GET", f"{_path(group)}/offsets"), topic, key)

    def wait_for_stable(
        self, group: str, *, members: int | None = None, timeout_s: float = 10.0
    ) -> "Group":
        """Return a group when it is stable: every member has its final assignment.

        It has at least one member, or as many as `members`.

        Raises:
            TimeoutError: it was not stable for `timeout_s` of real time; the message has its state
                and its members.
        """
        query = {"members": members, "timeout_ms": round(timeout_s * 1000)}
        response = self.control.ask(
            "GET",
            f"{_path(group)}/stable",
            query={name: value for name, value in query.items() if value is not None},
            timeout_s=timeout_s + WAIT_MARGIN_S,
        )
        if response is not None:
            from mock_kafka.group_views import group_of  # noqa: PLC0415 - see `BrokerProcess`

            return group_of(response)
        found = next((known for known in self.groups() if known.group_id == group), None)
        state = "does not exist" if found is None else _description(found)
        expected = "" if members is None else f" with {members} members"
        raise TimeoutError(f"group {group!r} was not stable{expected} in {timeout_s} s: it {state}")

    def fence_member(self, group: str, member: str) -> None:
        """Remove a member, as its coordinator does when its session has expired.

        Its next request gets UNKNOWN_MEMBER_ID. Records that a member of a share group has acquired
        stay acquired until their locks expire.

        Raises:
            ControlError: there is no such group or member; the message has the existing ones.
        """
        self.control.ask("POST", f"{_path(group)}/members/{quote(member, safe='')}/fence")

    def rebalance(self, group: str) -> None:
        """Begin a rebalance: a new epoch, or in a classic group a new generation.

        Members of a classic group join again. In other groups the next heartbeat of a member
        computes the target assignment again, also after `assign`.

        Raises:
            ControlError: there is no such group, or it has no members.
        """
        self.control.ask("POST", f"{_path(group)}/rebalance")

    def assign(self, group: str, assignment: Mapping[str, Iterable[tuple[str, int]]]) -> None:
        """Set the target assignment of a consumer group, such as `{member: [("orders", 0)]}`.

        A new epoch begins with it, and heartbeats move the members towards it: they first revoke,
        then they get what is free. Other members get nothing, other partitions stay unassigned.
        The assignor assigns again in the next epoch: when a member joins, leaves or subscribes to
        other topics, when a subscribed topic changes, or after `rebalance`.

        Raises:
            ControlError: the group is no consumer group, there is no such member or partition, a
                member does not subscribe to a topic, or a partition would have two owners.
        """
        members: dict[str, list[dict[str, object]]] = {}
        for member, partitions in assignment.items():
            indexes: dict[str, list[int]] = {}
            for topic, index in partitions:
                indexes.setdefault(topic, []).append(index)
            members[member] = [
                {"topic": topic, "partitions": found} for topic, found in indexes.items()
            ]
        self.control.ask("PUT", f"{_path(group)}/assignment", {"members": members})


def _fields(
    entries: Iterable[Mapping[str, Any]], topic: str | None, key: str
) -> dict[tuple[str, int], int]:
    return {
        (entry["topic"], entry["partition"]): entry[key]
        for entry in entries
        if topic in {None, entry["topic"]} and entry[key] is not None
    }


def _path(group: str) -> str:
    return f"/v1/groups/{quote(group, safe='')}"


def _description(group: "Group") -> str:
    epochs = (
        f"generation {group.generation_id}"
        if group.group_type == "classic"
        else f"epoch {group.group_epoch}, assignment of epoch {group.assignment_epoch}"
    )
    members = "".join(
        f"\n  {member.member_id} ({member.client_id})"
        + ("" if member.member_epoch is None else f" epoch {member.member_epoch}")
        + ("" if member.state is None else f" {member.state}")
        for member in group.members
    )
    return f"is {group.state}, {epochs}; its members:{members or ' none'}"
