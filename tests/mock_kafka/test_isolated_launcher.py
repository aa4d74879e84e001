"""The launcher runs the broker of this environment, not packages of the same names on the path."""

import os
import subprocess
import sys
from pathlib import Path

from mock_kafka import isolated_launcher


def test_a_broker_in_the_folder_of_the_user_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "broker.py").write_text("raise SystemExit('not ours')\n")
    command = [sys.executable, "-I", isolated_launcher.__file__, "--version"]
    path = {isolated_launcher.PATH_VARIABLE: os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, **path, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.startswith("mock-kafka "), done.stderr


def test_a_module_that_only_site_makes_importable_is_found(tmp_path: Path) -> None:
    """An editable installation of a library is no folder of the parent's path."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "only_by_site.py").write_text("found = 1\n")
    launcher = isolated_launcher.__file__
    code = (
        "import runpy, site, sys\n"
        f"launcher = runpy.run_path({launcher!r})\n"
        "sys.meta_path.append(launcher['_SiteOnDemand'])\n"
        f"site.main = lambda: sys.path.append({str(hidden)!r})\n"
        "import only_by_site\n"
        "print(only_by_site.found, launcher['_SiteOnDemand'] in sys.meta_path)\n"
    )
    words = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "1 False\n", done.stderr


def test_the_start_needs_no_site() -> None:
    path = {isolated_launcher.PATH_VARIABLE: os.pathsep.join(filter(None, sys.path))}
    words = [sys.executable, "-I", "-S", "-X", "importtime", isolated_launcher.__file__]
    done = subprocess.run(
        [*words, "serve", "--help"],
        env={**os.environ, **path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "broker.serve" in done.stderr
    assert "_distutils_hack" not in done.stderr
    assert "__editable__" not in done.stderr
