import pytest

from broker.config.synonyms import combine_layers, synonym_names


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("num.partitions", ("num.partitions",)),
        ("log.roll.hours", ("log.roll.ms", "log.roll.hours")),
        ("log.flush.interval.ms", ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")),
        ("log.flush.scheduler.interval.ms", ("log.flush.scheduler.interval.ms",)),
        (
            "listener.name.inside.plain.sasl.jaas.config",
            ("listener.name.inside.plain.sasl.jaas.config", "sasl.jaas.config"),
        ),
        (
            "listener.name.inside.max.connections",
            ("listener.name.inside.max.connections", "max.connections"),
        ),
    ],
)
def test_the_keys_that_set_the_same(name: str, names: tuple[str, ...]) -> None:
    assert synonym_names(name) == names


def test_a_key_removes_its_synonyms_of_lower_layers() -> None:
    start = {"log.retention.hours": "1", "log.retention.minutes": "2", "num.partitions": "3"}
    assert combine_layers(start, {"log.retention.ms": "4"}) == {
        "num.partitions": "3",
        "log.retention.ms": "4",
    }
    assert combine_layers(start, {"num.partitions": "5"}) == {**start, "num.partitions": "5"}
