import pytest

from broker.config.broker_config import BrokerConfig
from broker.config.ip_limits import IP_LIMITS_KEY, parse_ip_limits
from broker.config.keys import ConfigError


def test_each_host_has_its_limit_after_the_last_colon() -> None:
    text = "127.0.0.1:2 , ::1:3,far.example:0"
    assert parse_ip_limits(text) == {"127.0.0.1": 2, "::1": 3, "far.example": 0}
    assert parse_ip_limits("") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "127.0.0.1",
            f"parsing configuration property '{IP_LIMITS_KEY}': '127.0.0.1' is not",
        ),
        ("127.0.0.1:x", 'For input string: "x"'),
        ("127.0.0.1:2147483648", 'For input string: "2147483648"'),
        ("a/b:1,a b:1", f"{IP_LIMITS_KEY} contains invalid addresses : a/b,a b"),
    ],
)
def test_another_form_is_refused_at_the_start(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        BrokerConfig.from_overrides({IP_LIMITS_KEY: text})
    assert message in str(caught.value)
