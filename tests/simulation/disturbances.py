"""What else happens in a world: its members pause, its clock is moved, its admins are busy.

Each world has some of these. The faults of the network and of brokers are in `chaos`.
"""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from broker.faults import FaultRule
from tests.simulation.admin_client import AdminClient
from tests.simulation.admin_port import AdminPort
from tests.simulation.hostile_client import HostileClient
from tests.simulation.replayer import Replayer

if TYPE_CHECKING:
    from tests.simulation.world import World

CONNECTION_APIS = ("Produce", "Fetch", "Metadata", "Heartbeat", "OffsetCommit")
CLOCK_SHIFTS_MS = (50, 500, 5_000, 60_000)
SCRAM_USERS = ["apprentice", "journeyman"]
TOPIC_VALUES = {
    "min.insync.replicas": ("1", "2", "3"),
    "message.timestamp.type": ("CreateTime", "LogAppendTime"),
    "max.message.bytes": ("100000", "1048588"),
    "retention.ms": ("1000000000", "2000000000"),
}


class Disturbances:
    """Plan the disturbances of a world, and stop them at its end."""

    def __init__(self, world: "World", random: Random, duration_ms: int) -> None:
        self._world = world
        self._random = random
        self._duration_ms = duration_ms
        # Apart, so that the other disturbances of a seed stay as they are.
        self._links_random = Random(f"{world.seed} slow connections")
        self._hostile: list[HostileClient] = []
        self._replayers: list[Replayer] = []
        self.port = AdminPort(world.server, world.network, world.history, world.chaos, random)
        self._cleaner, self._rival = (
            AdminClient(name, name, world.network, world.history, random, world.bootstrap)
            for name in ("cleaner", "rival")
        )

    def plan(self) -> None:
        """Schedule the disturbances of this world."""
        if self._random.random() < 0.4:
            self._plan(self.attack, 1, 6)
        if self._random.random() < 0.4:
            self._plan(self.port.do_something, 3, 15)
        if self._random.random() < 0.2:
            self._plan(self.move_clock, 1, 2)
        if self._random.random() < 0.4:
            self._plan(self._move_replicas, 1, 6)
        if self._random.random() < 0.4:
            self._plan(self.delete_records, 1, 5)
        if self._random.random() < 0.5:
            self._plan(self._replay, 1, 8)
        if self._random.random() < 0.3:
            self._plan(self.alter_topic, 1, 3)
        if self._random.random() < 0.2:
            self._plan(self.alter_scram, 1, 3)
        if self._random.random() < 0.4:
            self._plan(self._hang_member, 1, 3)
        if self._links_random.random() < 0.3:
            for _ in range(self._links_random.randint(1, 5)):
                at_ms = self._links_random.randrange(self._duration_ms)
                self._world.schedule.after(at_ms, self.slow_down)

    def _plan(self, action: Callable[[], None], least: int, most: int) -> None:
        for _ in range(self._random.randint(least, most)):
            self._world.schedule.after(self._random.randrange(self._duration_ms), action)

    def close(self) -> None:
        """Close the connections."""
        clients: list[HostileClient | Replayer] = [*self._hostile, *self._replayers]
        for client in clients:
            client.close()
        self._cleaner.close()
        self._rival.close()

    # Actions -----------------------------------------------------------------------------------

    def attack(self) -> None:
        """Let a client connect that sends anything."""
        client = HostileClient(self._world.network, self._random, self._world.bootstrap)
        self._hostile.append(client)
        client.start()

    def slow_down(self) -> None:
        """Have some requests on slow connections, or on some that end in an unusual way."""
        random, world = self._links_random, self._world
        what = random.choice(
            (
                {
                    "drop": random.choice(("before_handling", "before_response")),
                    "drop_by": random.choice(("reset", "half_close", "stop_reading")),
                },
                {"request_bytes_per_second": random.randint(500, 50_000)},
                {"response_bytes_per_second": random.randint(500, 50_000)},
                {
                    "trickle_bytes": random.choice((1, 3, 20, 100)),
                    "trickle_ms": random.randint(1, 5),
                },
                {"trickle_bytes": 40, "trickle_ms": 2, "delay_ms": random.randint(1, 100)},
            )
        )
        api, times = random.choice(CONNECTION_APIS), random.randint(1, 3)
        rule = FaultRule.from_json({"api": api, "times": times, "until_ms": 2_000} | what)
        world.trace(f"fault: {rule.to_json()}")
        if not world.chaos.is_over:
            world.server.dispatcher.faults.add(rule, world.server.clock.now_ms())

    def move_clock(self) -> None:
        """Move the clock of the brokers forward."""
        duration_ms = self._random.choice(CLOCK_SHIFTS_MS)
        world = self._world
        world.trace(f"the clock of the brokers moves by {duration_ms} ms")
        world.history.clock_shifts.append((world.schedule.time_ms, duration_ms))
        world.server.timer_driver.advance(duration_ms)

    def _replay(self) -> None:
        replayer = Replayer(self._world, self._random)
        self._replayers.append(replayer)
        replayer.start()

    def _place(self) -> tuple[str, int, int]:
        """Return topic, index and leader of a partition."""
        topic = self._random.choice(self._world.data_topics())
        partition = self._random.choice(topic.partitions)
        return topic.name, partition.partition_index, partition.leader_id

    def _move_replicas(self) -> None:
        """Reassign a partition, cancel its reassignment, or elect the preferred leader."""
        topic, index, _ = self._place()
        root = self._world.admins[0]
        brokers = list(self._world.server.cluster.brokers)
        choice = self._random.random()
        if choice < 0.7:
            count = self._random.randint(1, len(brokers))
            root.reassign((topic, index), self._random.sample(brokers, count))
        elif choice < 0.85:
            root.reassign((topic, index), None)
        else:
            root.elect_leader((topic, index))

    def delete_records(self) -> None:
        """Let an admin delete the first records of a partition."""
        topic, index, leader_id = self._place()
        partition = self._world.server.cluster.topics.get(topic)
        assert partition is not None
        end = partition.partitions[index].log.log_end_offset
        offset = self._random.choice((-1, end, self._random.randint(0, end)))
        address = next(
            (known for known in self._world.bootstrap if known.host == f"broker-{leader_id}"), None
        )
        if address is not None:
            self._cleaner.delete_records((topic, index), offset, address)

    def alter_topic(self) -> None:
        """Let two admins set keys of one topic at the same time."""
        topic = self._random.choice(self._world.data_topics())
        self._world.note_config(topic)
        for admin in (self._world.admins[0], self._rival):
            keys = self._random.sample(sorted(TOPIC_VALUES), 2)
            admin.alter_topic(
                topic.name, {key: self._random.choice(TOPIC_VALUES[key]) for key in keys}
            )

    def alter_scram(self) -> None:
        """Let an admin set credentials and delete them, and another one delete them too."""
        root = self._world.admins[0]
        root.alter_scram(SCRAM_USERS, is_deletion=False)
        for admin in (root, self._rival):
            admin.alter_scram(SCRAM_USERS, is_deletion=True)

    def _hang_member(self) -> None:
        running = [member for member in self._world.members if member.is_running]
        if running:
            duration_ms = self._random.choice((200, 1_200, 2_500))
            self._random.choice(running).hang(duration_ms)
