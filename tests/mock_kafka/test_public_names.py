"""`mock_kafka` has every name that users import, and loads what a name needs when it is used."""

import runpy
import subprocess
import sys
import typing
from types import ModuleType

import pytest

import client
import mock_kafka
from mock_kafka import Delivered, MockKafka, NewTopic, Producer, ProducerSettings, open_admin

PACKAGE: ModuleType = mock_kafka
"""Type checkers see no `__all__` in it."""
INSIDES = {"broker", "client", "loadgen", "producer_state", "quotas", "asyncio"}


@pytest.mark.parametrize("name", PACKAGE.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(mock_kafka, name) is not None


def test_the_public_names_of_the_client_are_those_of_mock_kafka() -> None:
    assert set(client.PUBLIC_NAMES) < set(PACKAGE.__all__)
    for name in client.PUBLIC_NAMES:
        assert getattr(mock_kafka, name) is getattr(client, name)


@pytest.mark.parametrize("package", [client, mock_kafka])
def test_type_checkers_see_the_public_names_and_no_others(
    package: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in package.__all__:
        getattr(package, name)  # the modules of the names are imported as users import them
    at_run_time = runpy.run_path(str(package.__file__))
    monkeypatch.setattr(typing, "TYPE_CHECKING", True)
    checked = runpy.run_path(str(package.__file__))
    assert sorted(checked.keys() - at_run_time.keys()) == package.__all__


def test_a_star_import_gives_every_public_name() -> None:
    found: dict[str, object] = {}
    exec("from mock_kafka import *", found)
    assert found.keys() - {"__builtins__"} == set(PACKAGE.__all__)


@pytest.mark.parametrize("package", [client, mock_kafka])
def test_another_name_is_an_attribute_error(package: object) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'KafkaProducer'"):
        _ = package.KafkaProducer  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("used", "loaded"),
    [
        ("__doc__", set()),
        ("__all__", {"client"}),
        ("ControlError", set()),
        ("NewTopic", {"client"}),
        ("open_admin", {"client"}),
        ("MockKafka", set()),
        ("Producer", {"asyncio", "client"}),
    ],
)
def test_a_name_loads_what_it_needs(used: str, loaded: set[str]) -> None:
    program = (
        f"import sys, mock_kafka; mock_kafka.{used};"
        "print(*{each.partition('.')[0] for each in sys.modules})"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert set(said.stdout.split()) & INSIDES == loaded


@pytest.mark.slow
async def test_the_producer_and_the_admin_client_work_under_their_public_names() -> None:
    with MockKafka() as kafka:
        with open_admin(kafka.bootstrap_servers) as admin:
            errors = admin.create_topics([NewTopic("orders", partition_count=1)])
            assert errors == {"orders": None}
        async with Producer(kafka.bootstrap_servers, ProducerSettings(linger_ms=1)) as producer:
            delivered: Delivered = await (await producer.send("orders", b"coffee"))
        assert delivered.offset == 0
