"""KIP-758's migration in two phases, broker by broker, under producers that never pause.

Phase 1 gives the brokers the new rule of duplicates; producers know nothing of it and keep to five
requests in flight. Phase 2 advertises the window. `upgrade.py` rolls, `writers.py` writes,
`timeline.py` draws.
"""

from pathlib import Path

from scenarios.clients.installed import is_installed
from scenarios.clients.java import kafka_clients_jars
from scenarios.maven import CannotRunError
from scenarios.picture import require_matplotlib
from scenarios.rolling_upgrade.timeline import draw
from scenarios.rolling_upgrade.upgrade import Upgrade, broken_promises, run_upgrade
from scenarios.rolling_upgrade.writers import (
    JAVA_VERSION,
    Java,
    Librdkafka,
    Ours,
    Writer,
)
from scenarios.table import text_table

COLUMNS = ("client", "sent", "acknowledged", "lost", "duplicated", "out of order", "retries")


def run(out: Path | None) -> int:
    """Upgrade a cluster, print a table, and draw a picture into `out`.

    Returns 1 when a record was lost, stored twice or out of order, or a limit was not kept.
    """
    if out is not None:
        require_matplotlib()
    upgrade = run_upgrade(available_writers())
    print(table(upgrade))
    if out is not None:
        print(draw(upgrade, out))
    broken = broken_promises(upgrade)
    print("\n".join(["", *broken]) if broken else "\nno record was lost, duplicated or reordered")
    return 1 if broken else 0


def available_writers() -> list[type[Writer]]:
    """Return the clients that can run here; print a line for each other."""
    kinds: list[type[Writer]] = [Ours]
    if not is_installed("confluent-kafka"):
        print("without librdkafka: confluent-kafka is not installed")
    else:
        kinds.append(Librdkafka)
    try:
        kafka_clients_jars(JAVA_VERSION)
    except CannotRunError as error:
        print(f"without Java: {error}")
    else:
        kinds.append(Java)
    return kinds


def table(upgrade: Upgrade) -> str:
    """One row for each client; the last columns are the most requests in flight in each phase."""
    steady = [stage for stage in upgrade.stages if not stage.name.startswith("to ")]
    rows = [
        (
            written.name,
            written.sent,
            len(written.acknowledged_ms),
            written.lost,
            written.duplicated,
            written.out_of_order,
            written.retries,
            *(written.in_flight_max(stage) for stage in steady),
        )
        for written in upgrade.written
    ]
    stages = [f"in flight: {stage.name}" for stage in steady]
    return text_table([*COLUMNS, *stages], rows)
