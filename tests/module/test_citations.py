# SPDX-License-Identifier: MIT
"""Documents and anchors that code, tests and documents cite exist; sections are cited by anchor."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = ("csrc", "shaders", "addon", "tests")
# GitHub resolves ../../releases from blob/main/README.md to the repository's releases.
RELEASES = (ROOT / "../../releases").resolve()
SUFFIXES = {".c", ".h", ".py", ".pyi", ".glsl", ".vert", ".frag", ".comp", ".md"}

CITATION = re.compile(r"(?<![\w/])(docs/[\w./-]+?\.md)(?:#([\w-]+))?")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)

# "some-document.md 8.2", "some-document.md sections 5 to 7"
NUMBERED = re.compile(r"[\w-]+\.md,?\s+(?:sections?\s+)?\d")
# "(10.6)", "/* 10.3 and 10.4 */", "of 9.2": section numbers, as comments of C and GLSL once cited them
SECTION = re.compile(
    r"(?:\(|/\*\s*|,\s|\b(?:of|in|and|see|to)\s+)(?:[3-9]|1[0-7])\.(?:10|[1-9])(?![\w%]|\.\d)"
)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def texts(*folders):
    """(path, text) of all files that can cite something, except this one."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and path != Path(__file__).resolve():
                yield path, path.read_text(encoding="utf-8")


def anchors(path):
    """Explicit anchors, and those that web sites generate from headings."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.*?)\s*$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return slugs | set(re.findall(r'<a id="([^"]+)"></a>', text))


def exists(path, anchor):
    if path.resolve() == RELEASES:
        return not anchor
    return path.exists() and (not anchor or anchor in anchors(path))


def test_cited_documents_and_anchors_exist():
    readme = ROOT / "README.md"
    files = [*texts(*CODE, "docs"), (readme, readme.read_text(encoding="utf-8"))]
    dead = [
        f"{path.relative_to(ROOT)}: {cited[0]}"
        for path, text in files
        for cited in CITATION.finditer(text)
        if not exists(ROOT / cited[1], cited[2])
    ]
    assert dead == []


def test_links_of_documents_exist():
    dead = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for link in LINK.finditer(FENCED.sub("", path.read_text(encoding="utf-8"))):
            local = ":" not in link[1]
            target = path.parent / link[1] if link[1] else path
            if local and not exists(target, link[2]):
                dead.append(f"{path.relative_to(ROOT)}: {link[0][1:]}")
    assert dead == []


def test_anchors_are_unique():
    for path, text in texts("docs"):
        found = re.findall(r'<a id="([^"]+)"></a>', text)
        assert len(found) == len(set(found)), path


def test_documents_are_cited_by_anchor_not_by_number():
    bare = []
    for path, text in texts(*CODE):
        found = NUMBERED.findall(text)
        if path.suffix not in {".py", ".pyi", ".md"}:
            found += [
                match for comment in COMMENT.findall(text) for match in SECTION.findall(comment)
            ]
        bare += [f"{path.relative_to(ROOT)}: {match}" for match in found]
    assert bare == []
