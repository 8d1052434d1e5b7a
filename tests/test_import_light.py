"""`import boostsample` is light, and its names are there when they are asked for."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import sys

import pytest

import boostsample
from tests.paths import run_python

HEAVY = {"joblib", "matplotlib", "numba", "numpy", "pandas", "pywt", "scipy", "sklearn"}
#: Parts of the standard library that take as long to import as the rest of `import boostsample`.
SLOW = {"asyncio", "concurrent", "ctypes", "email", "http", "inspect", "json", "logging"}
SLOW |= {"multiprocessing", "socket", "subprocess", "tempfile", "unittest", "xml"}


def packages_of(statement: str) -> set[str]:
    """The packages that a statement imports in a fresh interpreter."""
    code = (
        "import sys, json\n"
        "before = set(sys.modules)\n"
        f"{statement}\n"
        "packages = sorted({name.partition('.')[0] for name in set(sys.modules) - before})\n"
        "print(json.dumps(packages))\n"
    )
    return set(json.loads(run_python("-c", code).stdout))


def test_import_brings_little_of_the_standard_library_and_nothing_else() -> None:
    """Keeps `import boostsample` far below 50 ms."""
    packages = packages_of("import boostsample")
    assert packages <= {"boostsample", *sys.stdlib_module_names}
    assert packages & SLOW == set()


@pytest.mark.parametrize(
    "statement",
    [
        "import boostsample.errors",
        "import boostsample; boostsample.DataError",
    ],
)
def test_import_brings_nothing_heavy(statement: str) -> None:
    assert packages_of(statement) & HEAVY == set()


@pytest.mark.parametrize(
    ("module", "also"),
    [("commands.cli", {"numpy", "rich"}), ("data.datasets", {"pooch", "requests"})],
)
def test_commands_and_data_sets_import_little(module: str, also: set[str]) -> None:
    packages = packages_of(f"import boostsample.experiments.{module}")
    assert packages & {"matplotlib", "numba", "pandas", "pyarrow", "sklearn", *also} == set()


def test_data_sets_are_there_without_docstrings() -> None:
    """`python -OO` strips them."""
    assert run_python("-OO", "-c", "import boostsample.experiments.data.datasets").stderr == ""


@pytest.mark.parametrize("name", [name for name in boostsample.__all__ if name != "__version__"])
def test_every_public_name_is_found(name: str) -> None:
    module = importlib.import_module(f"boostsample.{boostsample._MODULE_OF[name]}")
    assert getattr(boostsample, name) is getattr(module, name)


def test_the_three_lists_of_names_agree() -> None:
    tree = ast.parse(inspect.getsource(boostsample))
    block = next(
        node
        for node in tree.body
        if isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )
    typed = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == {name: f"boostsample.{at}" for name, at in boostsample._MODULE_OF.items()}
    assert set(boostsample.__all__) == {*boostsample._MODULE_OF, "__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    name = "Bosster"
    with pytest.raises(AttributeError, match="module 'boostsample' has no attribute 'Bosster'"):
        _ = getattr(boostsample, name)
