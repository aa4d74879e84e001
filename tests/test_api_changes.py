"""A change of the public API that breaks users is found by its name."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scripts import api_changes
from scripts.openapi_changes import breaking_changes as openapi_breaking_changes

pytestmark = pytest.mark.slow
STUB = "python_api.pyi"


@pytest.fixture(scope="module")
def now() -> dict[str, str]:
    return api_changes.current()


def document(now: dict[str, str]) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(now["openapi.json"])
    return parsed


def test_the_same_api_breaks_nobody(now: dict[str, str]) -> None:
    assert api_changes.breaking_changes(now, now) == []


def test_what_users_name_is_in_the_surface(now: dict[str, str]) -> None:
    names = now["names.txt"].splitlines()
    for name in (
        "command serve",
        "option mock-kafka serve --admin-port",
        "option mock-kafka serve --log-level warning",
        "variable MOCK_KAFKA_COMMAND",
        "variable MOCK_KAFKA_ADMIN_PORT",
        "key producer.state.batches: INT",
        "client go: Kafka.DropResponse",
        "client java: MockKafka.start",
        "client rust: MockKafka.create_topic",
        "client node: mock_kafka.dropResponse",
        "client node: mock_kafka.fail",  # its declaration has several lines
        "client node: mock_kafka.respond",
    ):
        assert name in names, name
    assert "class When(" in now[STUB]
    assert "def drop_response(" in now[STUB]


@pytest.mark.parametrize(
    ("written", "changed", "expected"),
    [
        ("def create_topic(", "def make_topic(", "create_topic: Public object was removed"),
        ("brokers: int=1", "nodes: int=1", "MockKafka.__init__: Parameter was removed"),
        ("host: str='127.0.0.1'", "host: str", "MockKafka.__init__: Parameter is now required"),
        ("    CREATE_TOKENS =", "    NEW_TOKENS =", "CREATE_TOKENS: Public object was removed"),
        ("class NewTopic(", "class TopicToCreate(", "NewTopic: Public object was removed"),
    ],
)
def test_a_broken_python_name_is_found(
    now: dict[str, str], written: str, changed: str, expected: str
) -> None:
    assert written in now[STUB]
    found = api_changes.python_changes(now[STUB], now[STUB].replace(written, changed))
    assert any(expected in line for line in found), found


def test_a_new_method_breaks_nobody(now: dict[str, str]) -> None:
    more = now[STUB].replace("    def reset(", "    def renew(self): ...\n    def reset(", 1)
    assert more != now[STUB]
    assert api_changes.python_changes(now[STUB], more) == []


def test_a_lost_option_is_found(now: dict[str, str]) -> None:
    option = "option mock-kafka serve --admin-port"
    changed = {**now, "names.txt": now["names.txt"].replace(f"{option}\n", "")}
    assert api_changes.breaking_changes(now, changed) == [f"{option} is gone"]
    assert api_changes.breaking_changes(changed, now) == []


def test_a_lost_operation_is_found(now: dict[str, str]) -> None:
    old = document(now)
    new = copy.deepcopy(old)
    del new["paths"]["/v1/faults"]["post"]
    assert openapi_breaking_changes(old, new) == ["POST /v1/faults is gone"]
    assert openapi_breaking_changes(new, old) == []


def test_a_lost_and_a_required_field_of_fault_rules_are_found(now: dict[str, str]) -> None:
    old = document(now)
    new = copy.deepcopy(old)
    rule = new["components"]["schemas"]["FaultRule"]
    del rule["properties"]["times"]
    rule["required"] = [*rule.get("required", ()), "topic"]
    found = openapi_breaking_changes(old, new)
    assert any(".times is gone" in line for line in found), found
    assert any(".topic is required" in line for line in found), found


@pytest.mark.parametrize(
    ("old", "new", "in_request", "in_response"),
    [
        ({"type": "integer"}, {"type": "string"}, 1, 1),
        ({"type": "integer"}, {"type": "number"}, 0, 1),
        ({"type": "string"}, {"type": ["string", "null"]}, 0, 1),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, 1, 0),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, 0, 0),
        ({"minimum": 0}, {"minimum": 1}, 1, 0),
        ({"maximum": 1}, {"maximum": 2}, 0, 0),
        ({"items": {"type": "string"}}, {"items": {"type": "boolean"}}, 1, 1),
        ({"properties": {}}, {"properties": {"a": {}}, "required": ["a"]}, 1, 0),
        ({"properties": {"a": {}}, "required": ["a"]}, {"properties": {"a": {}}}, 0, 1),
    ],
)
def test_a_schema_breaks_those_who_send_or_read_it(
    old: dict[str, Any], new: dict[str, Any], in_request: int, in_response: int
) -> None:
    def described(schema: dict[str, Any], side: str) -> dict[str, Any]:
        content = {"application/json": {"schema": schema}}
        operation: dict[str, Any] = {"operationId": "o", "responses": {}}
        if side == "request":
            operation["requestBody"] = {"content": content}
        else:
            operation["responses"] = {"200": {"content": content}}
        return {"paths": {"/": {"post": operation}}, "components": {"schemas": {}}}

    for side, count in (("request", in_request), ("response", in_response)):
        found = openapi_breaking_changes(described(old, side), described(new, side))
        assert len(found) == count, (side, found)


@pytest.mark.parametrize(
    ("released", "version", "expected"),
    [
        (None, "0.1.0", True),
        ("0.1.0", "0.1.1", False),
        ("0.1.0", "0.2.0", True),
        ("1.2.0", "1.3.0", False),
        ("1.2.0", "2.0.0", True),
    ],
)
def test_a_version_allows_breaking_changes(
    released: str | None, version: str, expected: bool
) -> None:
    assert api_changes.may_break(released, version) is expected


def test_a_breaking_change_without_a_version_for_it_fails(
    tmp_path: Path, now: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "api"
    shutil.copytree(api_changes.FOLDER, folder)
    for name, text in now.items():
        (folder / name).write_text(text, encoding="utf-8")
    with (folder / "names.txt").open("a", encoding="utf-8") as file:
        file.write("option mock-kafka serve --planted\n")
    (folder / "release.json").write_text('{"version": "0.1.0"}', encoding="utf-8")
    assert api_changes.main([], folder) == 1
    assert "option mock-kafka serve --planted is gone" in capsys.readouterr().out
    (folder / "release.json").write_text('{"version": null}', encoding="utf-8")
    assert api_changes.main([], folder) == 0
