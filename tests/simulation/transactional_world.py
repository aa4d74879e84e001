"""Worlds with transactional producers, their zombies, and read_committed consumers."""

from functools import cache, partial
from random import Random
from typing import Any

from broker.cluster.cluster import Cluster
from broker.cluster.topics import Topic
from broker.faults import FaultRule
from broker.request.context import RequestContext
from broker.routes import Handler
from broker.transactions.coordinator import ProducerIdAndEpoch
from broker.transactions.transaction import IDLE, LAST_EPOCH
from client.producer.settings import ProducerSettings
from protocol.api_keys import ApiKey
from simulation.network_conditions import NetworkConditions
from tests.batches import make_batch
from tests.simulation.committed_reader import CommittedReader
from tests.simulation.transaction_checkers import check_transactions
from tests.simulation.transactional_client import (
    LEDGER,
    OFFSETS,
    TransactionalClient,
    TransactionHistory,
)
from tests.simulation.virtual_time import START_MS
from tests.simulation.world import CHAOS_MS, STEP_MS, Report, World

PARTITION_COUNT = 3
SOURCE_RECORDS = 1_000
TIMEOUT_MS = 800
END_MS = 3_000
"""How long open transactions may take to end after all clients have gone."""
NEVER_MS = 7 * 24 * 3600 * 1000
_FAULTY_APIS = {
    "Produce": "NOT_LEADER_OR_FOLLOWER",
    "InitProducerId": "COORDINATOR_NOT_AVAILABLE",
    "AddPartitionsToTxn": "COORDINATOR_LOAD_IN_PROGRESS",
    "AddOffsetsToTxn": "NOT_COORDINATOR",
    "TxnOffsetCommit": "COORDINATOR_NOT_AVAILABLE",
    "EndTxn": "NOT_COORDINATOR",
    "WriteTxnMarkers": "NOT_LEADER_OR_FOLLOWER",
}


@cache
def _source_batch() -> bytes:
    return make_batch(*[b""] * SOURCE_RECORDS)


