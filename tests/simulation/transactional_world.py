"""Worlds with transactional producers, their zombies, and read_committed consumers."""

from functools import partial
from uuid import UUID

from broker.cluster.topics import NO_LEADER, Topic
from broker.dispatch.connection import Connection
from broker.faults import FaultRule
from broker.transactions.transaction import IDLE
from client.producer.settings import ProducerSettings
from client.protocol_codec import ProtocolCodec
from protocol.api_keys import ApiKey
from protocol.control_records import ControlRecordType, decode_control_key
from protocol.errors import ErrorCode
from protocol.records import CONTROL_FLAG, TRANSACTIONAL_FLAG, read_header, read_records
from tests.batches import make_batch
from tests.simulation.client_link import known_versions
from tests.simulation.group_member import fetch_request, split_batches
from tests.simulation.history import Place
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
_FAULTY_APIS = {
    "Produce": "NOT_LEADER_OR_FOLLOWER",
    "InitProducerId": "COORDINATOR_NOT_AVAILABLE",
    "AddPartitionsToTxn": "COORDINATOR_LOAD_IN_PROGRESS",
    "AddOffsetsToTxn": "NOT_COORDINATOR",
    "TxnOffsetCommit": "COORDINATOR_NOT_AVAILABLE",
    "EndTxn": "NOT_COORDINATOR",
}


