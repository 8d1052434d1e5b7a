"""The site is built without a warning; its examples are run by `test_blocks.py` instead."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents.pages import DOCS, read
from tests.paths import ROOT, needs_results

pytestmark = needs_results  # the pages show its pictures


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a copy of docs/, beside the rest of the checkout."""
    for needed in ("sphinx", "myst_parser", "numpydoc", "sphinx_gallery", "pydata_sphinx_theme"):
        pytest.importorskip(needed, reason="the site needs the extra 'docs'")
    root = tmp_path_factory.mktemp("site")
    for path in ROOT.iterdir():
        if path.name not in {"docs", "build"} and not path.name.startswith("."):
            if path.is_dir():
                (root / path.name).symlink_to(path)
            else:
                shutil.copy(path, root)
    shutil.copytree(DOCS, root / "docs", ignore=shutil.ignore_patterns("generated", "__pycache__"))
    options = ["-q", "-W", "--keep-going", "-n", "-D", "plot_gallery=0"]
    command = [sys.executable, "-m", "sphinx", *options, "docs", "built"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return root / "built"


def test_pages_of_every_kind_are_there(site: Path) -> None:
    sources = {page.stem for page in DOCS.glob("*.md")}
    assert {page.stem for page in site.glob("*.html")} >= sources
    examples = {page.stem for page in (DOCS / "examples").glob("*.py")}
    assert {page.stem for page in (site / "generated" / "gallery").glob("*.html")} >= examples
    api = (site / "generated" / "api" / "boostsample.BoostSampleClassifier.html").read_text("utf-8")
    assert 'id="boostsample.BoostSampleClassifier.decision_function"' in api
    assert 'id="boostsample-compare"' in (site / "commands.html").read_text("utf-8")
    assert "A,B:SETTING=VALUE" in (site / "commands.html").read_text("utf-8")


def test_formulas_are_drawn_by_the_browser(site: Path) -> None:
    page = (site / "glossary.html").read_text("utf-8")
    assert page.count("<math") > 20
    assert "MathJax" not in page


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.glob("*.html"):
        fetched = re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(https?:[^\"]+)", read(page))
        assert fetched == [], page.name


def test_search_finds_words_of_pages_and_names_of_the_reference(site: Path) -> None:
    index = (site / "searchindex.js").read_text("utf-8")
    for word in ("BoostSampleClassifier", '"laminating"', "tutorial_classifier"):
        assert word in index


def test_the_reference_lists_the_modules_of_its_extension() -> None:
    source = read(DOCS / "extensions" / "api_pages.py")
    (modules,) = re.findall(r"^MODULES = (\(.*?^\))", source, re.DOTALL | re.MULTILINE)
    listed = re.findall(r"^   (boostsample[\w.]*)$", read(DOCS / "api.md"), re.MULTILINE)
    assert listed == list(ast.literal_eval(modules))
