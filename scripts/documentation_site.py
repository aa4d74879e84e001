"""Build the documentation site: a folder for each version, without any file of other hosts.

`scripts/site` calls this module. docs/site has the settings of Sphinx, the start page and the
styles.
"""

import argparse
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import suppress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path

from packaging.version import InvalidVersion, Version

from scripts import site_links, site_pages
from scripts.site_pages import SiteError

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "docs" / "site"
DEVELOPMENT = "dev"
"""The version of the pages of a checkout."""
LATEST = "latest"
"""A copy of the newest release, for links from elsewhere."""
_RELEASE_TAG = re.compile(r"v\d+\.\d+\.\d+")
_REDIRECT = """\
<!doctype html>
<html lang="en">
<title>mock-kafka</title>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url={folder}/index.html">
<a href="{folder}/index.html">The documentation of mock-kafka</a>
</html>
"""


def build(source: Path, version: str, site: Path) -> None:
    """Build the pages of a checkout as `version` of a site.

    Raises:
        SiteError: Sphinx warns.
    """
    with tempfile.TemporaryDirectory() as folder:
        pages, target = Path(folder) / "pages", site / version
        site_pages.stage(source, pages)
        shutil.rmtree(target, ignore_errors=True)
        options = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(SETTINGS)]
        options += ["-D", f"release={version}", "-D", f"html_title=mock-kafka {version}"]
        options += ["-d", f"{folder}/doctrees", str(pages), str(target)]
        done = subprocess.run(
            [sys.executable, "-m", "sphinx", *options],
            stderr=subprocess.PIPE,
            env={**os.environ, "NO_COLOR": "1"},  # in CI Sphinx has colours without a terminal
            text=True,
            check=False,
        )
        if done.returncode != 0:
            warnings = done.stderr.replace(f"{pages}/", "")
            raise SiteError(f"Sphinx warns about the pages of {version}:\n{warnings}")
    (target / ".buildinfo").unlink()
    (target / "objects.inv").unlink()


def publish(site: Path) -> None:
    """Write what the versions in the folder share: their list, `latest`, and the first page."""
    shutil.rmtree(site / LATEST, ignore_errors=True)
    versions = sorted((path.parent.name for path in site.glob("*/index.html")), key=_age)
    newest = versions[0]
    if newest != DEVELOPMENT:
        shutil.copytree(site / newest, site / LATEST)
    pages = {
        version: sorted(
            path.relative_to(site / version).as_posix() for path in (site / version).rglob("*.html")
        )
        for version in versions
    }
    listing = f"window.documentationVersions = {json.dumps(pages)};\n"
    (site / "versions.js").write_text(listing, encoding="utf-8")
    folder = newest if newest == DEVELOPMENT else LATEST
    (site / "index.html").write_text(_REDIRECT.format(folder=folder), encoding="utf-8")
    (site / ".nojekyll").touch()  # else the repository host leaves out folders with an underscore


def _age(version: str) -> tuple[bool, list[int]]:
    """Return a key that sorts releases, the newest first, before what is not released."""
    try:
        release = Version(version)
    except InvalidVersion:
        return True, []
    return release.is_prerelease, [-number for number in release.release]


def checkout(repository: Path, tag: str, folder: Path) -> None:
    """Write the files of a tag or a commit into a folder."""
    archive = subprocess.run(
        ["git", "archive", "--format=tar", tag], cwd=repository, check=True, stdout=subprocess.PIPE
    ).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")


def release_tags(repository: Path) -> list[str]:
    """Return the tags of all releases of a repository, the newest first, such as `v1.1.0`."""
    done = subprocess.run(
        ["git", "tag", "--list", "v*"],
        cwd=repository,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return sorted(filter(_RELEASE_TAG.fullmatch, done.stdout.split()), key=_age)


def build_all(source: Path, tags: list[str], site: Path) -> list[str]:
    """Build a checkout, and each of its tags as a separate version.

    Returns the links to other hosts.

    Raises:
        SiteError: Sphinx warns, a link has no target, or a page loads a file of another host.
    """
    build(source, DEVELOPMENT, site)
    for tag in tags:
        with tempfile.TemporaryDirectory() as folder:
            checkout(source, tag, Path(folder))
            build(Path(folder), tag.removeprefix("v"), site)
    publish(site)
    problems, external = site_links.check(site)
    if problems:
        raise SiteError("\n".join(problems))
    return external


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def server(site: Path, port: int) -> ThreadingHTTPServer:
    """Return a server of the site on the loopback address; port 0 is any free one."""
    handler = functools.partial(_QuietHandler, directory=str(site))
    return ThreadingHTTPServer(("127.0.0.1", port), handler)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("scripts/site", description=__doc__)
    parser.add_argument("command", nargs="?", choices=["build", "serve"], default="build")
    parser.add_argument("--check", action="store_true", help="keep nothing of what is built")
    parser.add_argument("--out", type=Path, default=ROOT / "site", help="the folder (site)")
    parser.add_argument("--port", type=int, default=8000, help="of serve (8000)")
    parser.add_argument("--tags", nargs="*", default=[], help="releases, each a version beside dev")
    parser.add_argument("--releases", action="store_true", help="all releases that have a tag")
    given = parser.parse_args(arguments)
    tags = release_tags(ROOT) if given.releases else given.tags
    with tempfile.TemporaryDirectory() as folder:
        try:
            external = build_all(ROOT, tags, Path(folder) if given.check else given.out)
        except SiteError as error:
            print(error, file=sys.stderr)
            return 1
    print("All links between the pages have targets. Not checked are those to other hosts:")
    print(*(f"  {address}" for address in external), sep="\n")
    if given.command == "serve":
        with server(given.out, given.port) as serving, suppress(KeyboardInterrupt):
            print(f"http://127.0.0.1:{serving.server_port}/", flush=True)
            serving.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
