"""Read plans: built-in ones by name, others from a file."""

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from loadgen import plans
from loadgen.plan.faults import faults_of
from loadgen.plan.plan import (
    BEHAVIOURS,
    OPTIONS,
    QUOTA_KEYS,
    REPLAYED,
    Plan,
    PlanFields,
    PlanFile,
    Tenant,
)
from loadgen.plan.rates import RateStep, rate_ends
from loadgen.plan.yaml_reader import FieldPath, PlanError, YamlDocument
from loadgen.plans import built_in_plans
from protocol.environment import EnvironmentVariableError, resolve_environment


def load_plan(name_or_path: str) -> Plan:
    """Return a built-in plan by name, or the plan in a file.

    Raises:
        PlanError: there is no such plan or file, or the file is invalid.
    """
    path = Path(name_or_path)
    # A folder is no plan: `--out steady` of an earlier run does not hide the plan `steady`.
    if path.suffix in {".yaml", ".yml"} or path.is_file():
        try:
            return parse_plan(path.read_text(encoding="utf-8"), str(path))
        except OSError as error:
            raise PlanError(f"cannot read {path}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise PlanError(f"cannot read {path}: {error}") from error
    names = built_in_plans()
    if name_or_path not in names:
        raise PlanError(
            f"{name_or_path!r} is neither a file nor a built-in plan; built in: {', '.join(names)}"
        )
    resource = files(plans) / f"{name_or_path}.yaml"
    return parse_plan(resource.read_text(encoding="utf-8"), f"{name_or_path}.yaml")


def parse_plan(text: str, source: str) -> Plan:
    """Return the plan in a YAML document; `source` names it in errors.

    `${env:NAME}` in a password or in a value of the target's `security` or `config` is an
    environment variable; `Plan.text` keeps the reference.

    Raises:
        PlanError: it is invalid.
    """
    document = YamlDocument(text, source)
    target = document.data.get("target")
    if isinstance(target, dict):
        for key in ("security", "config"):
            if isinstance(target.get(key), dict):
                target[key] = {name: _property(value) for name, value in target[key].items()}
                for name in target[key]:
                    _resolve(target[key], name, ("target", key, name), document)
    tenants = document.data.get("tenants")
    for index, tenant in enumerate(tenants if isinstance(tenants, list) else ()):
        if isinstance(tenant, dict):
            _resolve(tenant, "password", ("tenants", index, "password"), document)
    plan_file = document.convert(PlanFile)
    _check_quotas(plan_file, document)
    _check_tenants(plan_file, document)
    _check_users(plan_file, document)
    fields = {name: getattr(plan_file, name) for name in PlanFields.__struct_fields__}
    fields["name"] = plan_file.name or Path(source).stem
    quotas = tuple(quota for entry in plan_file.quotas for quota in entry.quotas)
    faults = faults_of(plan_file.faults, plan_file.duration_s, document)
    return Plan(**fields, quotas=quotas, faults=faults, text=text)


def _property(value: Any) -> Any:
    """Return a scalar as a properties file has it; leave the rest for `convert` to refuse."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _resolve(values: dict[str, Any], key: str, path: FieldPath, document: YamlDocument) -> None:
    """Replace the references to environment variables in a text."""
    if isinstance(values.get(key), str):
        try:
            values[key] = resolve_environment(values[key], os.environ)
        except EnvironmentVariableError as error:
            document.refuse(path, str(error))


def _check_quotas(plan: PlanFile, document: YamlDocument) -> None:
    for index, entry in enumerate(plan.quotas):
        if entry.user is None and entry.client_id is None:
            document.refuse(("quotas", index), "a quota needs user, client_id or both")
        if not entry.quotas:
            document.refuse(("quotas", index), f"a quota needs one of {', '.join(QUOTA_KEYS)}")


def _check_tenants(plan: PlanFile, document: YamlDocument) -> None:
    names = [tenant.name for tenant in plan.tenants]
    topics = {topic.name: topic.partitions for topic in plan.topics}
    for index, tenant in enumerate(plan.tenants):
        path = ("tenants", index)
        _check_tenant(tenant, path, plan.duration_s, document)
        if tenant.behaviour == "delivery-timeout":
            _check_producer(tenant, path, document)
        if names.count(tenant.name) > 1:
            document.refuse((*path, "name"), f"another tenant has the name {tenant.name!r}")
        for key in ("topic", "source"):
            name = getattr(tenant, key)
            if key in BEHAVIOURS[tenant.behaviour] and name not in topics:
                document.refuse((*path, key), f"{name!r} is not among topics: {sorted(topics)}")
        if "source" in BEHAVIOURS[tenant.behaviour]:
            _check_source(tenant, topics[tenant.source], path, document)


def _check_tenant(
    tenant: Tenant, path: FieldPath, duration_s: float, document: YamlDocument
) -> None:
    for key in OPTIONS:
        if document.has((*path, key)) and key not in BEHAVIOURS[tenant.behaviour]:
            document.refuse((*path, key), f"the behaviour {tenant.behaviour} does not use it")
    _check_words(tenant, path, document)
    has_rate = document.has((*path, "rate"))
    if tenant.arrival == "closed" and has_rate:
        document.refuse((*path, "rate"), "a closed loop has no rate: it sends after each response")
    if tenant.arrival != "closed" and not has_rate:
        document.refuse(path, "rate is missing")
    _check_rate(tenant, path, duration_s, document)
    if (tenant.user is None) != (tenant.password is None):
        document.refuse(
            (*path, "user" if tenant.user else "password"),
            "a tenant needs both user and password, or neither",
        )
    for key, time_s in (("start_s", tenant.start_s), ("stop_s", tenant.stop_s)):
        if time_s is not None and time_s > duration_s:
            document.refuse((*path, key), f"{time_s:g} is after the end at {duration_s:g} s")
    if (tenant.stop_s or duration_s) <= (tenant.start_s or 0.0):
        document.refuse((*path, "stop_s"), "not after start_s")
    _check_pauses(tenant, path, duration_s, document)


def _check_pauses(
    tenant: Tenant, path: FieldPath, duration_s: float, document: YamlDocument
) -> None:
    """Refuse pauses that overlap, and those after which there is no time to recover."""
    before_s = 0.0
    for index, pause in enumerate(tenant.pauses):
        pause_path = (*path, "pauses", index)
        if pause.at_s < before_s:
            document.refuse((*pause_path, "at_s"), f"the pause before it ends at {before_s:g} s")
        before_s = pause.end_s
        stop_s = min(tenant.stop_s or duration_s, duration_s)
        if pause.end_s >= stop_s:
            document.refuse(
                (*pause_path, "for_s"),
                f"the pause ends at {pause.end_s:g} s, not before the tenant's end at {stop_s:g} s",
            )


def _check_rate(tenant: Tenant, path: FieldPath, duration_s: float, document: YamlDocument) -> None:
    """Refuse steps that nobody would see, and a rate that is always 0."""
    steps = tenant.rate if isinstance(tenant.rate, tuple) else (RateStep(tenant.rate),)
    stop_s = tenant.stop_s or duration_s
    begin_s = tenant.start_s or 0.0
    for index, step in enumerate(steps):
        step_path = (*path, "rate", index)
        if index and begin_s >= stop_s:
            document.refuse(
                step_path, f"begins at {begin_s:g} s, and the tenant stops at {stop_s:g} s"
            )
        if step.for_s is None and step is not steps[-1]:
            document.refuse(step_path, "for_s is missing; only the last step may be without it")
        begin_s += step.for_s or 0.0
    if not any(any(rate_ends(step.rate)) for step in steps):
        document.refuse((*path, "rate"), "a rate that is always 0 sends nothing")


def _check_words(tenant: Tenant, path: FieldPath, document: YamlDocument) -> None:
    """Refuse values that do not fit the behaviour or each other."""
    if tenant.behaviour == REPLAYED:
        document.refuse((*path, "behaviour"), "only `mock-kafka load replay TRACE` replays")
    if tenant.arrival == "trace":
        document.refuse((*path, "arrival"), "only `mock-kafka load replay TRACE` has it")
    if tenant.lag_s >= tenant.lag_every_s:
        document.refuse((*path, "lag_s"), f"not below lag_every_s, {tenant.lag_every_s:g}")
    if len(tenant.record_sizes) > 1 and tenant.behaviour != "steady":
        document.refuse((*path, "record_bytes"), "only the behaviour steady has several sizes")


def _check_users(plan: PlanFile, document: YamlDocument) -> None:
    """Refuse tenants without a user beside others, on a cluster that gets a SASL listener only."""
    target = plan.target
    is_own = (
        not target.bootstrap_servers and not target.security and "listeners" not in target.config
    )
    without = [index for index, tenant in enumerate(plan.tenants) if tenant.user is None]
    if is_own and 0 < len(without) < len(plan.tenants):
        document.refuse(
            ("tenants", without[0]),
            "the tenant needs user and password, because another tenant has them",
        )


def _check_source(tenant: Tenant, partitions: int, path: FieldPath, document: YamlDocument) -> None:
    if tenant.source == tenant.topic:
        document.refuse((*path, "source"), "the client would consume what it produces")
    if tenant.clients > partitions:
        document.refuse(
            (*path, "clients"),
            f"{tenant.source!r} has {partitions} partitions, and each client needs one",
        )


def _check_producer(tenant: Tenant, path: FieldPath, document: YamlDocument) -> None:
    """Refuse settings that Kafka's own producer would refuse or does not have."""
    if tenant.delivery_timeout_ms < tenant.request_timeout_ms:
        has_delivery_timeout = document.has((*path, "delivery_timeout_ms"))
        document.refuse(
            (*path, "delivery_timeout_ms" if has_delivery_timeout else "request_timeout_ms"),
            f"delivery_timeout_ms={tenant.delivery_timeout_ms} is shorter than one request with"
            f" request_timeout_ms={tenant.request_timeout_ms}",
        )
    if not tenant.obeys_throttle:
        document.refuse(
            (*path, "obeys_throttle"), "the producer of this behaviour always obeys throttles"
        )
