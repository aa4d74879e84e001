"""What the README's first screen promises runs as it stands."""

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.interop
def test_the_example_runs_as_it_stands() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    namespace: dict[str, Any] = {}
    exec(compile(example, str(README), "exec"), namespace)

    (test,) = (value for name, value in namespace.items() if name.startswith("test_"))
    test()


def test_the_commands_exist() -> None:
    commands = re.findall(r"^\$ \./(\S+)", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert commands == ["scripts/demo", "scripts/test"]
    for command in commands:
        assert (README.parent / command).stat().st_mode & 0o111
