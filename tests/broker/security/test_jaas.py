import pytest

from broker.config.broker_config import BrokerConfig
from broker.config.keys import ConfigError
from broker.security.jaas import plain_users, read_jaas

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
KEY = "listener.name.inside.plain.sasl.jaas.config"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (f"{MODULE} required;", {}),
        (f'{MODULE} required username="admin" user_bob=\'b;"=\';', None),
        (f"{MODULE} REQUIRED // a comment\n user_bob=b /* another */ ;", {"user_bob": "b"}),
        (f'{MODULE} optional user_bob="a\\\\b\\"c\\td";', {"user_bob": 'a\\b"c\td'}),
        (f'{MODULE} required user_bob=";";', {"user_bob": ";"}),
    ],
)
def test_options_have_words_or_quoted_texts(text: str, options: dict[str, str] | None) -> None:
    expected = {"username": "admin", "user_bob": 'b;"='} if options is None else options
    assert read_jaas(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "Login module not specified"),
        (MODULE, "control flag not specified"),
        (f"{MODULE} maybe;", "Invalid login module control flag"),
        (f"{MODULE} required", "not terminated by semi-colon"),
        (f"{MODULE} required a;", "Value not specified for key 'a'"),
        (f"{MODULE} required a=;", "Value not specified for key 'a'"),
        (f"{MODULE} required; {MODULE} required;", "several login modules"),
        (f"{MODULE} required a=%;", "a character does not belong"),
    ],
)
def test_another_form_is_refused_without_its_text(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_jaas(text)
    with pytest.raises(ConfigError, match=message):
        plain_users(BrokerConfig.from_overrides({KEY: text}), "INSIDE")


def test_the_users_of_plain_are_those_of_the_listener() -> None:
    config = BrokerConfig.from_overrides(
        {KEY: f'{MODULE} required username="admin" password="p" user_bob="b" user_a.b="c";'}
    )
    assert plain_users(config, "INSIDE") == {"bob": "b", "a.b": "c"}
    assert plain_users(config, "OUTSIDE") == {}
