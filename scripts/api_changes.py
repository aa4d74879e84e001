"""Compare the public API with that of the last release (ADR 42): `scripts/api-changes`.

The last release's is in .ci/api. A change that breaks users needs another major version, before
1.0.0 another minor one. The release itself writes the folder again with `--write`.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import griffe

from scripts import api_surface, openapi_snapshot
from scripts.executable_build import version
from scripts.openapi_changes import breaking_changes as openapi_breaking_changes

FOLDER = Path(__file__).resolve().parent.parent / ".ci" / "api"
_MODULE = "python_api"


def current() -> dict[str, str]:
    """Return the texts of the folder for this checkout, by file name."""
    return {
        f"{_MODULE}.pyi": api_surface.python_stub(),
        "names.txt": "\n".join(api_surface.names()) + "\n",
        "openapi.json": openapi_snapshot.render(),
    }


def breaking_changes(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """Return a line for each change that breaks users of the old API."""
    found = python_changes(old[f"{_MODULE}.pyi"], new[f"{_MODULE}.pyi"])
    lost = set(old["names.txt"].splitlines()) - set(new["names.txt"].splitlines())
    found += [f"{name} is gone" for name in sorted(lost)]
    documents = json.loads(old["openapi.json"]), json.loads(new["openapi.json"])
    return found + openapi_breaking_changes(*documents)


def python_changes(old: str, new: str) -> list[str]:
    """Return what breaks between two modules of declarations."""
    modules = []
    for text in (old, new):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, f"{_MODULE}.py").write_text(text, encoding="utf-8")
            modules.append(griffe.load(_MODULE, search_paths=[folder], allow_inspection=False))
    return [
        f"{breakage.obj.path.removeprefix(f'{_MODULE}.')}: {breakage.kind.value}"
        + (f" ({breakage.old_value} -> {breakage.new_value})" if breakage.details else "")
        for breakage in griffe.find_breaking_changes(*modules)
    ]


def may_break(released: str | None, now: str) -> bool:
    """Return whether a version may break users of a released one; None is no release."""
    if released is None:
        return True
    before, after = ([int(part) for part in each.split(".")] for each in (released, now))
    parts = 1 if before[0] else 2
    return after[:parts] > before[:parts]


def read(folder: Path) -> tuple[str | None, dict[str, str]]:
    """Return the version of a folder and its texts."""
    released = json.loads((folder / "release.json").read_text(encoding="utf-8"))["version"]
    names = current().keys()
    return released, {name: (folder / name).read_text(encoding="utf-8") for name in names}


def write(folder: Path, released: str | None) -> None:
    """Write the API of this checkout into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in current().items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "release.json").write_text(json.dumps({"version": released}) + "\n", encoding="utf-8")


def main(arguments: list[str] | None = None, folder: Path = FOLDER) -> int:
    """Print the changes that break users; return 1 if the version does not allow them."""
    parser = argparse.ArgumentParser("scripts/api-changes", description=__doc__)
    parser.add_argument("--write", action="store_true", help="keep this checkout's as released")
    if parser.parse_args(arguments).write:
        write(folder, version())
        return 0
    released, old = read(folder)
    found = breaking_changes(old, current())
    print(*found, sep="\n", end="\n" if found else "")
    since = released or "the kept state; nothing is released yet"
    print(f"{len(found)} changes break users of {since}; this is {version()}.")
    if found and not may_break(released, version()):
        print("Raise the major version in pyproject.toml, before 1.0.0 the minor one.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
