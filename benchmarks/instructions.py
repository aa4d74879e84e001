"""Count the bytecode instructions and the calls of C functions that frequent requests execute.

python -m benchmarks.instructions            print the counts, one JSON line per request
python -m benchmarks.instructions --write    and keep them as the figures of this Python version

Unlike a time, a count is the same in every run on every machine. A test compares the counts with
the figures in `instructions.json`, which differ between minor versions of Python. A connection
receives the bytes of a request, as from a socket, and returns the bytes of the response; the event
loop is not counted.
"""

import argparse
import gc
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

from benchmarks import fetch_load, request_bytes, request_load, transactions
from benchmarks.in_process import InProcessBroker, InProcessConnection
from benchmarks.report import print_line
from protocol import messages

TOPIC = request_load.topic_names(1)[0]
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
FIGURES_FILE = Path(__file__).with_suffix(".json")
WARM_READS = 20
QUOTAS = (
    ("producer_byte_rate", 1e12),
    ("consumer_byte_rate", 1e12),
    ("producer_ids_rate", 1e6),
    ("request_percentage", 1e6),
)
"""Far above what a request uses."""
_TOOL_ID = 4

Result = TypeVar("Result")
Counts = tuple[int, int]
"""Bytecode instructions and calls of C functions, per request."""


