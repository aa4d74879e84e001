"""Random load plans: the same seed gives the same plan, in the words of a plan file."""

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from loadgen.plan.plan import BEHAVIOURS, REPLAYED, Plan
from loadgen.plan.plan_file import parse_plan

GENERATED = sorted(set(BEHAVIOURS) - {REPLAYED})
TENANTS_MAX = 5
_SOURCE = "source"
_LATENESS_P99_MS, _ABORT_BEHIND_S = 1000, 30
"""On a busy machine the generator may be late; it is the target that is judged."""

_OPTIONS: Mapping[str, Callable[[Random], Any]] = {
    "records": lambda random: random.choice((1, 2, 5, 17, 100, 300)),
    "record_bytes": lambda random: random.choice((8, 100, 200, 1500)),
    "acks": lambda random: random.choice(("all", 1)),
    "window": lambda random: random.choice((1, 2, 5)),
    "idempotent": lambda random: random.random() < 0.7,
    "keys": lambda random: random.choice((1, 10, 1000)),
    "key_skew": lambda random: random.choice((0, 1.2)),
    "headers": lambda random: random.choice((0, 3)),
    "compression": lambda random: random.choice(("none", "gzip", "snappy", "lz4", "zstd")),
    "batches": lambda random: random.choice((1, 2, 5)),
    "kinds": lambda random: random.sample(("latest", "old", "wraparound"), random.randint(1, 3)),
    "error_every": lambda random: random.choice((2, 10, 100)),
    "abort_every": lambda random: random.choice((0, 2, 10)),
    "crash_every": lambda random: random.choice((0, 3, 50)),
    "topics_per_request": lambda random: random.choice((1, 3, 10)),
    "partitions": lambda random: random.choice((1, 4)),
    "group_protocol": lambda random: random.choice(("classic", "consumer")),
    "fetch_bytes": lambda random: random.choice((1000, 1_048_576)),
    "lag_s": lambda random: random.choice((0, 0.5)),
    "lag_every_s": lambda random: random.choice((1, 2)),
}


def random_plan(seed: int) -> Plan:
    """Return the plan of a seed: up to `TENANTS_MAX` tenants, two to four seconds.

    Its topics, groups and client ids have the seed in their names, so that plans may follow each
    other on a cluster. `Plan.text` is a plan file.
    """
    random = Random(seed)
    name = f"random-{seed}"
    topics = [
        {"name": f"{name}-{number}", "partitions": random.choice((1, 2, 3, 7))}
        for number in range(random.randint(1, 3))
    ]
    behaviours = random.sample(GENERATED, random.randint(1, TENANTS_MAX))
    tenants = [
        _tenant(random, f"{name}-{behaviour}", behaviour, topics) for behaviour in behaviours
    ]
    if any(_SOURCE in tenant for tenant in tenants):
        source = f"{name}-{_SOURCE}"
        topics.append({"name": source, "partitions": 4})
        tenants.append(
            {"name": source, "behaviour": "steady", "topic": source, "rate": 50, "records": 2}
        )
    plan = {
        "name": name,
        "seed": seed,
        "duration_s": random.choice((2, 3, 4)),
        "warm_up_s": random.choice((0, 0.5)),
        "drain_s": 10,
        "lateness_p99_ms": _LATENESS_P99_MS,
        "abort_behind_s": _ABORT_BEHIND_S,
        "topics": topics,
        "tenants": tenants,
    }
    quotas = [quota for tenant in tenants for quota in _quotas(random, tenant)]
    if quotas:
        plan["quotas"] = quotas
    return parse_plan(f"{json.dumps(plan, indent=1)}\n", f"{name}.yaml")


def _tenant(
    random: Random, name: str, behaviour: str, topics: list[dict[str, Any]]
) -> dict[str, Any]:
    tenant: dict[str, Any] = {
        "name": name,
        "behaviour": behaviour,
        "clients": random.choice((1, 2, 3)),
    }
    tenant["arrival"] = random.choice(("poisson", "constant", "burst", "closed"))
    if tenant["arrival"] != "closed":
        tenant["rate"] = random.choice((1, 10, 40, 100))
    for option, value_of in _OPTIONS.items():
        if option in BEHAVIOURS[behaviour] and random.random() < 0.5:
            tenant[option] = value_of(random)
    if tenant["arrival"] == "closed" or behaviour.startswith("topic-"):
        # A closed loop is as fast as the target, and each topic is a folder of Kafka's.
        tenant["clients"] = 1
    if behaviour.startswith("topic-"):
        tenant |= {"arrival": "poisson", "rate": random.choice((1, 3))}
        tenant.setdefault("topics_per_request", 2)
    if "topic" in BEHAVIOURS[behaviour]:
        tenant["topic"] = random.choice(topics)["name"]
    if _SOURCE in BEHAVIOURS[behaviour]:
        tenant[_SOURCE] = f"{tenant['topic'].rpartition('-')[0]}-{_SOURCE}"
    if behaviour != "delivery-timeout" and random.random() < 0.2:
        tenant["obeys_throttle"] = False
    return tenant


def _quotas(random: Random, tenant: Mapping[str, Any]) -> list[dict[str, Any]]:
    quota: dict[str, Any] = {"client_id": tenant["name"]}
    if random.random() < 0.2:
        quota["producer_byte_rate"] = random.choice((20_000, 200_000))
    if random.random() < 0.2:
        quota["consumer_byte_rate"] = random.choice((20_000, 200_000))
    if tenant["behaviour"].startswith("topic-") and random.random() < 0.5:
        quota["controller_mutation_rate"] = random.choice((1, 5))
    return [quota] if len(quota) > 1 else []
