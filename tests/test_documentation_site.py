"""The documentation site: its pages and versions, and how it looks and searches in a browser."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page, expect

from scripts import documentation_site, site_links, site_pages
from scripts.site_pages import SiteError
from tests.interop.admin_page.accessibility import (
    SCHEMES,
    NoAxeError,
    axe_source,
    violations,
)
from tests.interop.chromium import chromium, errors_in

ROOT = Path(__file__).parent.parent
README = """\
# Documentation

## Use it

| page | what it has |
|---|---|
| [Overview](../README.md) | a first test |
| [faults.md](faults.md) | rules |

### Decisions

| | subject |
|---|---|
| [1](adr/0001-one.md) | One |
"""
COVERAGE = (
    "# What is supported\n\n| 0 | [Produce](#x) | 100 % | |\n\n| Broker | 417 | 3 |\n\n## x\n"
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the fewest documents that a site has."""
    pages = {
        "README.md": "# mock-kafka\n\nRead [how](docs/faults.md#a-rules-times_max).\n",
        "examples/orders.py": "ORDERS = 1\n",
        "docs/README.md": README,
        "docs/coverage.md": f"---\norphan: true\n---\n\n{COVERAGE}",
        "docs/faults.md": "# Faults\n\n[orders](../examples/orders.py)\n"
        "[Go](../clients/go/README.md#options)\n\n## A rule's `times_max`",
        "clients/go/README.md": "# Go\n\n[rules](../../docs/faults.md)\n\n## Options\n",
        "docs/adr/0001-one.md": "# 1. One\n",
        "docs/site/index.md": "# Start\n\n{{ api_count }} API, {{ broker_key_count }} keys.\n",
    }
    folder = tmp_path / "checkout"
    for name, text in pages.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_the_navigation_is_that_of_the_index() -> None:
    assert site_pages.navigation(README) == {
        "Use it": ["Overview </README>", "/docs/faults"],
        "Decisions": ["/docs/adr/0001-one"],
    }


