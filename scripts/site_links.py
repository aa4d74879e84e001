"""Check a built site: targets and anchors of links, alternative texts, files of other hosts."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_RESOURCES = {"audio", "embed", "iframe", "img", "link", "script", "source", "video"}
_CSS_LINK = re.compile(r"""(?:@import\s+|url\(\s*)["']?(?:https?:)?//""")


class _Page(HTMLParser):
    """The anchors and the links of a page, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.resources: list[str] = []
        self.images_without_text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.add(values.get("id", ""))
        address = values.get("src") or values.get("href")
        if tag == "img" and not values.get("alt"):
            self.images_without_text.append(values.get("src", ""))
        if address and tag in _RESOURCES:
            self.resources.append(address)
        elif address:
            self.links.append(address)


def check(site: Path) -> tuple[list[str], list[str]]:
    """Return what is wrong in the pages of a folder, and the links to other hosts, sorted.

    A link to another host is not followed. A picture, style or script of another host is wrong.
    """
    problems: list[str] = []
    external: set[str] = set()
    read = cache(lambda path: _Page(path.read_text(encoding="utf-8")))
    for path in sorted(site.rglob("*.html")):
        page, name = read(path), path.relative_to(site)
        problems += [f"{name}: no alternative text: {image}" for image in page.images_without_text]
        for address in (*page.resources, *page.links):
            url = urlsplit(address)
            if not url.scheme and not url.netloc:
                target = (path.parent / unquote(url.path)).resolve() if url.path else path
                target = target / "index.html" if target.is_dir() else target
                if not target.is_file():
                    problems.append(f"{name}: no such file: {address}")
                elif target.suffix == ".html" and unquote(url.fragment) not in read(target).anchors:
                    problems.append(f"{name}: no such anchor: {address}")
            elif address in page.resources and url.scheme != "data":
                problems.append(f"{name}: loads a file of another host: {address}")
            elif url.scheme != "data":
                external.add(address)
    for path in sorted(site.rglob("*.css")):
        if _CSS_LINK.search(path.read_text(encoding="utf-8")):
            problems.append(f"{path.relative_to(site)}: loads a file of another host")
    return problems, sorted(external)