class TransactionWorld(World):
    """An ordinary world with one to three transactional ids, each with some producers."""

    def __init__(self, seed: int, *arguments: object) -> None:
        """Create a world as `World` does."""
        self.transactions = TransactionHistory()
        self.clients: list[TransactionalClient] = []
        super().__init__(seed, *arguments)  # type: ignore[arg-type]

    def _config(self) -> dict[str, str]:
        self.has_small_log = False
        key = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
        return super()._config() | {key: "100"}

    def _make_topics(self) -> None:
        super()._make_topics()
        cluster = self.server.cluster
        self.version = self._random("version").choice((1, 2))
        cluster.features.apply({"transaction.version": self.version})
        factor = min(2, self.broker_count)
        cluster.create_topic(LEDGER, cluster.place(PARTITION_COUNT, factor), {})
        self._fill(cluster.create_topic(OFFSETS.topic, cluster.place(1, factor), {}))

    def _fill(self, topic: Topic) -> None:
        """Store records, so that the committed offsets are offsets of records."""
        (partition,) = topic.partitions
        batch = make_batch(*[b""] * SOURCE_RECORDS)
        partition.log.append(batch, SOURCE_RECORDS, START_MS, partition.leader_epoch)
        self.server.cluster.appended(topic, partition, len(batch), START_MS)

    def _plan(self) -> None:
        super()._plan()
        random = self._random("transactions")
        ids = [f"id{number}" for number in range(random.randint(1, 3))]
        self.chaos._groups += ids
        for transactional_id in ids:
            # Two may run at a time: the first is a zombie then.
            for _ in range(random.randint(1, 3)):
                at_ms = random.randrange(CHAOS_MS // 2)
                self.schedule.after(at_ms, partial(self._start, transactional_id))
        for _ in range(random.randint(0, 6)):
            self.schedule.after(random.randrange(CHAOS_MS), self.chaos.move_coordinator)
        for at_ms in range(0, CHAOS_MS, STEP_MS):
            self.schedule.after(at_ms, self._consume)
        for _ in range(random.randint(0, 2)):
            self.schedule.after(random.randrange(CHAOS_MS), self._crash_one)
        for api, error in _FAULTY_APIS.items():
            for effect in (
                {"drop": "before_response"},
                {"drop": "before_handling"},
                {"error": error},
            ):
                rule = {"api": api, **effect, "probability": 0.05, "seed": self.seed}
                self.server.dispatcher.faults.add(FaultRule.from_json(rule), START_MS)
        self.schedule.after(CHAOS_MS, self._stop)

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
            says_hello=self.version == 1 or random.random() < 0.25,
        )
        self.clients.append(client)
        client.start()

    def _start_later(self, transactional_id: str) -> None:
        self.schedule.after(100, partial(self._start, transactional_id))

    def _crash_one(self) -> None:
        running = [client for client in self.clients if not client.is_idle]
        if running:
            self._random(f"crash {self.schedule.time_ms}").choice(running).crash()

    def _stop(self) -> None:
        for client in self.clients:
            client.is_stopping = True

    def _unsettled(self) -> str:
        for client in self.clients:
            if not client.is_idle:
                return f"{client.name} has not ended its transaction"
        return super()._unsettled()

    def _close(self) -> None:
        for client in self.clients:
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
            "producers of transactional ids": len(self.transactions.starts),
        }
        return report

    # Reading -----------------------------------------------------------------------------------

    def _consume(self) -> None:
        """Read all that is committed now."""
        for index in range(PARTITION_COUNT):
            self.transactions.read.update(self._read_committed((LEDGER, index)))

    def _read_end(self) -> None:
        cluster = self.server.cluster
        ledger = cluster.topics.get(LEDGER)
        assert ledger is not None
        for partition in ledger.partitions:
            place = (LEDGER, partition.partition_index)
            self.transactions.stored[place] = self._read_committed(place)
            if partition.last_stable_offset != partition.log.log_end_offset:
                self.transactions.hanging.append(
                    f"{place}: the last stable offset is {partition.last_stable_offset},"
                    f" the end {partition.log.log_end_offset}"
                )
        for transaction in cluster.transactions.all():
            if transaction.state not in IDLE:
                self.transactions.hanging.append(str(transaction))
            group = transaction.transactional_id
            committed = cluster.groups.committed(group, *OFFSETS)
            if committed is not None:
                self.transactions.offsets[group] = committed.offset

    def _read_committed(self, place: Place) -> list[bytes]:
        """Return what a read_committed consumer reads of a partition, without the network."""
        topic = self.server.cluster.topics.get(place[0])
        assert topic is not None
        partition = topic.partition(place[1])
        assert partition is not None
        if partition.leader_id == NO_LEADER:
            return []
        wire = ProtocolCodec("reader")
        wire.on_api_versions(known_versions())
        connection = Connection(
            self.server.dispatcher,
            broker_id=partition.leader_id,
            connection_id=0,
            client_host="",
            frame_bytes_max=1 << 20,
            on_ready=lambda: None,
        )
        values: list[bytes] = []
        offset = 0
        while True:
            found, next_offset = self._fetch_committed(
                wire, connection, place, topic.topic_id, offset
            )
            values += found
            if next_offset == offset:
                return values
            offset = next_offset

    def _fetch_committed(
        self, wire: ProtocolCodec, connection: Connection, place: Place, topic_id: UUID, offset: int
    ) -> tuple[list[bytes], int]:
        """Return the committed values of one response, and the offset to go on with."""
        request = fetch_request({place: (-1, offset)}, {place[0]: topic_id}, 0)
        request.isolation_level = 1
        effects = connection.receive(wire.request(request), self.schedule.time_ms)
        wire.feed(effects.write)
        response = wire.next_response()
        if response is None or not response.responses:  # a fault rule keeps it waiting
            return [], offset
        (result,) = response.responses[0].partitions
        if result.error_code != ErrorCode.NONE or not result.records:
            return [], offset
        starts = sorted(
            (aborted.first_offset, aborted.producer_id)
            for aborted in result.aborted_transactions or ()
        )
        aborted_ids: set[int] = set()
        values: list[bytes] = []
        for batch in split_batches(bytes(result.records)):
            header = read_header(batch, 0)
            last_offset = header.base_offset + header.last_offset_delta
            while starts and starts[0][0] <= last_offset:
                aborted_ids.add(starts.pop(0)[1])
            if header.attributes & CONTROL_FLAG:
                (marker,) = read_records(batch)
                if decode_control_key(marker.key or b"") == ControlRecordType.ABORT:
                    aborted_ids.discard(header.producer_id)
            elif not (header.attributes & TRANSACTIONAL_FLAG and header.producer_id in aborted_ids):
                values += [read_record.value or b"" for read_record in read_records(batch)]
            offset = last_offset + 1
        return values, offset
