import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.keys import (
    READ_ONLY,
    Check,
    ConfigError,
    ConfigKey,
    ConfigType,
    Invalid,
    ListRule,
)
from broker.config.values import (
    at_least,
    between,
    each_of,
    elements_of,
    explained_by,
    format_value,
    gzip_level,
    http_url,
    more_than,
    not_empty,
    one_of,
    one_of_ignoring_case,
    one_of_numbers,
    parse_value,
    share_auto_offset_reset,
    split_list,
    throttled_replicas,
    unlimited_or_positive,
)


def key_of(config_type: ConfigType, check: Check | ListRule | None = None) -> ConfigKey:
    return ConfigKey("some.key", config_type, None, check, READ_ONLY, "A key.")


@pytest.mark.parametrize(
    ("config_type", "text", "value"),
    [
        (ConfigType.BOOLEAN, " TRUE ", True),
        (ConfigType.BOOLEAN, "false", False),
        (ConfigType.INT, " 7", 7),
        (ConfigType.INT, "+7", 7),
        (ConfigType.INT, "-2147483648", -(1 << 31)),
        (ConfigType.SHORT, "32767", 32767),
        (ConfigType.LONG, "9223372036854775807", (1 << 63) - 1),
        (ConfigType.DOUBLE, "0.5", 0.5),
        (ConfigType.DOUBLE, "1e-3", 0.001),
        (ConfigType.DOUBLE, "2.", 2.0),
        (ConfigType.DOUBLE, "2.5f", 2.5),
        (ConfigType.DOUBLE, "1e999", math.inf),
        (ConfigType.DOUBLE, "-Infinity", -math.inf),
        (ConfigType.STRING, " a b ", "a b"),
        (ConfigType.CLASS, "org.Example", "org.Example"),
        (ConfigType.LIST, "a , b,c", ("a", "b", "c")),
        (ConfigType.LIST, " ", ()),
        (ConfigType.PASSWORD, " secret ", " secret "),
    ],
)
def test_text_is_parsed_as_its_type(config_type: ConfigType, text: str, value: object) -> None:
    parsed = parse_value(key_of(config_type), text)

    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("config_type", "text"),
    [
        (ConfigType.BOOLEAN, "yes"),
        (ConfigType.BOOLEAN, ""),
        (ConfigType.INT, "2147483648"),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "1.0"),
        (ConfigType.INT, "\u0663"),
        (ConfigType.INT, ""),
        (ConfigType.INT, "9" * 10_000),
        (ConfigType.SHORT, "-32769"),
        (ConfigType.LONG, "9223372036854775808"),
        (ConfigType.DOUBLE, "nan"),
        (ConfigType.DOUBLE, "inf"),
        (ConfigType.DOUBLE, "half"),
    ],
)
def test_text_of_another_type_is_refused_with_the_name_of_the_key(
    config_type: ConfigType, text: str
) -> None:
    with pytest.raises(ConfigError, match=r"configuration some\.key: "):
        parse_value(key_of(config_type), text)


@pytest.mark.parametrize(
    ("config_type", "check", "text", "message"),
    [
        (ConfigType.LONG, None, "x", "x@Not a number of type LONG"),
        (ConfigType.LONG, None, " x ", " x @Not a number of type LONG"),
        (ConfigType.DOUBLE, None, "", "@Not a number of type DOUBLE"),
        (ConfigType.BOOLEAN, None, "maybe", "maybe@Expected value to be either true or false"),
        (ConfigType.INT, at_least(1), " 0", "0@Value must be at least 1"),
        (ConfigType.DOUBLE, between(0, 1), "1e1", "10.0@Value must be no more than 1"),
        (ConfigType.STRING, one_of("a", "b"), "c", "c@String must be one of: a, b"),
        (ConfigType.LIST, each_of("a", "b"), "a,c", "c@String must be one of: a, b"),
        (
            ConfigType.STRING,
            one_of_ignoring_case("A", "B"),
            "c",
            "c@String must be one of (case insensitive): A, B",
        ),
        (ConfigType.INT, gzip_level, "0", "0@Value must be between 1 and 9 or equal to -1"),
        (ConfigType.STRING, not_empty, " ", "@String must be non-empty"),
        (
            ConfigType.LIST,
            throttled_replicas("some.key"),
            "0:x, 1:2",
            (
                "[0:x, 1:2]@some.key must be the literal '*' or a list of replicas in the following"
                " format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."
            ),
        ),
        (
            ConfigType.STRING,
            share_auto_offset_reset,
            "later",
            (
                "later@Invalid value `later` for configuration share.auto.offset.reset. The value"
                " must be either 'earliest', 'latest' or of the format"
                " 'by_duration:<PnDTnHnMn.nS>'."
            ),
        ),
    ],
)
def test_a_refusal_has_the_words_of_kafka(
    config_type: ConfigType, check: Check | None, text: str, message: str
) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_value(key_of(config_type, check), text)

    shown, _, reason = message.partition("@")
    assert str(refusal.value) == f"Invalid value {shown} for configuration some.key: {reason}"


