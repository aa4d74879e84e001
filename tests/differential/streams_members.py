"""Members of streams groups beside Kafka's tools."""

import time
from contextlib import ExitStack

from client.blocking_admin import open_admin
from tests.client.streams_member import StreamsMember

_WAIT_S = 0.2


class StreamsMembers:
    """The members that joined on one cluster. Their group keeps counts in GROUP-store-changelog."""

    def __init__(self, servers: str) -> None:
        self._stack = ExitStack()
        self._admin = self._stack.enter_context(open_admin(servers))
        self._members: list[StreamsMember] = []

    def run(self, action: str, group_id: str = "", source: str = "") -> None:
        """Join a group that reads a topic, or leave all groups."""
        if action == "join":
            member = StreamsMember(
                self._admin,
                group_id,
                source=source,
                changelog=f"{group_id}-store-changelog",
                wait=lambda: time.sleep(_WAIT_S),
            )
            self._members.append(member)
            return
        for member in self._members:
            member.leave()
        self._members.clear()

    def stay(self) -> None:
        """Send a heartbeat of each member, so that no session expires between two commands."""
        for member in self._members:
            member.stay()

    def close(self) -> None:
        """Close the connections."""
        self._stack.close()
