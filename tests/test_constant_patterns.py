"""The check that only constant patterns reach Python's `re`."""

import pytest

from scripts.constant_patterns import main, variable_patterns


@pytest.mark.parametrize(
    "call",
    [
        "re.compile(given)",
        "re.fullmatch(self.pattern, text)",
        "re.search(pattern=given, string=text)",
        "re.sub('a' + given, '', text)",
        "re.split(f'{given}+', text)",
        "re.compile(LATER)",
    ],
)
def test_a_pattern_that_is_no_constant_is_refused(call: str) -> None:
    source = f"import re\n\n\ndef f(self, given, text):\n    LATER = given\n    return {call}\n"
    assert [line for line, _ in variable_patterns(source)] == [6]


@pytest.mark.parametrize("line", ["from re import compile", "import re as r", "import regex"])
def test_an_import_that_hides_the_functions_is_refused(line: str) -> None:
    assert list(variable_patterns(line)) == [(1, line)]


def test_constants_of_the_module_are_accepted() -> None:
    source = (
        'import re\nDIGIT = r"[0-9]"\nDIGITS = f"{DIGIT}+"\nPATTERN = re.compile(DIGITS + "x")\n'
        'def f(text: str) -> re.Pattern[str]:\n    return re.sub(r"a|b", PATTERN.pattern, text)\n'
    )
    assert list(variable_patterns(source)) == []


@pytest.mark.slow
def test_no_pattern_of_a_client_reaches_re(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0, capsys.readouterr().out
