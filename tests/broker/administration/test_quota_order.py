"""Orders that Apache Kafka 4.1.0 answered with; tests/interop/test_admin_answers.py asks it."""

from broker.administration.quota_order import (
    entity_text,
    ordered_entities,
    ordered_keys,
    ordered_names,
    requested_names,
)
from quotas.entities import make_entity


def test_entities_come_in_kafkas_order() -> None:
    entities = [
        make_entity([("user", f"order-{n}"), ("client-id", None if n % 3 else "app")])
        for n in range(15)
    ]
    ordered = ordered_entities(entities)
    names = [dict(entity)["user"] or "" for entity in ordered]
    assert " ".join(name[6:] for name in names) == "3 4 5 14 6 1 12 0 2 13 7 8 9 10 11"


def test_keys_come_in_kafkas_order() -> None:
    rates = ["request_percentage", "controller_mutation_rate", "producer_byte_rate"]
    assert ordered_keys([*rates, "consumer_byte_rate"]) == [
        "producer_byte_rate",
        "consumer_byte_rate",
        "controller_mutation_rate",
        "request_percentage",
    ]


def test_the_client_id_of_an_entity_comes_before_its_user() -> None:
    entity = make_entity([("user", "alice"), ("client-id", None)])
    assert ordered_names(entity) == [("client-id", None), ("user", "alice")]
    requested = requested_names(entity)
    assert entity_text(requested) == "ClientQuotaEntity(entries={client-id=null, user=alice})"


def test_types_of_the_same_bucket_keep_the_order_of_the_request() -> None:
    assert requested_names([("", None), ("client-id", "a")]) == (("", None), ("client-id", "a"))
    assert requested_names([("client-id", "a"), ("", None)]) == (("client-id", "a"), ("", None))


def test_an_address_comes_before_a_user_in_an_alteration_only() -> None:
    entity = make_entity([("user", "a"), ("ip", "1.1.1.1")])
    in_description = [entity_type for entity_type, _name in ordered_names(entity)]
    in_alteration = [entity_type for entity_type, _name in requested_names(entity)]
    assert (in_description, in_alteration) == (["ip", "user"], ["user", "ip"])
