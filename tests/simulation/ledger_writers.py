"""Transactional producers in worlds of groups; share groups read what they write."""

from collections.abc import Iterable
from functools import partial
from random import Random

from client.producer.settings import ProducerSettings
from protocol.api_keys import ApiKey
from protocol.control_records import ControlRecordType, decode_control_key
from protocol.records import CONTROL_FLAG, TRANSACTIONAL_FLAG, read_header, read_records
from tests.simulation.history import Place
from tests.simulation.share_history import TransactionEnd
from tests.simulation.transactional_client import TransactionalClient, TransactionHistory
from tests.simulation.virtual_time import START_MS
from tests.simulation.world import CHAOS_MS, World

TIMEOUT_MS = 800
PARTITION_COUNT = 3
CRASH_CHANCE = 0.4


class LedgerWriters:
    """One to three producers, each with its own transactional id; some of them crash."""

    def __init__(self, world: World, random: Random) -> None:
        self._world = world
        self._random = random
        self._clients: list[TransactionalClient] = []
        self._transactions = TransactionHistory()

    def plan(self) -> None:
        """Let them start, crash and stop within the time of faults."""
        schedule = self._world.schedule
        for number in range(self._random.randint(1, 3)):
            start = partial(self._start, f"ledger{number}")
            schedule.after(self._random.randrange(CHAOS_MS // 2), start)
        if self._random.random() < CRASH_CHANCE:
            schedule.after(self._random.randrange(CHAOS_MS), self._crash_one)
        schedule.after(CHAOS_MS, self._stop)

    def _start(self, transactional_id: str) -> None:
        world, random = self._world, self._random
        if world.schedule.time_ms >= START_MS + CHAOS_MS:
            return
        settings = ProducerSettings(
            transactional_id=transactional_id,
            transaction_timeout_ms=TIMEOUT_MS,
            request_timeout_ms=400,
            delivery_timeout_ms=600,
            connection_setup_timeout_ms=300,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=200,
            retry_backoff_ms=20,
            retry_backoff_max_ms=100,
            metadata_max_age_ms=500,
        )
        name = f"writer{len(self._clients)}"
        client = TransactionalClient(
            self._transactions,
            transactional_id,
            PARTITION_COUNT,
            partial(self._start_later, transactional_id),
            Random(f"{world.seed} {name}"),
            name,
            "bookkeeper",
            settings,
            world.network,
            world.history,
            random.sample(world.bootstrap, len(world.bootstrap)),
            {ApiKey.FIND_COORDINATOR: random.choice((3, 6))},
            transaction_version=2,
        )
        self._clients.append(client)
        client.start()

    def _start_later(self, transactional_id: str) -> None:
        self._world.schedule.after(100, partial(self._start, transactional_id))

    def _crash_one(self) -> None:
        running = [client for client in self._clients if not client.is_idle]
        if running:
            self._random.choice(running).crash()

    def _stop(self) -> None:
        for client in self._clients:
            client.is_stopping = True

    @property
    def are_idle(self) -> bool:
        """Whether nobody writes any more."""
        return all(client.is_idle for client in self._clients)

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients:
            client.close()


def transaction_ends(
    place: Place, batches: Iterable[bytes]
) -> dict[tuple[Place, int], TransactionEnd]:
    """Return how and when the transaction of each offset ended, of the batches of a log."""
    found: dict[tuple[Place, int], TransactionEnd] = {}
    open_offsets: dict[int, list[int]] = {}
    for batch in batches:
        header = read_header(batch, 0)
        offsets = range(header.base_offset, header.base_offset + header.last_offset_delta + 1)
        if header.attributes & CONTROL_FLAG:
            (marker,) = read_records(batch)
            is_commit = decode_control_key(marker.key or b"") == ControlRecordType.COMMIT
            end = TransactionEnd(is_commit, marker.timestamp)
            for offset in open_offsets.pop(header.producer_id, ()):
                found[place, offset] = end
        elif header.attributes & TRANSACTIONAL_FLAG:
            open_offsets.setdefault(header.producer_id, []).extend(offsets)
    never = TransactionEnd(is_commit=False, time_ms=None)
    for offsets_left in open_offsets.values():
        found |= {(place, offset): never for offset in offsets_left}
    return found
