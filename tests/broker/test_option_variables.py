"""Environment variables are the defaults of options."""

import re
from pathlib import Path

import pytest

from broker.cli import build_parser, serve_options
from broker.option_variables import keys_in, variable_of

PAGE = Path(__file__).parent.parent.parent / "docs" / "containers.md"
VALUES = {
    "--host": "0.0.0.0",
    "--advertised-host": "kafka",
    "--port": "19092",
    "--brokers": "3",
    "--first-node-id": "0",
    "--config": "/server.properties",
    "--admin-port": "19099",
    "--admin-host": "::",
    "--admin-allowed-host": "kafka, other",
    "--faults": "/faults.json",
    "--snapshot": "/setup.json",
    "--strict": "true",
    "--log-level": "debug",
    "--log-format": "json",
    "--tls": "true",
    "--sasl": "true",
}
FLAGS = ("--strict", "--tls", "--sasl")


def serve_parser_options() -> set[str]:
    text = " ".join(build_parser().parse_args(["serve"]).parser.format_usage().split())
    return set(re.findall(r"--[\w-]+", text))


def test_every_option_has_a_variable_with_the_same_effect() -> None:
    # The program that starts a broker says whether it ends with it, no environment does.
    assert serve_parser_options() - {"--until-stdin-closes"} == VALUES.keys()
    names = {variable_of(option): text for option, text in VALUES.items()}
    arguments = [
        word
        for option, text in VALUES.items()
        for word in ((option,) if option in FLAGS else (option, text))
    ]
    arguments[arguments.index("kafka, other")] = "kafka"
    arguments += ["--admin-allowed-host", "other"]
    from_variables = vars(build_parser(names).parse_args(["serve"]))
    from_options = vars(build_parser().parse_args(["serve", *arguments]))
    del from_variables["parser"], from_options["parser"]
    assert from_variables == from_options


def test_the_page_about_containers_names_every_variable() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in map(variable_of, VALUES) if f"`{name}`" not in page] == []


def test_an_option_overrides_its_variable_and_an_empty_variable_is_ignored() -> None:
    parser = build_parser({"MOCK_KAFKA_PORT": "1", "MOCK_KAFKA_HOST": ""})
    parsed = parser.parse_args(["serve", "--port", "2"])
    assert (parsed.host, parsed.port) == ("127.0.0.1", 2)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("MOCK_KAFKA_TLS", "1", "MOCK_KAFKA_TLS: '1' is not one of true, false"),
        ("MOCK_KAFKA_PORT", "x", "MOCK_KAFKA_PORT: 'x' is not a port from 0 to 65535"),
        ("MOCK_KAFKA_LOG_LEVEL", "loud", "MOCK_KAFKA_LOG_LEVEL: 'loud' is not one of debug, info"),
    ],
)
def test_an_invalid_variable_is_a_usage_error_that_names_it(
    name: str, text: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser({name: text})
    assert ended.value.code == 2
    assert reason in capsys.readouterr().err


def test_keys_are_written_as_in_the_environment_of_kafkas_image() -> None:
    environment = {
        "MOCK_KAFKA_CONFIG_NUM_PARTITIONS": "6",
        "MOCK_KAFKA_CONFIG_BROKER_2_BROKER_RACK": "b",
        "MOCK_KAFKA_CONFIG_A___B__C": "d",
        "MOCK_KAFKA_CONFIG": "/server.properties",
        "HOME": "/",
    }
    expected = {"num.partitions": "6", "broker.2.broker.rack": "b", "a-b_c": "d"}
    assert keys_in(environment) == expected


def test_an_argument_overrides_a_key_of_the_environment() -> None:
    environment = {
        "MOCK_KAFKA_CONFIG_NUM_PARTITIONS": "6",
        "MOCK_KAFKA_CONFIG_DEFAULT_REPLICATION_FACTOR": "2",
    }
    parsed = build_parser(environment).parse_args(["serve", "-o", "num.partitions=9"])
    config = serve_options(parsed, environment).config
    assert (config["num.partitions"], config["default.replication.factor"]) == (9, 2)
