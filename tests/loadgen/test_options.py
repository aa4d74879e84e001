"""The options of `mock-kafka load`."""

from loadgen.options import parser_of


def test_help_describes_the_built_in_plans_and_names_the_program() -> None:
    text = parser_of("a-program").format_help()
    assert text.startswith("usage: a-program ")
    assert "topic-storm      " in text
