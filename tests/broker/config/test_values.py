import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.config.keys import READ_ONLY, Check, ConfigError, ConfigKey, ConfigType
from broker.config.values import (
    at_least,
    between,
    each_of,
    format_value,
    one_of,
    one_of_numbers,
    parse_value,
    split_list,
    throttled_replicas,
    unlimited_or_positive,
)


def key_of(config_type: ConfigType, check: Check | None = None) -> ConfigKey:
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
        (ConfigType.DOUBLE, "1e999"),
        (ConfigType.DOUBLE, "half"),
    ],
)
def test_text_of_another_type_is_refused_with_the_name_of_the_key(
    config_type: ConfigType, text: str
) -> None:
    with pytest.raises(ConfigError, match=r"configuration some\.key: "):
        parse_value(key_of(config_type), text)


def test_a_refusal_names_value_and_reason_in_one_line() -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_value(key_of(ConfigType.INT, at_least(1)), "0")

    assert str(refusal.value) == "Invalid value 0 for configuration some.key: must be at least 1"


def test_a_refused_secret_is_not_repeated() -> None:
    def refuse(_value: object) -> str:
        return "too short"

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
        (
            throttled_replicas,
            [(), ("*",), ("0:1",), ("0:1", "10:2")],
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
    [(None, None), (True, "true"), (False, "false"), (0.5, "0.5"), (-1, "-1"), (("a", "b"), "a,b")],
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
def test_any_text_is_a_value_or_one_refusal_of_one_line(text: str, config_type: ConfigType) -> None:
    key = key_of(config_type)
    refusal = ""
    try:
        value = parse_value(key, text)
    except ConfigError as error:
        refusal = str(error)
    else:
        assert parse_value(key, format_value(value) or "") == value
    assert len(refusal.splitlines()) <= 1


def test_a_refusal_repeats_no_more_than_the_beginning_of_a_value() -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_value(key_of(ConfigType.BOOLEAN), "x" * 32_767)

    assert len(str(refusal.value)) < 300


def test_a_list_keeps_empty_elements_between_commas() -> None:
    assert split_list("a,,b") == ("a", "", "b")
