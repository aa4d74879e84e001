"""Change frames of the corpus, send them to a broker without sockets, and check on a neighbour.

Every other cluster has a journal, which is read, and fault rules for topics, groups and
transactional ids. A part of the frames continue fetch sessions.
"""

import random
import struct
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from broker.dispatch.dispatcher import Dispatcher
from broker.faults.rule import FaultRule
from protocol.messages import API_NAMES
from tests.broker.cluster_builder import ALL_VERSIONS, NOW_MS, make_cluster
from tests.broker.connection_driver import Client
from tests.fuzz.corpus import CorpusFrame, schema_frames
from tests.fuzz.journal_reading import unreadable_lines
from tests.fuzz.session_frames import SessionFrames

SIZE_BYTES = 4
HEADER_BYTES = 8
CLUSTER_ROUNDS = 20_000
"""Changed frames for one cluster; then it is replaced, so that memory has a bound."""
NEIGHBOUR_INTERVAL = 2_000
"""Changed frames from one check to the next; there are a few more frames, of sessions."""
POOL_MAX = 5_000
FINDINGS_MAX = 20
STEP_MS = 5
SESSION_SHARE = 0.05
"""Of the frames that continue a fetch session; after each of them comes a changed one."""
_JOURNAL = {"journal.enable": "true", "journal.entries.max": str(2 * NEIGHBOUR_INTERVAL)}
_RULES: tuple[dict[str, object], ...] = (
    {"topic": "t", "nth": 3, "error": "REQUEST_TIMED_OUT"},
    {"topic": "t", "partition": 1, "every": 5, "error": "NOT_LEADER_OR_FOLLOWER"},
    {"group": "g", "every": 7, "error": "COORDINATOR_NOT_AVAILABLE"},
    {"transactional_id": "x", "every": 2, "error": "NOT_COORDINATOR"},
)
_LISTING = frozenset(
    {
        "ListGroups",
        "DescribeGroups",
        "DescribeConfigs",
        "DescribeClientQuotas",
        "DescribeUserScramCredentials",
        "DescribeTransactions",
        "ListTransactions",
        "DescribeTopicPartitions",
        "Metadata",
        "DescribeAcls",
        "OffsetFetch",
        "DescribeDelegationToken",
    }
)
"""APIs whose responses list what others have written."""
_NUMBERS = (0, 1, 2, 127, 128, 255, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must not happen, and the frame after which it did."""

    what: str
    data: bytes


@dataclass
class Report:
    """What a run did and found."""

    frames: int = 0
    bytes: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


class Fuzzer:
    """A seeded run."""

    def __init__(self, corpus: Sequence[CorpusFrame], seed: int) -> None:
        self.report = Report()
        self._random = random.Random(seed)
        self._pool = [frame.data for frame in corpus]
        self._corpus_size = len(self._pool)
        self._signatures: set[tuple[bytes, str]] = set()
        self._neighbours = [
            frame for frame in schema_frames() if API_NAMES[frame.api_key] in _LISTING
        ]
        self._now_ms = NOW_MS
        self._rounds = 0
        self.new_cluster(has_journal=False)

    def run(self, bytes_min: int) -> Report:
        """Send frames until they have this many bytes."""
        while self.report.bytes < bytes_min and len(self.report.findings) < FINDINGS_MAX:
            if self._random.random() < SESSION_SHARE:
                self.step_in_session()
            self.step(self._changed(self._random.choice(self._pool)))
            self._rounds += 1
            if self._rounds % NEIGHBOUR_INTERVAL == 0:
                self.check_neighbour()
                self.check_journal()
            if self._rounds % CLUSTER_ROUNDS == 0:
                self.new_cluster(has_journal=not self._has_journal)
        self.check_journal()
        return self.report

    def step_in_session(self) -> None:
        """Send a request that continues a fetch session, or begins one, and another changed one."""
        data = self.sessions.next()
        response = self.step(data)
        if response:
            self.sessions.take(response)
        self.step(self._changed(data))

    def step(self, data: bytes) -> bytes:
        """Send one frame, in one piece or two, and judge what happened; return the response."""
        self.report.frames += 1
        self.report.bytes += len(data)
        self._now_ms += STEP_MS
        client = self._client
        cut = self._random.randrange(len(data)) if self._random.random() < 0.1 else 0
        try:
            for piece in filter(None, (data[:cut], data[cut:])):
                client.send(piece, self._now_ms)
        except Exception:  # noqa: BLE001 - that is what we look for
            self._find(traceback.format_exc(), data)
            self._connect()
            return b""
        for bug in client.bugs:
            self._find("".join(traceback.format_exception(bug)), data)
        if client.close_reason is not None:
            outcome = "closed"
        else:
            outcome = "answered" if client.written else "no response"
        self.report.outcomes[outcome] += 1
        # Changes of a frame that closes the connection seldom reach a handler.
        if outcome != "closed":
            self._learn(data, f"{outcome} {len(client.written) // 16}")
        response, client.written = client.written, b""
        # A connection that waits for a response, or for the rest of a frame, is left behind.
        if outcome != "answered" or client.bugs:
            self._connect()
        return response

    def check_journal(self) -> None:
        """Read all lines of the journal, whatever was noted there."""
        for what, frame in unreadable_lines(
            self._dispatcher.journal, self._dispatcher.faults.topic_name
        ):
            self._find(what, len(frame).to_bytes(SIZE_BYTES) + frame)

    def check_neighbour(self) -> None:
        """Ask everything that lists what others have written, in every version."""
        for frame in self._neighbours:
            neighbour = Client(self._cluster, dispatcher=self._dispatcher)
            neighbour.send(frame.data, self._now_ms)
            if neighbour.close_reason is not None:
                name = API_NAMES[frame.api_key]
                what = f"a neighbour's {name} v{frame.version}: {neighbour.close_reason}"
                self._find(what, frame.data)

    def _learn(self, data: bytes, outcome: str) -> None:
        """Keep a frame that had a new outcome, to change it further."""
        signature = data[SIZE_BYTES : SIZE_BYTES + 4], outcome
        if signature not in self._signatures:
            self._signatures.add(signature)
            if len(self._pool) < POOL_MAX:
                self._pool.append(data)
            else:
                self._pool[self._random.randrange(self._corpus_size, POOL_MAX)] = data

    def _changed(self, data: bytes) -> bytes:
        """Return a frame with one to four changes; mostly its size fits."""
        body = bytearray(data[SIZE_BYTES:])
        for _ in range(self._random.choice((1, 1, 1, 2, 4))):
            self._change(body)
        size = len(body)
        if self._random.random() < 0.02:
            size = self._random.choice((0, -1, size + 1, 0x7FFFFFFF, size // 2))
        return struct.pack(">i", size) + bytes(body)

    def _change(self, body: bytearray) -> None:
        # Key, version and correlation id are rarely changed, or nothing behind them is reached.
        first = min(HEADER_BYTES, len(body)) if self._random.random() < 0.95 else 0
        at = self._random.randrange(first, len(body) + 1)
        number = self._random.choice(_NUMBERS)
        match self._random.randrange(8):
            case 0 if body:
                body[at % len(body)] ^= 1 << self._random.randrange(8)
            case 1 if body:
                body[at % len(body)] = number & 0xFF
            case 2:
                body[at : at + 2] = struct.pack(">H", number & 0xFFFF)
            case 3:
                body[at : at + 4] = struct.pack(">I", number)
            case 4:
                del body[at : at + self._random.randrange(1, 9)]
            case 5:
                body[at:at] = self._random.randbytes(self._random.randrange(1, 17))
            case 6:
                end = self._random.randrange(at, min(len(body), at + 64) + 1)
                body[at:at] = bytes(body[at:end]) * self._random.choice((1, 2, 8))
            case _:
                other = self._random.choice(self._pool)
                body[at:] = other[SIZE_BYTES + min(at, len(other)) :]
        del body[4096:]

    def _find(self, what: str, data: bytes) -> None:
        self.report.findings.append(Finding(what, data))

    def new_cluster(self, *, has_journal: bool) -> None:
        """Replace the cluster by one with two topics, and perhaps a journal and fault rules."""
        self._has_journal = has_journal
        self._cluster = make_cluster(2, **ALL_VERSIONS, **(_JOURNAL if has_journal else {}))
        self._dispatcher = Dispatcher(
            self._cluster, lambda error, _: self._client.bugs.append(error)
        )
        if has_journal:
            for rule in _RULES:
                self._dispatcher.faults.add(FaultRule.from_json(rule), self._now_ms)
        topic_ids = [
            self._cluster.create_topic(name, self._cluster.place(2, 2), {}).topic_id
            for name in ("t", "u")
        ]
        self.sessions = SessionFrames(self._random, topic_ids)
        self._connect()

    def _connect(self) -> None:
        self._client = Client(self._cluster, dispatcher=self._dispatcher)
