"""For any HTTP request, the admin port's response fits its OpenAPI document."""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, seed, settings
from kafka import KafkaProducer
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

import broker.http_admin.web  # noqa: F401 - declares the operations
from broker.http_admin.clock import ADVANCE_MS_MAX
from broker.http_admin.operation import OPERATIONS

EXAMPLES = 6
"""Of valid input and of invalid input, for each operation."""
DAY_MS = 86_400_000
MISSING, TIMEOUT, CONFLICT, FURTHER_RULES = 404, 408, 409, 422
ENDLESS = "follow_requests"
"""A stream that only its reader ends; `test_web` reads it."""
UNTESTED = {ENDLESS, "get_openapi"}
"""schemathesis leaves out the operation that it has the document from."""


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, str]]:
    """Bootstrap servers and the URL of the admin port."""
    command = [sys.executable, "-P", "-m", "broker", "serve", "--port", "0", "--brokers", "3"]
    with subprocess.Popen(
        [*command, "--admin-port", "0", "--log-level", "error"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first, second = process.stdout.readline(), process.stdout.readline()
        yield first.partition("=")[2].strip(), second.partition("=")[2].strip()
        process.terminate()
        _out, logged = process.communicate(timeout=20)
        assert logged == ""


def tamed(case: Any) -> Any:
    """The same, without values that only make a request slow, or move the brokers.

    `advertise_address` sets addresses that stay, so `/v1/brokers` would not list new ports.
    """
    parameters = case.operation.definition.raw.get("parameters", [])
    if any(parameter["name"] == "timeout_ms" for parameter in parameters):
        case.query = {**(case.query or {}), "timeout_ms": 0}
    operation_id = case.operation.definition.raw["operationId"]
    if operation_id == "advance_clock":
        for name, unit_ms in (("ms", 1), ("seconds", 1000)):
            value = case.body.get(name) if isinstance(case.body, dict) else None
            # A value beyond the limit stays: it must be refused.
            if isinstance(value, int | float) and value * unit_ms <= ADVANCE_MS_MAX:
                case.body[name] = min(value, DAY_MS // unit_ms)
    if operation_id == "reset" and isinstance(case.body, dict) and case.body.get("ports") == "new":
        case.body["ports"] = "same"
    return case


def names_in(schema: Any) -> Iterator[str]:
    """Yield the names that an OpenAPI document lists anywhere."""
    if isinstance(schema, dict):
        yield from (name for name in schema.get("enum", ()) if isinstance(name, str))
    for part in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(part, dict | list):
            yield from names_in(part)


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


def folded(name: str) -> str:
    return name.replace("_", "").lower()


def has_other_spelling(case: Any) -> bool:
    """Whether a text is a listed name in another spelling: that is accepted, too."""
    names = defaultdict(set)
    for name in names_in(case.operation.schema.raw_schema):
        names[folded(name)].add(name)
    texts = (*texts_in(case.query), *texts_in(case.body))
    return any(names[folded(text)] - {text} for text in texts)


def check_responses(operation: Any, *, is_valid: bool) -> None:
    """Send valid input; or else input that may be invalid, where there is an invalid one."""
    strategy = operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE)
    if not is_valid:
        strategy |= operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)

    @seed(936)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def ask(case: Any) -> None:
        assume(is_valid or not has_other_spelling(case))
        response = tamed(case).call()
        status = response.status_code
        assert status < 500, response.text
        # `is_refusal_of_valid_input` is this check with the documented status 422.
        case.validate_response(response, excluded_checks=[positive_data_acceptance])
        if is_valid:
            assert not is_refusal_of_valid_input(operation, status), (case.body, response.text)

    ask()


def is_refusal_of_valid_input(operation: Any, status: int) -> bool:
    """Whether a status refuses input that fits the schema, without a reason outside of it.

    Names of things that do not exist and conflicts with the state of the cluster depend on more
    than the input, and so does the end of a wait. 422 counts where the operation does not document
    it.
    """
    raw = operation.definition.raw
    reasons = {MISSING, CONFLICT}
    if str(FURTHER_RULES) in raw["responses"]:
        reasons.add(FURTHER_RULES)
    if any(parameter["name"] == "timeout_ms" for parameter in raw.get("parameters", ())):
        reasons.add(TIMEOUT)
    return status >= 400 and status not in reasons


@pytest.mark.slow
def test_every_response_fits_the_openapi_document_and_the_cluster_still_serves(
    served: tuple[str, str],
) -> None:
    bootstrap_servers, url = served
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    tested_operations = set()
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        name = operation.definition.raw["operationId"]
        if name == ENDLESS:
            continue
        check_responses(operation, is_valid=True)
        check_responses(operation, is_valid=False)
        tested_operations.add(name)
    assert tested_operations == {declared.operation_id for declared in OPERATIONS} - UNTESTED

    assert requests.post(f"{url}/v1/reset", timeout=10).status_code == 204
    for node_id, address in enumerate(bootstrap_servers.split(","), start=1):
        host, _, port = address.partition(":")
        advertised = f"{url}/v1/brokers/{node_id}/advertised"  # a reset keeps these addresses
        body: dict[str, str | int] = {"host": host, "port": int(port)}
        assert requests.put(advertised, json=body, timeout=10).status_code == 200
    producer = KafkaProducer(bootstrap_servers=bootstrap_servers)
    assert producer.send("orders", b"1").get(30).offset == 0
    producer.close()
    (record,) = requests.get(f"{url}/v1/topics/orders/records", timeout=10).json()["records"]
    assert record["value"] == {"text": "1"}
