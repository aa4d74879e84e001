"""Write a generated file, or check that it is fresh."""

import sys
from pathlib import Path


def write_or_check(target: Path, page: str, module: str) -> int:
    """Write the file, or with --check compare it; return the exit status.

    `module` makes the file when it is run: its name is in the message about a stale file.
    """
    if "--check" in sys.argv[1:]:
        if target.read_text(encoding="utf-8") != page:
            print(f"{target.parent.name}/{target.name} is stale; run: python -m {module}")
            return 1
        return 0
    target.write_text(page, encoding="utf-8")
    return 0
