import pytest

from broker.config.synthetic_keys import (
    ENDLESS,
    SYNTHETIC_KEYS,
    Distribution,
    fixed_key_problem,
    key_distribution,
    mean_bytes,
    value_distribution,
)
from broker.config.topic_config import validate_topic_overrides

MADE = {"log.records": "synthetic"}


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("0", "fixed", (0,)),
        ("100", "fixed", (100,)),
        ("uniform(10, 20)", "uniform", (10, 20)),
        ("lognormal(100,0.5)", "lognormal", (100, 0.5)),
        ("lognormal(100,1)", "lognormal", (100, 1)),
    ],
)
def test_sizes_of_values(text: str, name: str, parameters: tuple[float, ...]) -> None:
    assert value_distribution(text) == Distribution(name, parameters)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1.5",
        "-1",
        "1048577",
        "uniform(2,1)",
        "uniform(1)",
        "uniform(1.5,2)",
        "uniform(0,1048577)",
        "lognormal(0,1)",
        "lognormal(100,11)",
        "lognormal(100)",
        "uniform(1,2",
        "zipf(3,1)",
        "9" * 30,
    ],
)
def test_other_texts_are_no_sizes(text: str) -> None:
    assert value_distribution(text) is None
    problem = validate_topic_overrides(MADE | {"synthetic.value.size": text})
    assert problem is not None
    assert problem.startswith(f"Invalid value {text} for configuration synthetic.value.size: ")


@pytest.mark.parametrize("text", ["null", "counter", "uniform(5)", "zipf(5,1)", "zipf(5, 0.9)"])
def test_keys(text: str) -> None:
    assert key_distribution(text) is not None
    assert validate_topic_overrides(MADE | {"synthetic.key": text}) is None


@pytest.mark.parametrize(
    "text",
    ["", "none", "null(1)", "uniform(0)", "uniform(1,2)", "zipf(5)", "zipf(5,0)", "zipf(0,1)"],
)
def test_other_texts_are_no_keys(text: str) -> None:
    assert key_distribution(text) is None
    problem = validate_topic_overrides(MADE | {"synthetic.key": text})
    assert problem is not None
    assert "zipf(1000,1.1)" in problem


def test_mean_sizes() -> None:
    assert mean_bytes(Distribution("fixed", (7,))) == 7
    assert mean_bytes(Distribution("uniform", (10, 20))) == 15
    assert mean_bytes(Distribution("lognormal", (100, 0))) == 100
    assert 160 < mean_bytes(Distribution("lognormal", (100, 1))) < 170
    assert mean_bytes(Distribution("lognormal", (100, 10))) == 1 << 20


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ({"synthetic.seed": "1"}, "synthetic.seed needs log.records=synthetic"),
        (
            {"log.records": "discarded", "synthetic.key": "null"},
            "synthetic.key needs log.records=synthetic",
        ),
        (
            MADE | {"synthetic.log.start.offset": "5", "synthetic.log.end.offset": "4"},
            "synthetic.log.start.offset (5) > synthetic.log.end.offset (4)",
        ),
        (
            MADE | {"cleanup.policy": "delete,compact"},
            "cleanup.policy=compact is not for a topic with log.records=synthetic",
        ),
        (
            MADE | {"synthetic.value.size": "100000"},
            (
                "synthetic.batch.records (100) with such values makes batches of 10000000 bytes,"
                " and 8388608 is the most"
            ),
        ),
        (
            {"log.records": "gone"},
            (
                "Invalid value gone for configuration log.records: String must be one of: stored,"
                " discarded, synthetic"
            ),
        ),
    ],
)
def test_what_cannot_be(overrides: dict[str, str], problem: str) -> None:
    assert validate_topic_overrides(overrides) == problem


@pytest.mark.parametrize(
    "overrides",
    [
        {"log.records": "stored"},
        {"log.records": "discarded", "cleanup.policy": "compact"},
        MADE,
        MADE | {"synthetic.log.start.offset": str(ENDLESS)},
        MADE | {"synthetic.batch.records": "8", "synthetic.value.size": "1048576"},
    ],
)
def test_what_can_be(overrides: dict[str, str]) -> None:
    assert validate_topic_overrides(overrides) is None


def test_the_keys_stay_as_they_are() -> None:
    before = MADE | {"synthetic.seed": "1", "retention.ms": "5"}
    assert fixed_key_problem(before, before | {"retention.ms": "6"}) is None
    assert fixed_key_problem({}, {"retention.ms": "6"}) is None
    for after in (before | {"synthetic.seed": "2"}, MADE, before | {"synthetic.key": "counter"}):
        problem = fixed_key_problem(before, after)
        assert problem is not None
        assert problem.endswith("is set when a topic is created, and cannot be changed")


def test_no_topic_without_them_is_described_with_them() -> None:
    assert all(key.is_hidden and key.is_mock_only for key in SYNTHETIC_KEYS)
