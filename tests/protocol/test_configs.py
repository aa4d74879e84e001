"""The numbers are those on the wire."""

from kafka.admin import ConfigResourceType

from protocol.configs import ConfigOperation, ConfigSource, ResourceType


def test_resource_types_have_kafkas_numbers() -> None:
    for name in ("TOPIC", "BROKER", "BROKER_LOGGER", "CLIENT_METRICS", "GROUP"):
        assert ResourceType[name] == ConfigResourceType[name].value


def test_sources_have_kafkas_numbers() -> None:
    # DescribeConfigsResponse.ConfigSource, with the names of ConfigEntry.ConfigSource (4.1.0).
    assert {source.name: source.value for source in ConfigSource} == {
        "UNKNOWN": 0,
        "DYNAMIC_TOPIC_CONFIG": 1,
        "DYNAMIC_BROKER_CONFIG": 2,
        "DYNAMIC_DEFAULT_BROKER_CONFIG": 3,
        "STATIC_BROKER_CONFIG": 4,
        "DEFAULT_CONFIG": 5,
        "DYNAMIC_BROKER_LOGGER_CONFIG": 6,
        "DYNAMIC_CLIENT_METRICS_CONFIG": 7,
        "DYNAMIC_GROUP_CONFIG": 8,
    }


def test_operations_have_kafkas_numbers() -> None:
    assert [operation.name for operation in sorted(ConfigOperation)] == [
        "SET",
        "DELETE",
        "APPEND",
        "SUBTRACT",
    ]
    assert sorted(ConfigOperation) == [0, 1, 2, 3]
