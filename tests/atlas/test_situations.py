"""Every file of `atlas/situations/`: a broker takes it, and a workload reads its arguments."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

import broker.handlers  # noqa: F401 - registers every API, for the rules
from atlas.adapters.adapter import COMMANDS
from atlas.situation import (
    API_FAMILIES,
    Situation,
    load_situations,
    parse_situation,
    situation_ids,
)
from atlas.steps import HEAL, Reply, Session
from atlas.workloads import WORKLOADS
from broker.config.broker_config import BrokerConfig
from broker.config.topic_config import validate_topic_overrides
from broker.faults.rule import rules_from_json
from mock_kafka.arguments import QuotaValues
from scripts import atlas_error_situations, atlas_situations_table

ENTITIES = {"user", "client_id", "ip"}


@cache
def situations() -> Mapping[str, Situation]:
    return load_situations()


class Recorded(dict[str, Any]):
    """Arguments that remember which of them were asked for."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return super().__getitem__(name)

    def items(self) -> Any:
        self.asked |= set(self)
        return super().items()


def asked_by(situation: Situation) -> set[str]:
    """Return the arguments that the situation's workload reads when all goes well."""
    arguments = Recorded(situation.arguments)
    partitions = {name: topic.partitions for name, topic in situation.topics.items()}
    session = Session(arguments, partitions, situation.records)
    steps = WORKLOADS[situation.workload](session)
    step = next(steps)
    number = 0
    record = {"topic": "orders", "partition": 0, "offset": 0, "key": None, "value": "0"}
    while True:
        number += step.name != HEAL
        session.delivered[number] = True
        values = {"records": [record] * 10} if step.name == "poll" else {}
        try:
            step = steps.send(Reply(number, "done", values))
        except StopIteration:
            return arguments.asked


def test_there_are_many_and_each_family_has_some() -> None:
    families = Counter(one.id.partition("-")[0] for one in situations().values())
    assert len(situations()) >= 300
    assert set(families) >= {"KIP", "BROKER", "COORDINATOR", "NETWORK", "AUTH", "LOG", "TXN", "OLD"}
    kips = {one.family for one in situations().values() if one.id.startswith("KIP-")}
    numbers = ("091", "219", "345", "394", "599", "758", "848", "890", "932", "936", "1071", "1242")
    assert kips == {f"KIP-{number}" for number in numbers}


def test_titles_and_ids_are_different_in_any_case() -> None:
    assert len({one.title for one in situations().values()}) == len(situations())
    assert len({name.lower() for name in situation_ids()}) == len(situations())


def test_the_broker_takes_every_rule() -> None:
    for situation in situations().values():
        rules = rules_from_json([dict(rule) for rule in situation.faults])
        assert len(rules) == len(situation.faults), situation.id


def test_a_rule_that_the_broker_refuses_would_be_found() -> None:
    with pytest.raises(ValueError, match="drop"):
        rules_from_json([{"api": "Produce", "drop": "now"}])


def test_rules_name_topics_that_are_there() -> None:
    for situation in situations().values():
        for rule in situation.faults:
            if "topic" in rule:
                topic = situation.topics[rule["topic"]]
                assert rule.get("partition", 0) < topic.partitions, situation.id
            for action in ("leader", "coordinator"):
                if rule.get(action) == "next":
                    assert situation.brokers > 1, situation.id


def test_the_broker_knows_every_key_and_quota() -> None:
    for situation in situations().values():
        config = {name: str(value) for name, value in situation.config.items()}
        if situation.release is not None:
            config["broker.api.versions"] = situation.release
        BrokerConfig.from_overrides(config)
        for topic in situation.topics.values():
            validate_topic_overrides({name: str(value) for name, value in topic.config.items()})
        for quota in situation.quotas:
            assert set(quota) - ENTITIES - {"shadow"} <= set(QuotaValues.__annotations__), (
                situation.id
            )


def test_every_argument_is_read_by_its_workload() -> None:
    unread = {
        situation.id: sorted(set(situation.arguments) - asked_by(situation))
        for situation in situations().values()
    }
    assert {name: names for name, names in unread.items() if names} == {}


def test_an_argument_that_no_workload_reads_would_be_found() -> None:
    text = (
        "id: KIP-091-1\ntitle: Nothing happens here\narea: producer\nworkload: produce\n"
        "arguments: {record: 3}\nexpect: {}\n"
    )
    assert "record" not in asked_by(parse_situation(text, "KIP-091-1.yaml"))


def test_calls_of_admin_clients_are_commands() -> None:
    calls = {one.arguments.get("call") for one in situations().values() if one.workload == "admin"}
    assert calls
    assert calls <= COMMANDS


def test_areas_fit_workloads() -> None:
    areas: dict[str, set[str]] = {}
    for situation in situations().values():
        areas.setdefault(situation.workload, set()).add(situation.area)
    assert {workload: found for workload, found in areas.items() if len(found) > 1} == {}
    assert set(areas) == set(WORKLOADS)


def sources() -> Iterator[tuple[str, str, str]]:
    for situation in situations().values():
        for source in situation.sources:
            yield source.kind, source.name, source.url


def test_sources_have_the_address_of_their_kind() -> None:
    for kind, name, url in set(sources()):
        if kind == "KIP":
            number = name.removeprefix("KIP-")
            wiki = "https://cwiki.apache.org/confluence/display/KAFKA/"
            assert url.startswith((f"{wiki}KIP-{number}", f"{wiki}KIP-0{number}"))
        elif kind == "class":
            assert url.startswith("https://github.com/apache/kafka/blob/trunk/clients/src/main/")
            assert url.endswith(f"/{name}.java")
        else:
            assert url.startswith("https://kafka.apache.org/"), url


def test_sources_say_it_in_a_line() -> None:
    for situation in situations().values():
        for source in situation.sources:
            assert len(source.says) <= 120, situation.id


def test_the_situations_of_the_error_matrix_are_fresh() -> None:
    stale = []
    for content in atlas_error_situations.situations():
        path = atlas_error_situations.TARGET / f"{content['id']}.yaml"
        if path.read_text(encoding="utf-8") != atlas_error_situations.text_of(content):
            stale.append(content["id"])
    assert stale == [], "run: python -m scripts.atlas_error_situations"


def test_errors_of_the_matrix_belong_to_their_api() -> None:
    for content in atlas_error_situations.situations():
        family = content["id"].partition("-")[0]
        assert API_FAMILIES[family] in {rule["api"] for rule in content["faults"]}


@pytest.mark.slow
def test_the_page_is_fresh() -> None:
    page = atlas_situations_table.TARGET.read_text(encoding="utf-8")
    assert page == atlas_situations_table.render(), "run: python -m scripts.atlas_situations_table"
