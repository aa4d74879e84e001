"""Do all of a release that needs no account: `scripts/release --dry-run`."""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from scenarios.maven import CannotRunError
from scripts.release_artefacts import Rehearsal, checksums
from scripts.release_version import ROOT, ReleaseError, check_version, notes
from scripts.site_pages import SiteError

TOOLS = {
    "go": ("go",),
    "node": ("node", "npm"),
    "executable": ("cargo", "mvn"),
    "java": ("java", "mvn"),
    "rust": ("cargo",),
}
"""Programs that a part needs; without them it is left out."""


def parts(rehearsal: Rehearsal) -> dict[str, Callable[[], list[Path]]]:
    """Return what builds and checks each part, in their order."""
    return {
        "notes": rehearsal.notes,
        "python": rehearsal.python_package,
        "sbom": rehearsal.bill_of_materials,
        "go": rehearsal.go_module,
        "node": rehearsal.node_package,
        "site": rehearsal.site,
        "executable": rehearsal.executable,
        "java": rehearsal.java_artefacts,
        "rust": rehearsal.rust_crate,
    }


def rehearse(rehearsal: Rehearsal, chosen: set[str]) -> bool:
    """Build and check the chosen parts, and print a table; return whether all are right."""
    rows, built, is_right = [], [], True
    for name, make in parts(rehearsal).items():
        missing = [tool for tool in TOOLS.get(name, ()) if shutil.which(tool) is None]
        if name not in chosen or missing:
            reason = f"left out: {', '.join(missing)} is not here" if missing else "left out"
            rows.append((name, "", 0.0, reason))
            continue
        start = time.perf_counter()
        try:
            made = make()
        except CannotRunError as error:
            rows.append((name, "", time.perf_counter() - start, f"left out: {error}"[:70]))
            continue
        except (ReleaseError, SiteError, SystemExit, AssertionError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            rows.append((name, "", time.perf_counter() - start, "FAILED"))
            is_right = False
            continue
        taken_s = time.perf_counter() - start
        built += made
        size_kb = sum(path.stat().st_size for path in made) / 1000
        rows.append((name, f"{size_kb:.0f}", taken_s, "ok"))
    checksums(rehearsal.out, built)
    print(f"{'artefact':<12}{'size kB':>10}{'seconds':>10}  result")
    for name, size, taken_s, result in rows:
        print(f"{name:<12}{size:>10}{taken_s:>10.1f}  {result}")
    return is_right


def main(arguments: list[str] | None = None) -> int:
    """Rehearse a release, or print its notes; return the exit status."""
    parser = argparse.ArgumentParser("scripts/release", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--dry-run", action="store_true", help="build and check; publish nothing")
    action.add_argument("--notes", action="store_true", help="print the release notes")
    parser.add_argument("--only", nargs="+", help="these parts alone")
    parser.add_argument(
        "--out", type=Path, help="a new folder for what is built; else kept nowhere"
    )
    parser.add_argument("version", nargs="?", help="that of the tag")
    given = parser.parse_args(arguments)
    try:
        if given.notes:
            print(notes(ROOT, given.version), end="")
            return 0
        print(f"mock-kafka {check_version(ROOT, given.version)}: all files have this version.")
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        out = given.out or Path(folder, "dist")
        out.mkdir(parents=True, exist_ok=True)
        rehearsal = Rehearsal(out.resolve(), Path(folder, "scratch"), given.version)
        rehearsal.scratch.mkdir()
        known = set(parts(rehearsal))
        if unknown := set(given.only or ()) - known:
            parser.error(f"no part {', '.join(sorted(unknown))}: {', '.join(sorted(known))}")
        chosen = set(given.only or known)
        is_right = rehearse(rehearsal, chosen)
    if not given.only:
        print("Left to others: the image (tests/test_image.py, --long), and what needs an account.")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
