"""Settings of Sphinx for the documentation site; `scripts/site` calls it."""

from docutils import nodes
from sphinx.application import Sphinx

project = "mock-kafka"
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
root_doc = "index"
exclude_patterns = ["docs/pictures", "docs/examples"]

# The pages are written for the repository host: its dialect of Markdown, its anchors of headings.
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]
myst_links_external_new_tab = False

html_theme = "furo"
html_theme_options = {"navigation_with_keys": True}
html_static_path = ["static"]
templates_path = ["templates"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_use_index = False
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

copybutton_prompt_text = "$ "


def keep_anchors(app: Sphinx, document: nodes.document) -> None:
    """Give each heading the anchor that the repository host gives it, beside that of Sphinx."""
    for section in document.findall(nodes.section):
        anchor = section.get("slug")
        if anchor and anchor not in section["ids"]:
            section["ids"].append(anchor)


def setup(app: Sphinx) -> None:
    """Register what Sphinx calls."""
    app.connect("doctree-read", keep_anchors)
