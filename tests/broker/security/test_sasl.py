"""The message of a refusal."""

from broker.security.sasl import invalid_credentials


def test_a_refusal_names_the_mechanism_and_no_secret() -> None:
    assert invalid_credentials("PLAIN").message.endswith("SASL mechanism PLAIN")
