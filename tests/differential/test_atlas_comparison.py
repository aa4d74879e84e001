import pytest

from atlas.situation import Expectation, OnKafka, Situation, Topic, load_situations
from tests.differential.atlas_comparison import Needs, Pair, Seen, by_needs, compare


def situation(name: str, on_kafka: OnKafka | None, **fields: object) -> Situation:
    values = {"topics": {"orders": Topic()}, "expect": Expectation(), **fields}
    return Situation(
        id=name,
        title="a situation of a test",
        area="producer",
        workload="produce",
        on_kafka=on_kafka,
        **values,  # type: ignore[arg-type]
    )


def test_situations_share_a_cluster_only_if_they_do_not_disturb_each_other() -> None:
    nothing = OnKafka(by="nothing")
    given = [
        situation("LOG-1", nothing),
        situation("LOG-2", nothing),
        situation("LOG-3", OnKafka(by="config", config={"delete.topic.enable": False})),
        situation("LOG-4", OnKafka(by="kill", broker=2), brokers=2),
        situation("LOG-5", nothing, quotas=({"user": "ANONYMOUS", "producer_byte_rate": 1},)),
        situation("LOG-6", None),
    ]
    groups = {needs: [one.id for one in chosen] for needs, chosen in by_needs(given).items()}
    assert groups == {
        Needs(1, (), is_exclusive=False): ["LOG-1", "LOG-2"],
        Needs(1, (("delete.topic.enable", "false"),), is_exclusive=False): ["LOG-3"],
        Needs(2, (), is_exclusive=True): ["LOG-4"],
        Needs(1, (), is_exclusive=True): ["LOG-5"],
    }


def test_a_pair_agrees_only_if_all_that_was_seen_is_the_same() -> None:
    kept = Seen("kept", "success", None, None, usable=True)
    assert Pair("aiokafka", "LOG-1", 1, kept, kept).agrees
    assert not Pair("aiokafka", "LOG-1", 1, kept, kept._replace(usable=False)).agrees
    assert not Pair("aiokafka", "LOG-1", 1, None, None, "it has no producer").agrees
    assert (
        str(kept._replace(error="Gone", error_class="fatal"))
        == "kept, success Gone (fatal), usable"
    )


def test_a_kafka_that_does_not_start_leaves_the_other_situations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(needs: Needs) -> None:
        raise AssertionError(f"no Kafka for {needs.config}")

    monkeypatch.setattr("tests.differential.atlas_comparison.apache_target", fail)
    given = load_situations(["LOG-1", "AUTH-30"])
    shown: list[Pair] = []
    pairs = compare(("kafka-python", "aiokafka"), given, jobs=1, show=shown.append)
    assert pairs == shown
    assert {(pair.client, pair.situation) for pair in pairs} == {
        (client, situation) for client in ("kafka-python", "aiokafka") for situation in given
    }
    assert all("no Kafka for" in pair.reason for pair in pairs)
    assert not any(pair.agrees for pair in pairs)
