"""House rules for sources and documents that the linters do not check."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
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


#: Names that say nothing of what they hold.
EMPTY_NAMES = {"one", "found", "given", "mine", "own", "kept", "what", "here"}


def names(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def bound_names(tree: ast.Module) -> Iterator[str]:
    """Every binding: variables, attributes, arguments, functions, classes and exceptions."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


@pytest.mark.parametrize("tests", [False, True])
def test_names_say_what_they_hold(tests: bool, trees: dict[Path, ast.Module]) -> None:
    bound = [
        name.strip("_")
        for path, tree in trees.items()
        if path.is_relative_to(ROOT / "tests") is tests
        for name in bound_names(tree)
    ]
    empty = Counter(name for name in bound if name in EMPTY_NAMES)
    assert empty.total() <= 0.01 * len(bound), f"of {len(bound):,} names: {dict(empty)}"


def test_a_class_name_occurs_once(trees: dict[Path, ast.Module]) -> None:
    places: dict[str, list[str]] = {}
    for path, tree in trees.items():
        if not path.is_relative_to(ROOT / "tests"):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name.strip("_"), []).append(names(path))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


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