@pytest.mark.parametrize(
    ("rule", "text", "message"),
    [
        (
            ListRule(is_empty_allowed=False),
            " ",
            (
                "Configuration 'some.key' must not be empty. Valid values include: any non-empty"
                " value"
            ),
        ),
        (
            ListRule(("a", "b"), is_empty_allowed=False),
            "",
            "Configuration 'some.key' must not be empty. Valid values include: [a, b]",
        ),
        (ListRule(), "a,,b", "Configuration 'some.key' values must not be empty."),
        (ListRule(("a",)), ",c", "Configuration 'some.key' values must not be empty."),
        (
            ListRule(("a", "b")),
            "a,c,",
            "Invalid value c for configuration some.key: String must be one of: a, b",
        ),
    ],
)
def test_a_refused_list_has_the_words_of_kafka(rule: ListRule, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_value(key_of(ConfigType.LIST, rule), text)

    assert str(refusal.value) == message


@given(elements=st.lists(st.sampled_from(["a", "b", "c"])))
def test_an_element_of_a_list_counts_once(elements: list[str]) -> None:
    parsed = parse_value(key_of(ConfigType.LIST, ListRule()), " , ".join(elements))

    assert len(set(parsed)) == len(parsed)
    assert set(parsed) == set(elements)
    assert sorted(parsed, key=elements.index) == list(parsed)


def test_elements_are_those_of_a_list_or_of_its_text() -> None:
    assert elements_of(("a", "b")) == elements_of("a, b") == ("a", "b")
    assert elements_of(None) == ()


def test_a_refused_secret_is_not_repeated() -> None:
    def refuse(value: object) -> Invalid:
        return Invalid(value, "too short")

    with pytest.raises(ConfigError) as refusal:
        parse_value(key_of(ConfigType.PASSWORD, refuse), "hunter2")

    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    ("check", "accepted", "refused"),
    [
        (at_least(1), [1, 2], [0, -1]),
        (between(1, 8), [1, 8], [0, 9]),
        (one_of("a", "b"), ["a", "b"], ["c", ""]),
        (one_of_numbers(1, 5), [1, 5], [0, 2, 6]),
        (each_of("a", "b"), [(), ("a",), ("b", "a")], [("a", "c")]),
        (unlimited_or_positive, [-1, -7, 1], [0]),
        (gzip_level, [-1, 1, 9], [-2, 0, 10]),
        (
            http_url,
            ["http://registry:8081", "https://[::1]/api"],
            ["", "registry:8081", "file:///etc/passwd", "http://", "http://a:b@c", "http://a:x"],
        ),
        (one_of_ignoring_case("A"), ["a", "A"], ["b"]),
        (more_than(0), [0.1], [0.0]),
        (explained_by(lambda value: value or None), [""], ["wrong"]),
        (
            share_auto_offset_reset,
            ["earliest", "latest", "by_duration:PT1H", "by_duration:P2DT0.5S"],
            ["", "by_duration:", "by_duration:P", "by_duration:PT-1H", "by_duration:1h"],
        ),
        (
            throttled_replicas("some.key"),
            [(), ("*",), ("0:1",), ("0:1", "10:2"), ("0:1", "")],
            [("0",), ("*", "0:1"), ("a:1",), ("0:1:2",)],
        ),
    ],
)
def test_a_check_returns_a_reason_only_for_invalid_values(
    check: Check, accepted: list[object], refused: list[object]
) -> None:
    for value in accepted:
        assert check(value) is None
    for value in refused:
        assert check(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        (True, "true"),
        (False, "false"),
        (0.5, "0.5"),
        (-1, "-1"),
        (("a", "b"), "a,b"),
        (10.0, "10.0"),
        (1e7, "1.0E7"),
        (-0.00025, "-2.5E-4"),
        (sys.float_info.max, "1.7976931348623157E308"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
    ],
)
def test_a_value_is_formatted_as_kafka_writes_it(value: object, text: str | None) -> None:
    assert format_value(value) == text


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_every_long_survives_formatting_and_parsing(number: int) -> None:
    assert parse_value(key_of(ConfigType.LONG), format_value(number) or "") == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_survives_formatting_and_parsing(number: float) -> None:
    assert parse_value(key_of(ConfigType.DOUBLE), format_value(number) or "") == number


@given(st.text(max_size=20), st.sampled_from(ConfigType))
def test_any_text_is_a_value_or_a_refusal_with_that_text(
    text: str, config_type: ConfigType
) -> None:
    key = key_of(config_type)
    refusal = ""
    try:
        value = parse_value(key, text)
    except ConfigError as error:
        refusal = str(error)
    else:
        again = parse_value(key, format_value(value) or "")
        assert format_value(again) == format_value(value)  # NaN is not equal to itself
    assert not refusal or text in refusal or config_type is ConfigType.PASSWORD


def test_a_refusal_repeats_no_more_than_the_beginning_of_a_value() -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_value(key_of(ConfigType.BOOLEAN), "x" * 32_767)

    assert len(str(refusal.value)) < 1000


def test_a_list_keeps_empty_elements_between_commas() -> None:
    assert split_list("a,,b") == ("a", "", "b")
