"""What happens to the cluster during a soak: faults, moved leaders, stopped brokers, quotas."""

import random
from collections import Counter
from collections.abc import Callable, Sequence

from mock_kafka import MockKafka

BROKERS = (1, 2, 3)
PARTITIONS = 3
STOP_TURNS_MAX = 3
QUOTA_BYTES_PER_S = 20_000
PRODUCE_ERRORS = (
    "NOT_ENOUGH_REPLICAS",
    "NOT_LEADER_OR_FOLLOWER",
    "REQUEST_TIMED_OUT",
    "KAFKA_STORAGE_ERROR",
)
FETCH_ERRORS = ("NOT_LEADER_OR_FOLLOWER", "KAFKA_STORAGE_ERROR")


class Disturbances:
    """A seeded sequence of disturbances; at most one broker is down at a time."""

    def __init__(self, kafka: MockKafka, topics: Sequence[str], seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self._kafka, self._topics = kafka, topics
        self._random = random.Random(seed)
        self._stopped: int | None = None
        self._turns_until_start = 0
        self._has_quota = False
        self._kinds: dict[str, Callable[[], None]] = {
            "dropped responses": self._drop_responses,
            "dropped requests": self._drop_requests,
            "cut responses": self._cut_responses,
            "delayed responses": self._delay,
            "errors of Produce": self._fail_produce,
            "errors of Fetch": self._fail_fetch,
            "moved leaders": self._move_leader,
            "stopped brokers": self._stop_broker,
            "quotas": self._toggle_quota,
        }

    def disturb(self) -> None:
        """Do the next thing; start a broker that has been down for long enough."""
        if self._stopped is not None:
            self._turns_until_start -= 1
            if self._turns_until_start <= 0:
                self._start_broker()
        if all(fault["is_used_up"] for fault in self._kafka.control.ask("GET", "/v1/faults")):
            self._kafka.clear_faults()
        kind = self._random.choice(list(self._kinds))
        self._kinds[kind]()
        self.counts[kind] += 1

    def end(self) -> None:
        """Remove all faults and quotas, and start the broker that is down."""
        self._kafka.clear_faults()
        if self._stopped is not None:
            self._start_broker()
        if self._has_quota:
            self._toggle_quota()

    def _topic(self) -> str:
        return self._random.choice(self._topics)

    def _times(self) -> int:
        return self._random.randint(1, 3)

    def _drop_responses(self) -> None:
        api = self._random.choice(["Produce", "Fetch"])
        self._kafka.drop_response(api=api, topic=self._topic(), times=self._times())

    def _drop_requests(self) -> None:
        self._kafka.drop_request(api="Produce", topic=self._topic(), times=self._times())

    def _cut_responses(self) -> None:
        self._kafka.drop_response(api="Produce", topic=self._topic(), times=1, after_bytes=7)

    def _delay(self) -> None:
        api = self._random.choice(["Produce", "Fetch", "Metadata"])
        self._kafka.delay(api=api, ms=self._random.randint(50, 500), times=self._times())

    def _fail_produce(self) -> None:
        error = self._random.choice(PRODUCE_ERRORS)
        self._kafka.fail(api="Produce", error=error, topic=self._topic(), times=self._times())

    def _fail_fetch(self) -> None:
        error = self._random.choice(FETCH_ERRORS)
        self._kafka.fail(api="Fetch", error=error, topic=self._topic(), times=1)

    def _move_leader(self) -> None:
        up = [broker for broker in BROKERS if broker != self._stopped]
        partition = self._random.randrange(PARTITIONS)
        self._kafka.move_leader(self._topic(), partition, self._random.choice(up))

    def _stop_broker(self) -> None:
        if self._stopped is None:
            self._stopped = self._random.choice(BROKERS)
            self._turns_until_start = self._random.randint(1, STOP_TURNS_MAX)
            # kafka-python forgets a commit to a coordinator that crashes (docs/compatibility.md).
            group = "soak-kafka-python-group"
            coordinators = {
                view["group_id"]: view["coordinator"]
                for view in self._kafka.control.ask("GET", "/v1/groups")
            }
            is_controlled = coordinators.get(group) == self._stopped or self._random.random() < 0.5
            self._kafka.stop_broker(self._stopped, controlled=is_controlled)

    def _start_broker(self) -> None:
        assert self._stopped is not None
        self._kafka.start_broker(self._stopped)
        self._stopped = None

    def _toggle_quota(self) -> None:
        self._has_quota = not self._has_quota
        rate = QUOTA_BYTES_PER_S if self._has_quota else None
        self._kafka.quota(user="ANONYMOUS", producer_byte_rate=rate, consumer_byte_rate=rate)
