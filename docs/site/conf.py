# SPDX-License-Identifier: MIT
"""Sphinx's settings: `make docs` makes a site of README.md, the pages of docs/ and the module's API."""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import api  # noqa: E402
import mmdskin  # noqa: E402

project = "mmdskin"
copyright = "the authors of mmdskin"
release = mmdskin.__version__
extensions = ["myst_parser"]
exclude_patterns = ["site", "examples"]
root_doc = "index"
html_theme = "furo"
html_title = f"mmdskin {release}"
html_copy_source = False
html_show_sourcelink = False
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]
# The address of the repository, for links to files that are not pages of the site.
WEBSITE = os.environ.get("WEBSITE", "").rstrip("/")

_LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\((?!https?:|#)([^()#\s]*)(#[^()\s]*)?\)")
_IMAGE = re.compile(r"(!\[[^\[\]]*\]\()(?!https?:)([^()\s]*\))")
_ANCHOR = re.compile(r'<a id="([^"]*)"></a>')


def setup(app):
    app.connect("source-read", read)


def read(app, name, source):
    """The text of a page: README is the first one, with the table of contents after it."""
    if name == "index":
        text, folder = (ROOT / "README.md").read_text("utf-8"), ROOT
        text = _IMAGE.sub(lambda m: m[1] + os.path.relpath(ROOT / m[2], HERE.parent), text)
    else:
        text, folder = source[0], HERE.parent
    text = _ANCHOR.sub(r"[]{#\1}", text)
    text = _LINK.sub(lambda m: link(folder, *m.groups("")), text)
    if name == "index":
        text += source[0]
    source[0] = text.replace("```{api}```", api.pages()) if name == "api" else text


def link(folder, text, path, anchor):
    """A link to a page of the site, else to the file in the repository."""
    file = os.path.relpath((folder / path).resolve(), ROOT)
    if file == "README.md":
        return f"[{text}](index.md{anchor})"
    if re.fullmatch(r"docs/[\w.-]+\.md", file):
        return f"[{text}]({os.path.basename(file)}{anchor})"
    if not WEBSITE:
        return text
    file = "releases" if file.endswith("releases") else f"blob/main/{file}"
    return f"[{text}]({WEBSITE}/{file}{anchor})"
