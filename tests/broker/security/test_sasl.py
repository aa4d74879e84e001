"""The message of a refusal."""

from broker.security.sasl import invalid_credentials_message


def test_a_refusal_names_the_mechanism_and_whether_it_is_a_re_authentication() -> None:
    first = invalid_credentials_message("PLAIN", is_again=False)
    assert first.startswith("Authentication failed during authentication due")
    assert first.endswith("SASL mechanism PLAIN")
    assert "during re-authentication due" in invalid_credentials_message("PLAIN", is_again=True)
