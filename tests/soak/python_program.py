"""The program of a Python client: `NAME SERVERS TOPIC RATE`, with the names of `CLIENTS`.

It sends numbers to its topic and reads them as a member of a group. It prints `acked N`,
`failed N ERROR` and `read N`, with tabs. The line `stop` on standard input ends sending: it flushes
and prints `stopped`. At the end of standard input it ends.
"""

import sys
import threading
import time

from scenarios.clients.interface import Client, Delivery, GroupMember, ProducerOptions
from scenarios.clients.python_clients import CLIENTS

PARTITIONS = 3
FLUSH_TIMEOUT_S = 130.0
COMMIT_INTERVAL_S = 1.0
_output = threading.Lock()


def say(*words: object) -> None:
    """Print a line; callbacks of the libraries do so from their own threads."""
    with _output:
        print(*words, sep="\t", flush=True)


class Program:
    """One client, with its producer and its consumer."""

    def __init__(self, client: Client, servers: str, topic: str, rate: float) -> None:
        options = ProducerOptions(is_idempotent=True, linger_ms=5)
        self._producer = client.producer(servers, options=options)
        self._member = client.join(servers, topic, f"{topic}-group")
        self._topic, self._rate = topic, rate
        self._next = 0
        self._lines: set[str] = set()
        threading.Thread(target=self._read_input, daemon=True).start()

    def _read_input(self) -> None:
        for line in sys.stdin:
            self._lines.add(line.strip())
        self._lines.add("end")

    def run(self) -> None:
        """Send and read until the end of standard input."""
        start = committed = time.monotonic()
        is_stopped = False
        while "end" not in self._lines:
            if "stop" not in self._lines:
                self._send_until((time.monotonic() - start) * self._rate)
            elif not is_stopped:
                self._producer.flush(FLUSH_TIMEOUT_S)
                say("stopped")
                is_stopped = True
            self._producer.poll(0.001)
            self._read()
            if time.monotonic() - committed > COMMIT_INTERVAL_S:
                committed = time.monotonic()
                commit(self._member)
        self._member.close()
        self._producer.close()

    def _send_until(self, due: float) -> None:
        while self._next < due:
            number = self._next
            self._next += 1

            def report(delivery: Delivery, number: int = number) -> None:
                if delivery.error is None:
                    say("acked", number)
                else:
                    say("failed", number, delivery.error_name)

            value, now_ms = b"%d" % number, int(time.time() * 1000)
            partition = number % PARTITIONS
            self._producer.send(
                self._topic, value, report, partition=partition, timestamp_ms=now_ms
            )

    def _read(self) -> None:
        try:
            records = self._member.poll()
        except Exception as error:  # noqa: BLE001 - a fault; the libraries have no common class
            print(f"{self._topic}: poll: {error!r}", file=sys.stderr, flush=True)
            return
        for record in records:
            say("read", (record.value or b"").decode())


def commit(member: GroupMember) -> None:
    """Commit; after an error the offsets are committed the next time."""
    try:
        member.commit()
    except Exception as error:  # noqa: BLE001 - as above
        print(f"commit: {error!r}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    _, name, bootstrap_servers, topic_name, rate_per_s = sys.argv
    [chosen] = [client for client in CLIENTS if client.name == name]
    Program(chosen, bootstrap_servers, topic_name, float(rate_per_s)).run()