class TransactionWorld(World):
    """A world with one to three transactional ids, each with some producers.

    In most of them nobody else uses the cluster: the clock of the brokers may be moved there, which
    the checkers of quotas do not expect.
    """

    sasl_chance = 0

    def __init__(self, seed: int, *arguments: object) -> None:
        """Create a world as `World` does."""
        self.transactions = TransactionHistory()
        self.clients: dict[str, TransactionalClient] = {}
        random = Random(f"{seed} transactions")
        self.has_other_clients = random.random() < 0.15
        self.ids = [f"id{number}" for number in range(random.randint(1, 3))]
        self.version = random.choice((0, 1, 1, 2, 2))
        super().__init__(seed, *arguments)  # type: ignore[arg-type]
        self.readers = [
            CommittedReader(self.server, (LEDGER, index)) for index in range(PARTITION_COUNT)
        ]

    def _network_conditions(self) -> NetworkConditions:
        """Requests often arrive after their client has given them up and closed the connection."""
        conditions = super()._network_conditions()
        conditions.slow_ms_max = self.random.choice((400, 1_500))
        conditions.reset_chance /= 2
        return conditions

    def _config(self) -> dict[str, str]:
        self.has_small_log = False
        expiration_ms = (
            NEVER_MS if self.has_other_clients else self._random("expiry").choice((NEVER_MS, 1_500))
        )
        self.transactions.ids_expire = expiration_ms != NEVER_MS
        return super()._config() | {
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
            "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
            "transactional.id.expiration.ms": str(expiration_ms),
        }

    def _make_topics(self) -> None:
        super()._make_topics()
        cluster = self.server.cluster
        cluster.features.apply({"transaction.version": self.version})
        factor = min(2, self.broker_count)
        cluster.create_topic(LEDGER, cluster.place(PARTITION_COUNT, factor), {})
        self._fill(cluster.create_topic(OFFSETS.topic, cluster.place(1, factor), {}))
        # Only the broker sees when a request arrives that its client has given up.
        self._watch(ApiKey.END_TXN, self._watch_end)
        self._watch(ApiKey.TXN_OFFSET_COMMIT, self._watch_offset)

    def _watch_end(
        self, handler: Handler, context: RequestContext, request: Any, cluster: Cluster
    ) -> Any:
        producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
        client = self.clients[context.client_id or ""]
        client.on_end_handled(producer, is_commit=request.committed)
        return handler(context, request, cluster)

    def _watch_offset(
        self, handler: Handler, context: RequestContext, request: Any, cluster: Cluster
    ) -> Any:
        producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
        offset = request.topics[0].partitions[0].committed_offset
        self.clients[context.client_id or ""].on_offset_handled(producer, offset)
        return handler(context, request, cluster)

    def _fill(self, topic: Topic) -> None:
        """Store records, so that the committed offsets are offsets of records."""
        (partition,) = topic.partitions
        batch = _source_batch()
        partition.log.append(batch, SOURCE_RECORDS, partition.leader_epoch)
        self.server.cluster.appended(topic, partition, len(batch), START_MS)

    def _make_clients(self) -> None:
        if self.has_other_clients:
            super()._make_clients()

    def _plan_clients(self) -> None:
        if self.has_other_clients:
            super()._plan_clients()

    def _plan(self) -> None:
        super()._plan()
        random, schedule = self._random("plan of transactions"), self.schedule
        self.chaos._groups += self.ids
        for transactional_id in self.ids:
            if random.random() < 0.2:
                self._use_up_epochs(transactional_id, random.randint(0, 6))
            # Two may run at a time: the first is a zombie then.
            for _ in range(random.randint(1, 3)):
                at_ms = random.randrange(CHAOS_MS // 2)
                schedule.after(at_ms, partial(self._start, transactional_id))
        for _ in range(random.randint(0, 3)):
            schedule.after(random.randrange(CHAOS_MS), self.chaos.move_coordinator)
        for _ in range(random.randint(0, 4)):
            move = partial(self.chaos.move_transaction_coordinator, random.choice(self.ids))
            schedule.after(random.randrange(CHAOS_MS), move)
        for _ in range(random.randint(0, 4)):
            deed = random.choice((self.chaos.move_leader, self.chaos.take_leader_away))
            schedule.after(random.randrange(CHAOS_MS), partial(deed, LEDGER))
        for at_ms in range(0, CHAOS_MS, STEP_MS):
            schedule.after(at_ms, self._consume)
        for _ in range(random.randint(0, 2)):
            schedule.after(random.randrange(CHAOS_MS), self._crash_one)
        if random.random() < 0.2:
            schedule.after(random.randrange(CHAOS_MS), self._change_version)
        if not self.has_other_clients:
            for _ in range(random.choice((0, 0, 1, 2))):
                move = partial(self._move_clock, random.choice((50, 500, 1_000, 5_000)))
                schedule.after(random.randrange(CHAOS_MS), move)
        self._add_faults(random)
        schedule.after(CHAOS_MS, self._stop)

    def _use_up_epochs(self, transactional_id: str, left: int) -> None:
        """Let a transactional id have few epochs before it needs another producer id."""
        coordinator = self.server.cluster.transactions
        coordinator.init_producer_id(
            transactional_id,
            TIMEOUT_MS,
            None,
            new_producer_id=lambda: self.server.cluster.producer_ids.next_id(1),
            now_ms=START_MS,
        )
        transaction = coordinator.get(transactional_id)
        assert transaction is not None
        transaction.producer_epoch = LAST_EPOCH - left

    def _change_version(self) -> None:
        self.version = self._random("next version").choice((0, 1, 2))
        self.trace(f"the transaction version is {self.version} now")
        self.server.cluster.features.apply({"transaction.version": self.version})

    def _move_clock(self, duration_ms: int) -> None:
        self.trace(f"the clock of the brokers moves by {duration_ms} ms")
        self.history.clock_shifts.append((self.schedule.time_ms, duration_ms))
        self.server.timer_driver.advance(duration_ms)

    def _add_faults(self, random: Random) -> None:
        """Lose, delay or refuse some requests of each API, before they are handled and after."""
        for api, error in _FAULTY_APIS.items():
            effects: list[dict[str, Any]] = [
                {"drop": "before_response"},
                {"drop": "before_handling"},
                {"delay_request_ms": 200, "jitter_ms": 200},
                {"error": error},
            ]
            for effect in random.sample(effects, random.randint(0, 3)):
                rule = {"api": api, **effect, "probability": 0.08, "seed": self.seed}
                self.server.dispatcher.faults.add(FaultRule.from_json(rule), START_MS)

    def _start(self, transactional_id: str) -> None:
        if self.schedule.time_ms >= START_MS + CHAOS_MS:
            return
        name = f"transactional{len(self.clients)}"
        random = self._random(name)
        settings = ProducerSettings(
            transactional_id=transactional_id,
            transaction_timeout_ms=TIMEOUT_MS,
            batch_size=random.choice((1, 16_384)),
            linger_ms=random.choice((0, 5)),
            request_timeout_ms=random.choice((150, 400)),
            delivery_timeout_ms=random.choice((600, 1_500)),
            connection_setup_timeout_ms=300,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=200,
            retry_backoff_ms=random.choice((1, 20)),
            retry_backoff_max_ms=100,
            metadata_max_age_ms=500,
        )
        client = TransactionalClient(
            self.transactions,
            transactional_id,
            PARTITION_COUNT,
            partial(self._start_later, transactional_id),
            random,
            name,
            "bookkeeper",
            settings,
            self.network,
            self.history,
            random.sample(self.bootstrap, len(self.bootstrap)),
            {ApiKey.FIND_COORDINATOR: random.choice((3, 6))},
            transaction_version=self.version,
        )
        self.clients[name] = client
        client.start()

    def _start_later(self, transactional_id: str) -> None:
        self.schedule.after(100, partial(self._start, transactional_id))

    def _crash_one(self) -> None:
        running = [client for client in self.clients.values() if not client.is_idle]
        if running:
            self._random(f"crash {self.schedule.time_ms}").choice(running).crash()

    def _stop(self) -> None:
        for client in self.clients.values():
            client.is_stopping = True

    def _unsettled(self) -> str:
        for client in self.clients.values():
            if not client.is_idle:
                return f"{client.name} has not ended its transaction"
        return super()._unsettled()

    def _close(self) -> None:
        for client in self.clients.values():
            client.close()
        super()._close()

    def run(self) -> Report:
        """Run the world; check transactions too, after those of crashed clients timed out."""
        report = super().run()
        self.schedule.run_until(self.schedule.time_ms + END_MS)
        self._read_end()
        report.violations += check_transactions(self.transactions)
        outcomes = [transaction.outcome for transaction in self.transactions.transactions]
        report.counts |= {
            "committed": outcomes.count("committed"),
            "aborted": outcomes.count("aborted"),
            "unknown": outcomes.count(None),
            "ended late": sum(
                bool(transaction.late_ends) for transaction in self.transactions.transactions
            ),
            "producers of transactional ids": len(self.transactions.starts),
        }
        return report

    # Reading -----------------------------------------------------------------------------------

    def _consume(self) -> None:
        """Read all that is committed now."""
        for reader in self.readers:
            self.transactions.read.update(reader.read())

    def _read_end(self) -> None:
        cluster = self.server.cluster
        ledger = cluster.topics.get(LEDGER)
        assert ledger is not None
        for partition in ledger.partitions:
            place = (LEDGER, partition.partition_index)
            self.transactions.stored[place] = CommittedReader(self.server, place).read()
            if partition.last_stable_offset != partition.log.log_end_offset:
                self.transactions.hanging.append(
                    f"{place}: the last stable offset is {partition.last_stable_offset},"
                    f" the end {partition.log.log_end_offset}"
                )
        for transaction in cluster.transactions.all():
            if transaction.state not in IDLE:
                self.transactions.hanging.append(str(transaction))
        for group in self.ids:
            committed = cluster.groups.table.committed(group, *OFFSETS)
            if committed is not None:
                self.transactions.offsets[group] = committed.offset
