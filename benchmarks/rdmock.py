"""Run librdkafka's mock cluster in its own process, for comparison.

Behaves like `broker serve`: the first line on stdout is `bootstrap.servers=...`, SIGTERM ends it.
"""

import argparse
import signal

from confluent_kafka.admin import AdminClient


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", type=int, default=1)
    arguments = parser.parse_args()
    # Blocked before librdkafka starts its threads, so that only sigwait below sees the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    # The mock exists as long as the client that created it.
    client = AdminClient({"test.mock.num.brokers": arguments.brokers, "log_level": 3})
    brokers = client.list_topics(timeout=10).brokers.values()
    addresses = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    print(f"bootstrap.servers={addresses}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
