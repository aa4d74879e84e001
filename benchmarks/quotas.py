"""Measure quota decisions: decisions per second of one core, and resident bytes per entity.

python -m benchmarks.quotas                            everything, one JSON line per case
python -m benchmarks.quotas --case token-bucket        one case, in this process

Each case runs in its own process with 10,000 users that have a quota each. Users come in random
order, and the time advances by a millisecond every hundred decisions: once with all users, once
with only a hundred. A decision is what a handler calls: find the client's counter, refill or
sample, compare, return the throttle time. `precedence` is the look-up in eight levels, which a
decision makes only for clients that are new since the last change of quotas. Rates are the best of
the rounds, because the machine is shared. A missed bar is reported and is not a failure.

Decisions for 10,000 random users cost more than for a hundred, because the processor waits for
memory: each client has half a dozen objects that are not in its cache.
"""

import argparse
import ctypes
import gc
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.producer_state_memory import resident_bytes
from benchmarks.quiet import wait_until_quiet
from benchmarks.report import Bar, Figures, case_line, print_line, progress
from benchmarks.server_process import PROJECT
from quotas.client_quotas import ClientQuotas
from quotas.client_rate import PRODUCE, ClientRateQuotaManager
from quotas.controller_mutation import ControllerMutationQuotaManager
from quotas.entities import CONTROLLER_MUTATION_RATE, PRODUCER_BYTE_RATE, make_entity

MODULE = "benchmarks.quotas"
ENTITIES = 10_000
ACTIVE = 100
CLIENT_ID, VALUE = "client", 4
DECISIONS = 200_000
ROUNDS = 5
DECISIONS_PER_MS = 100
NOW_MS = 1_700_000_000_000
SAMPLES, WINDOW_SECONDS = 11, 1

Decide = Callable[[str, str, int, int], object]
"""One decision: user, client id, value, time in ms."""

RATE_BAR = Bar("decisions_per_s", "at least", 1_000_000)
ACTIVE_BAR = Bar("decisions_per_s_of_100_active", "at least", 1_000_000)


def user_names() -> list[str]:
    return [f"user-{number}" for number in range(ENTITIES)]


def set_quotas(key: str, users: list[str]) -> ClientQuotas:
    quotas = ClientQuotas()
    for user in users:
        assert quotas.alter(make_entity([("user", user)]), [(key, 1000.0)]) is None
    return quotas


def token_bucket(users: list[str]) -> Decide:
    quotas = set_quotas(CONTROLLER_MUTATION_RATE.name, users)
    limits = quotas.limits[CONTROLLER_MUTATION_RATE.name]
    manager = ControllerMutationQuotaManager(limits, SAMPLES, WINDOW_SECONDS)
    return manager.try_charge


def sampled_rate(users: list[str]) -> Decide:
    quotas = set_quotas(PRODUCER_BYTE_RATE.name, users)
    limits = quotas.limits[PRODUCER_BYTE_RATE.name]
    manager = ClientRateQuotaManager(limits, PRODUCE, SAMPLES, WINDOW_SECONDS)
    return manager.record


def precedence(users: list[str]) -> Decide:
    quotas = set_quotas(PRODUCER_BYTE_RATE.name, users)
    for names in (
        [("user", None)],
        [("client-id", None)],
        [("client-id", "other")],
        [("user", None), ("client-id", None)],
        [("user", None), ("client-id", "other")],
        [("user", "user-1"), ("client-id", "client")],
        [("user", "user-2"), ("client-id", None)],
    ):
        assert quotas.alter(make_entity(names), [(PRODUCER_BYTE_RATE.name, 1000.0)]) is None
    scope = quotas.limits[PRODUCER_BYTE_RATE.name].scope
    return lambda user, client_id, _value, _now_ms: scope(user, client_id)


CASES: dict[str, Callable[[list[str]], Decide]] = {
    "token-bucket": token_bucket,
    "sampled-rate": sampled_rate,
    "precedence": precedence,
}


def measure(case: str) -> Figures:
    users = user_names()
    # What the first use creates belongs to the program, not to an entity.
    CASES[case](users[:10])(users[0], CLIENT_ID, VALUE, NOW_MS)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    before = resident_bytes()
    decide = CASES[case](users)
    for user in users:
        decide(user, CLIENT_ID, VALUE, NOW_MS)
    gc.collect()
    grown = resident_bytes() - before
    all_s, active_s = best_seconds(decide, users), best_seconds(decide, users[:ACTIVE])
    return {
        RATE_BAR.figure: round(DECISIONS / all_s),
        ACTIVE_BAR.figure: round(DECISIONS / active_s),
        "ns_per_decision": round(all_s * 1e9 / DECISIONS),
        "resident_bytes_per_entity": round(grown / ENTITIES),
    }


def best_seconds(decide: Decide, users: list[str]) -> float:
    """Return the seconds of one round's decisions on this core, without the loop."""
    drawn = random.Random(1).choices(users, k=DECISIONS)
    return min(run_round(decide, drawn, number) for number in range(ROUNDS))


def run_round(decide: Decide, drawn: list[str], number: int) -> float:
    first_ms = NOW_MS + number * DECISIONS // DECISIONS_PER_MS
    times_ms = [first_ms + number // DECISIONS_PER_MS for number in range(DECISIONS)]
    started = time.thread_time()
    for user, now_ms in zip(drawn, times_ms, strict=True):
        decide(user, CLIENT_ID, VALUE, now_ms)
    taken_s = time.thread_time() - started
    started = time.thread_time()
    for _user, _now_ms in zip(drawn, times_ms, strict=True):
        pass
    return taken_s - (time.thread_time() - started)


def print_case(case: str, figures: Figures) -> None:
    command = f"python -m {MODULE} --case {case}"
    line = case_line("quotas", case, figures, (RATE_BAR, ACTIVE_BAR), command)
    print_line({**line, "entities": ENTITIES})


def run_all() -> None:
    for case in CASES:
        is_quiet = wait_until_quiet()
        progress(f"quotas {case}")
        child = subprocess.run(
            [sys.executable, "-m", MODULE, "--case", case],
            cwd=PROJECT,
            stdout=subprocess.PIPE,
            check=True,
        )
        print_case(case, json.loads(child.stdout)["figures"] | {"machine_was_quiet": is_quiet})


def main() -> int:
    parser = argparse.ArgumentParser(
        prog=f"python -m {MODULE}",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--case", choices=tuple(CASES))
    arguments = parser.parse_args()
    if arguments.case is None:
        run_all()
    else:
        print_case(arguments.case, measure(arguments.case))
    return 0


if __name__ == "__main__":
    sys.exit(main())
