"""House rules for sources and documents that the linters do not check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.paths import ROOT

SOURCES = sorted(
    path
    for folder in ("boostsample", "strategies", "families", "experiments", "benchmarks", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if path.resolve().is_relative_to(ROOT / folder)
)
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E)\b")  # spelled so that it does not find itself
EXCEPTION = re.compile(
    r"#\s*(?:noqa: ?[A-Z0-9, ]+|(?:type|pyright): ?ignore\[[^]]*\]|pragma: no cover)(.*)"
)


def names(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=names)
def test_house_rules(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 800, f"{len(lines)} lines; a file has at most 800"
    for number, line in enumerate(lines, 1):
        place = f"{names(path)}:{number}"
        assert not UNFINISHED.search(line), f"{place} leaves something to do"
        exception = EXCEPTION.search(line)
        if exception:
            assert re.search(r"\w{3}", exception[1]), f"{place} is an exception without its reason"


DOCUMENTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
DOCUMENTS += sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_lines_of_documents_have_at_most_100_columns(path: Path) -> None:
    """But for what cannot be broken: rows of tables, links, and what programs print."""
    text = path.read_text(encoding="utf-8")
    blanked = re.sub(r"(?ms)^```.*?^```", lambda block: "\n" * block[0].count("\n"), text)
    long = [
        f"{names(path)}:{number} has {len(line)} columns"
        for number, line in enumerate(blanked.splitlines(), 1)
        if len(line) > 100 and not re.match(r"\s*(\||(- )?\S*\[.*\]\(\S*\)\S*$)", line)
    ]
    assert long == []
