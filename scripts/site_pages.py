"""Write the pages that Sphinx reads for the documentation site.

They are a copy of the Markdown pages with the folders of the repository, so links between pages
need no change. The copy also has

- the navigation, which is that of docs/README.md;
- a page for each source file that a page links to;
- the counts of docs/coverage.md on the start page, docs/site/index.md.
"""

import re
import shutil
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_LANGUAGES = {".go": "go", ".java": "java", ".js": "js", ".json": "json", ".py": "python"}
_LANGUAGES |= {".yaml": "yaml", ".toml": "toml"}
_HEADING = re.compile(r"^(#{2,3}) (.*)$", re.MULTILINE)
_TITLED_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_INCLUDED = re.compile(r"\{(?:literal)?include\} /(\S+)")


class SiteError(Exception):
    """A page is not as the site needs it."""


def navigation(index: str) -> dict[str, list[str]]:
    """Return the entries that docs/README.md lists, by the heading above them.

    An entry is the path of a page without `.md`. A link whose text is neither a path nor a number
    gives the page another title: `Overview </README>`.
    """
    parts = _HEADING.split(CODE_BLOCK.sub("", index))
    groups = {}
    for heading, text in zip(parts[2::3], parts[3::3], strict=True):
        links = [link for link in _TITLED_LINK.findall(text) if link[1].endswith(".md")]
        if links:
            groups[heading] = [_entry(title, target) for title, target in links]
    return groups


def _entry(title: str, target: str) -> str:
    path = f"/docs/{target}".removesuffix(".md").replace("/docs/../", "/")
    return path if re.fullmatch(r"\d+|.*\.md", title) else f"{title} <{path}>"


def figures(coverage: str) -> dict[str, str]:
    """Return the counts of docs/coverage.md that the start page shows.

    Raises SiteError if the page does not have its tables.
    """
    apis = re.findall(r"^\| \d+ \| \[\w+\].*$", coverage, re.MULTILINE)
    keys = re.search(r"^\| Broker \| (\d+) \|", coverage, re.MULTILINE)
    if not apis or not keys:
        raise SiteError("docs/coverage.md has no table of APIs or of configuration keys.")
    return {
        "api_count": str(len(apis)),
        "agreeing_api_count": str(sum("| 100 % |" in api for api in apis)),
        "broker_key_count": keys[1],
    }


def stage(source: Path, target: Path) -> None:
    """Write what Sphinx reads: the pages of a checkout, its start page, and listings."""
    shutil.copytree(source / "docs", target / "docs", ignore=shutil.ignore_patterns("site"))
    for page in source.glob("*.md"):
        shutil.copy(page, target)
    for page in sorted(target.rglob("*.md")):
        text = CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))
        for link in LINK.findall(text):
            _list_source(source, target, page, link)
    groups = navigation((source / "docs" / "README.md").read_text(encoding="utf-8"))
    decisions = groups.pop("Decisions")
    start = (source / "docs" / "site" / "index.md").read_text(encoding="utf-8")
    for name, value in figures((source / "docs/coverage.md").read_text(encoding="utf-8")).items():
        start = start.replace(f"{{{{ {name} }}}}", value)
    for included in _INCLUDED.findall(start):
        (target / included).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / included, target / included)
    *_, last_group = groups
    groups[last_group].append("All pages and decisions </docs/README>")
    tables = [_contents(pages, group) for group, pages in groups.items()]
    (target / "index.md").write_text("\n".join([start, *tables]), encoding="utf-8")
    with (target / "docs" / "README.md").open("a", encoding="utf-8") as index:
        index.write("\n" + _contents(decisions))


def _contents(pages: list[str], group: str = "") -> str:
    entries = "\n".join(pages)
    caption = f":caption: {group}\n" if group else ""
    return f"```{{toctree}}\n:hidden:\n{caption}\n{entries}\n```\n"


def _list_source(source: Path, target: Path, page: Path, link: str) -> None:
    """Write a page with the text of a source file, if the link leads to one."""
    name = link.partition("#")[0]
    staged = (page.parent / name).resolve()
    if re.match(r"[a-z]+:", link) or not name or staged.exists():
        return
    if not staged.is_relative_to(target.resolve()):
        return  # Sphinx warns, also about a file that does not exist
    relative = staged.relative_to(target.resolve())
    if not (source / relative).is_file():
        return
    language = _LANGUAGES.get(relative.suffix, "text")
    text = (source / relative).read_text(encoding="utf-8")
    staged.parent.mkdir(parents=True, exist_ok=True)
    head = f"---\norphan: true\n---\n\n# {relative.name}\n\n`{relative}`\n\n"
    listing = f"{head}````{language}\n{text}````\n"
    staged.with_name(f"{staged.name}.md").write_text(listing, encoding="utf-8")