def test_the_figures_of_the_start_page_are_those_of_the_coverage_page() -> None:
    counts = site_pages.figures((ROOT / "docs" / "coverage.md").read_text(encoding="utf-8"))
    assert {name: int(count) > 0 for name, count in counts.items()} == dict.fromkeys(counts, True)
    with pytest.raises(SiteError, match=r"coverage\.md"):
        site_pages.figures("# What is supported")
    start = (documentation_site.SETTINGS / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\{\{ (\w+) \}\}", start)) == counts.keys()


@pytest.mark.slow
def test_two_versions_are_beside_each_other(checkout: Path, tmp_path: Path) -> None:
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-C", str(checkout)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "One"], ["tag", "v1.9.0"]):
        subprocess.run([*git, *command], check=True)
    change(checkout / "docs/faults.md", "# Faults\n", "# Faults and time\n")
    subprocess.run([*git, "commit", "-qam", "Two"], check=True)
    for tag in ("v1.10.0", "clients/go/v1.10.0", "v2.0.0-rc.1", "vendored"):
        subprocess.run([*git, "tag", tag], check=True)
    tags = documentation_site.release_tags(checkout)
    assert tags == ["v1.10.0", "v1.9.0"]
    site = tmp_path / "site"
    documentation_site.build_all(checkout, tags, site)
    titles = {
        folder.name: re.findall("<h1>(.*?)<", (folder / "docs/faults.html").read_text())
        for folder in site.iterdir()
        if folder.is_dir()
    }
    assert titles == {
        "1.9.0": ["Faults"],
        **{name: ["Faults and time"] for name in ("1.10.0", "dev", "latest")},
    }
    versions = (site / "versions.js").read_text(encoding="utf-8")
    assert re.findall(r'"([^"]+)": \[', versions) == ["1.10.0", "1.9.0", "dev"]
    assert 'url=latest/index.html"' in (site / "index.html").read_text(encoding="utf-8")
    faults = (site / "dev/docs/faults.html").read_text(encoding="utf-8")
    assert 'id="a-rules-times_max"' in faults
    assert 'href="../examples/orders.py.html"' in faults
    assert 'href="../clients/go/README.html#options"' in faults
    assert "1 API, 417 keys." in (site / "dev/index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_link_without_a_target_is_an_error(checkout: Path, tmp_path: Path) -> None:
    links = ["docs/gone.md", "docs/faults.md#gone", "docs/gone.py", "../gone.py"]
    text = "".join(f"[{number}]({link})\n\n" for number, link in enumerate(links))
    (checkout / "README.md").write_text(f"# mock-kafka\n\n{text}", encoding="utf-8")
    with pytest.raises(SiteError) as error:
        documentation_site.build(checkout, "dev", tmp_path / "site")
    assert re.findall(r"^(README\.md:\d+): WARNING", str(error.value), re.MULTILINE) == [
        f"README.md:{2 * number + 3}" for number, _ in enumerate(links)
    ]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="gone.html">x</a>', "no such file: gone.html"),
        ('<a href="#gone">x</a>', "no such anchor: #gone"),
        ('<img src="data:,">', "no alternative text: data:,"),
        ('<script src="https://cdn.example/x.js">', "loads a file of another host: https://cdn"),
    ],
)
def test_what_is_wrong_in_a_page_is_found(body: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(f'<p id="here"><a href="#here">{body}', encoding="utf-8")
    [found], external = site_links.check(tmp_path)
    assert found.startswith(f"page.html: {problem}")
    assert external == []


def test_links_to_other_hosts_are_listed_and_their_styles_are_wrong(tmp_path: Path) -> None:
    page = '<a href="https://kafka.apache.org/">x</a>'
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    (tmp_path / "x.css").write_text("@import url('https://fonts.example/x')", encoding="utf-8")
    problems, external = site_links.check(tmp_path)
    assert problems == ["x.css: loads a file of another host"]
    assert external == ["https://kafka.apache.org/"]


def test_the_picture_of_the_packages_has_the_labels_of_its_source() -> None:
    folder = ROOT / "docs" / "pictures"
    labels = re.findall(r'\["(.*?)"\]', (folder / "packages.mmd").read_text(encoding="utf-8"))
    picture = re.sub(r"<[^>]*>", " ", (folder / "packages.svg").read_text(encoding="utf-8"))
    picture = " ".join(picture.split())
    assert len(labels) == 11
    assert [label for label in labels if label not in picture] == []


# In a browser: one process builds the site for all of these tests -------------------------------


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the site of this checkout, with a release that has one page less."""
    site = tmp_path_factory.mktemp("site")
    documentation_site.build_all(ROOT, [], site)
    shutil.copytree(site / "dev", site / "1.0.0")
    (site / "1.0.0" / "docs" / "tools.html").unlink()
    documentation_site.publish(site)
    with documentation_site.server(site, 0) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    yield from chromium()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """Open a page; fail on errors in it, and on requests to other hosts."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    wrongs = errors_in(opened)
    requested: list[str] = []
    opened.on("request", lambda request: requested.append(request.url))
    yield opened
    assert wrongs == []
    assert [url for url in requested if not url.startswith((address, "data:"))] == []
    opened.close()


@pytest.mark.slow
@pytest.mark.xdist_group("site")
@pytest.mark.parametrize("adr", ["docs/adr/0001", pytest.param("", marks=pytest.mark.long)])
def test_no_page_is_wider_than_a_phone(adr: str, page: Page, address: str) -> None:
    """Of the many decisions, which are alike, the usual tests look at one."""
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}/dev/index.html")
    names = page.evaluate("window.documentationVersions.dev")
    assert "docs/coverage.html" in names
    wide = []
    for name in names:
        if name.startswith("docs/adr/") and not name.startswith(adr):
            continue
        page.goto(f"{address}/dev/{name}", wait_until="domcontentloaded")
        if page.evaluate("document.documentElement.scrollWidth") > 390:
            wide.append(name)
    assert wide == []


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_the_search_finds_a_page_and_shows_what_it_says(page: Page, address: str) -> None:
    page.goto(f"{address}/dev/index.html")
    page.get_by_placeholder("Search").fill("producer_ids_rate")
    page.keyboard.press("Enter")
    expect(page.locator("#search-results li", has_text="Quotas").first).to_be_visible()
    expect(page.locator("#search-results .context").first).to_contain_text("producer")


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_a_version_is_chosen_with_the_same_page_if_it_has_it(page: Page, address: str) -> None:
    page.goto(f"{address}/")
    page.wait_for_url("**/latest/index.html")
    page.goto(f"{address}/dev/docs/faults.html")
    choice = page.locator(".version-choice select")
    expect(choice).to_have_value("dev")
    choice.select_option("1.0.0")
    page.wait_for_url("**/1.0.0/docs/faults.html")
    page.goto(f"{address}/dev/docs/tools.html")
    choice.select_option("1.0.0")
    page.wait_for_url("**/1.0.0/index.html")


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_the_first_test_is_shown_in_six_languages_and_can_be_copied(
    page: Page, address: str
) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{address}/dev/index.html")
    languages = page.locator("label.sd-tab-label").all_inner_texts()
    assert languages == ["Python", "Java", "Go", "Node", "Rust", "curl"]
    for language in languages[:-1]:
        page.locator("label.sd-tab-label", has_text=language).click()
        expect(page.locator("div.highlight:visible").first).to_contain_text("coffee")
    page.locator("label.sd-tab-label", has_text="curl").click()
    block = page.locator("div.highlight-console:visible")
    expect(block).to_contain_text("$ mock-kafka serve")
    block.hover()
    block.locator("button.copybtn").click()
    expect(block.locator("button.copybtn.success")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("mock-kafka serve --port 9092")


@pytest.mark.slow
@pytest.mark.xdist_group("site")
def test_both_schemes_are_accessible(page: Page, address: str, tmp_path: Path) -> None:
    colours = []
    try:
        axe = axe_source(tmp_path)
    except NoAxeError as error:
        pytest.skip(str(error))
    for name in ("index", "docs/recorded-worlds"):  # which has tables, code and links
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            page.goto(f"{address}/dev/{name}.html")
            colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert [f"{name}, {scheme}: {found}" for found in violations(page, axe)] == []
    assert len(set(colours)) == len(SCHEMES)