def count_c_calls(call: Callable[[], Result]) -> tuple[int, Result]:
    """Return how many C functions a call calls, and its result."""
    c_calls = 0

    def on_call(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal c_calls
        if event == "c_call":
            c_calls += 1

    profiler = sys.getprofile()
    sys.setprofile(on_call)
    try:
        result = call()
    finally:
        sys.setprofile(profiler)
    return c_calls - 1, result  # without the call that ends the count


@contextmanager
def _no_collection() -> Iterator[None]:
    """Collect no garbage: hypothesis, for one, has a function called then, whose steps count."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


if sys.version_info >= (3, 12):

    def count_instructions(call: Callable[[], Result]) -> tuple[int, Result]:
        """Return how many bytecode instructions a call executes, and its result."""
        # A trace function misses the first instructions of a function since 3.12.
        instructions = 0

        def on_instruction(_code: CodeType, _offset: int) -> None:
            nonlocal instructions
            instructions += 1

        monitoring = sys.monitoring
        event = monitoring.events.INSTRUCTION
        monitoring.use_tool_id(_TOOL_ID, "instructions")
        monitoring.register_callback(_TOOL_ID, event, on_instruction)
        with _no_collection():
            monitoring.set_events(_TOOL_ID, event)
            try:
                result = call()
            finally:
                monitoring.set_events(_TOOL_ID, 0)
                monitoring.register_callback(_TOOL_ID, event, None)
                monitoring.free_tool_id(_TOOL_ID)
        return instructions, result

else:

    def count_instructions(call: Callable[[], Result]) -> tuple[int, Result]:
        """Return how many bytecode instructions a call executes, and its result."""
        instructions = 0

        def on_event(frame: FrameType, event: str, _argument: object) -> Any:
            nonlocal instructions
            frame.f_trace_lines = False
            frame.f_trace_opcodes = True
            if event == "opcode":
                instructions += 1
            return on_event

        tracer = sys.gettrace()
        with _no_collection():
            sys.settrace(on_event)
            try:
                result = call()
            finally:
                sys.settrace(tracer)
        return instructions, result


def _counts(
    connection: InProcessConnection, next_read: Callable[[], bytes], requests_per_read: int = 1
) -> Counts:
    """Return what each request executes: instructions in one read, C calls in the next.

    Of a request for several partitions, what each partition takes.
    """
    return _counts_of(lambda: connection.receiving(next_read()), requests_per_read)


def _counts_of(next_call: Callable[[], Callable[[], object]], requests_per_call: int = 1) -> Counts:
    """Return what each request executes: instructions in one call, C functions in the next."""
    for _ in range(WARM_READS):
        next_call()()
    counts = []
    for count_calls in (count_instructions, count_c_calls):
        total, _result = count_calls(next_call())
        counts.append(round(total / requests_per_call))
    return counts[0], counts[1]


def _broker(
    partition_count: int = 1, *, is_recorded: bool = False, has_quotas: bool = False
) -> InProcessBroker:
    broker = InProcessBroker()
    broker.create_topic(TOPIC, partition_count)
    broker.dispatcher.journal.is_enabled = is_recorded
    if has_quotas:
        problem = broker.cluster.quotas.clients.alter((("user", "ANONYMOUS"),), QUOTAS)
        assert problem is None, problem
    return broker


def _produce(
    requests_per_read: int,
    *,
    partition_count: int = 1,
    is_idempotent: bool = False,
    is_recorded: bool = False,
    has_quotas: bool = False,
) -> Counts:
    broker = _broker(partition_count, is_recorded=is_recorded, has_quotas=has_quotas)
    connection = broker.connect()
    producer_id = producer_epoch = -1
    if is_idempotent:
        response = connection.ask(
            messages.InitProducerIdRequest(
                version=4,
                transactional_id=None,
                transaction_timeout_ms=60_000,
                producer_id=-1,
                producer_epoch=-1,
            )
        )
        producer_id, producer_epoch = response.producer_id, response.producer_epoch
    request_count = (WARM_READS + 2) * requests_per_read
    requests = request_bytes.produce_requests(
        TOPIC,
        request_count,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        partition_count=partition_count,
    )
    reads = iter(range(0, request_count, requests_per_read))

    def next_read() -> bytes:
        first = next(reads)
        return bytes(requests.run(first, first + requests_per_read))

    return _counts(connection, next_read, requests_per_read * partition_count)


def _fetch(*, is_recorded: bool = False, has_quotas: bool = False) -> Counts:
    """A consumer that keeps up: one record, in a fetch session."""
    connection = _broker(is_recorded=is_recorded, has_quotas=has_quotas).connect()
    requests = fetch_load.SessionRequests(connection, TOPIC)
    produce = bytes(request_bytes.produce_requests(TOPIC, 1).frames)

    def next_read() -> bytes:
        connection.receive(produce)
        return bytes(requests.next_request())

    return _counts(connection, next_read)


def _repeated(case: str) -> Counts:
    """A request of the measurements over TCP, again and again."""
    connection = _broker().connect()
    request = request_load.CASES[case].prepare(connection, 0)
    return _counts(connection, lambda: request_bytes.frame_request(request, 0))


def _transaction(*, is_recorded: bool = False) -> Counts:
    """A transaction of one record: Produce v12 and EndTxn v5, in a read each."""
    broker = InProcessBroker()
    broker.create_topic(transactions.TOPIC, 1)
    broker.dispatcher.journal.is_enabled = is_recorded
    connection = broker.connect()
    producer = transactions.Producer(connection, "counted")
    producer.init()
    producer.prepare(WARM_READS + 2)

    def next_call() -> Callable[[], object]:
        produce, end = (connection.receiving(next(producer.frames)) for _ in range(2))
        return partial(_call_both, produce, end)

    return _counts_of(next_call)


def _call_both(first: Callable[[], object], second: Callable[[], object]) -> None:
    first()
    second()


COUNTS: Mapping[str, Callable[[], Counts]] = {
    "Produce, 50 in a read": lambda: _produce(50),
    "Produce, one in a read": lambda: _produce(1),
    "Produce, idempotent, 50 in a read": lambda: _produce(50, is_idempotent=True),
    "Produce, idempotent, one in a read": lambda: _produce(1, is_idempotent=True),
    "Produce, in a journal, 50 in a read": lambda: _produce(50, is_recorded=True),
    "Produce, in a journal, one in a read": lambda: _produce(1, is_recorded=True),
    "Produce, with quotas, 50 in a read": lambda: _produce(50, has_quotas=True),
    "Produce, with quotas, one in a read": lambda: _produce(1, has_quotas=True),
    "Produce to 20 partitions, for each": lambda: _produce(1, partition_count=20),
    "Produce to 20 partitions, idempotent, for each": lambda: _produce(
        1, partition_count=20, is_idempotent=True
    ),
    "Fetch of one record": _fetch,
    "Fetch of one record, in a journal": lambda: _fetch(is_recorded=True),
    "Fetch of one record, with quotas": lambda: _fetch(has_quotas=True),
    "Heartbeat": lambda: _repeated("heartbeat"),
    "ConsumerGroupHeartbeat": lambda: _repeated("consumer-heartbeat"),
    "OffsetCommit": lambda: _repeated("offset-commit"),
    "InitProducerId": lambda: _repeated("init-producer-id"),
    "transaction of one record": _transaction,
    "transaction of one record, in a journal": lambda: _transaction(is_recorded=True),
}


def figures() -> dict[str, dict[str, Counts]]:
    """Return the kept counts by Python version and request."""
    kept = json.loads(FIGURES_FILE.read_text())
    return {
        python: {name: (found[0], found[1]) for name, found in counts.items()}
        for python, counts in kept.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Count bytecode instructions of requests.")
    parser.add_argument("--write", action="store_true", help="keep the counts as the figures")
    is_kept = parser.parse_args().write
    counts = {name: measure() for name, measure in COUNTS.items()}
    for name, (instructions, c_calls) in counts.items():
        print_line({"request": name, "instructions": instructions, "c_calls": c_calls})
    if is_kept:
        FIGURES_FILE.write_text(json.dumps({**figures(), PYTHON: counts}, indent=2) + "\n")


if __name__ == "__main__":
    main()
