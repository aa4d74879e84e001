from protocol.suggestions import did_you_mean


def test_did_you_mean_names_the_nearest_word_if_one_is_near() -> None:
    assert did_you_mean("topik", ("partition", "topic")) == "; did you mean topic?"
    assert did_you_mean("xyz", {"partition": 1, "topic": 2}) == ""


def test_case_and_underscores_are_ignored() -> None:
    assert did_you_mean("notcontroler", ("NOT_CONTROLLER",)) == "; did you mean NOT_CONTROLLER?"
