"""Links of documents lead to files and headings; the pages of the site are arranged once each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documents.pages import DOCS, PAGES, anchors, links, name_of, read
from tests.paths import RESULTS

SECTIONS = ("tutorials", "howto", "explanation", "reference", "published")
_TOCTREE = re.compile(r"```\{toctree\}\n(?::\w+:.*\n)*\n(.*?)```", re.DOTALL)
ELSEWHERE = {"contributing": "../CONTRIBUTING.md", "changelog": "../CHANGELOG.md"}
"""Pages of the site that show files of the root."""


def toctree(page: Path) -> list[str]:
    return [name for block in _TOCTREE.findall(read(page)) for name in block.split()]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for path, anchor in links(page):
        target = (page.parent / path).resolve() if path else page
        if target.is_relative_to(RESULTS) and not RESULTS.is_dir():
            continue  # in an sdist
        assert target.is_file(), f"{path} is no file"
        if anchor:
            assert anchor in anchors(target), f"{path}#{anchor} is no heading"


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_lists_its_pages_as_the_site_does(section: str) -> None:
    page = DOCS / f"{section}.md"
    expected = [ELSEWHERE.get(name, f"{name}.md") for name in toctree(page)]
    assert [path for path, _ in links(page)] == expected


def test_every_page_is_arranged_once() -> None:
    listed = toctree(DOCS / "index.md")
    listed += [name for section in SECTIONS for name in toctree(DOCS / f"{section}.md")]
    pages = [name for name in listed if not name.startswith("generated/")]
    assert sorted([*pages, "index"]) == sorted(page.stem for page in DOCS.glob("*.md"))
    assert {*SECTIONS} < {*listed}


def test_anchors_are_those_of_the_headings(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A `b`: c, d\n\n```\n# no\n```\n\n## Two words\n\n[x](y.md#z)\n", "utf-8")
    assert anchors(page) == {"a-b-c-d", "two-words"}
    assert links(page) == [("y.md", "z")]
