"""Run worlds of aiokafka for `scripts/simulate --aiokafka`."""

import logging
from collections.abc import Sequence
from traceback import format_exception

from tests.simulation.aiokafka_mends import MENDS
from tests.simulation.aiokafka_worlds import run_world
from tests.simulation.world import Report


def run(kind: str, released: Sequence[str], seed: int) -> Report:
    """Run one world; what it raises is a violation too."""
    logging.disable()  # of aiokafka
    try:
        result = run_world(kind, seed, *named(released))
    except Exception as error:  # noqa: BLE001 - the other worlds still run
        lines = "".join(format_exception(error)[-3:])
        return Report(seed, [f"raised: {lines}"], "", 0, 0)
    requests = len(result.journal)
    return Report(
        seed,
        result.value,
        result.digest,
        int(result.virtual_s * 1000),
        requests,
        {"requests": requests, "bytes": result.byte_count},
    )


def replay(kind: str, seed: int, released: Sequence[str]) -> int:
    """Run one world with a line for each request; return 1 if there is a violation."""
    result = run_world(kind, seed, *named(released))
    print(*result.journal, sep="\n")
    print(f"seed {seed}: {len(result.value)} violations, digest {result.digest}")
    print(*result.value, sep="\n")
    return bool(result.value)


def named(released: Sequence[str]) -> tuple[str, ...]:
    """Return the names of findings; `all` is for all of them."""
    return tuple(MENDS) if "all" in released else tuple(released)
